"""What the command line stored as "every private address" becomes the hosts and ports that were named."""

from typing import Any

from django.db import migrations

from deepweb.services import private_hosts


def mend(apps: Any, _editor: Any) -> None:
    private_hosts.mend(apps)


class Migration(migrations.Migration):
    dependencies = [("deepweb", "0002_without_html"), ("crawlmgr", "0001_initial")]
    operations = [migrations.RunPython(mend, migrations.RunPython.noop)]
