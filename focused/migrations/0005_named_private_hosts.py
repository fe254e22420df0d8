"""What the command line stored as "every private address" becomes the hosts and ports that were named."""

from typing import Any

from django.db import migrations

from focused.services import private_hosts


def mend(apps: Any, _editor: Any) -> None:
    private_hosts.mend(apps)


class Migration(migrations.Migration):
    dependencies = [("focused", "0004_ontology"), ("crawlmgr", "0001_initial")]
    operations = [migrations.RunPython(mend, migrations.RunPython.noop)]
