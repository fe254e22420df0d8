"""WSGI entry point for gunicorn, which loads this module once and then forks, so that its processes
share the loaded code."""

import gc
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crawlmgr.settings")
application = get_wsgi_application()
import crawlmgr.urls  # noqa: E402, F401 - the views, which need the applications loaded above

gc.collect()
# otherwise garbage collection in a web process would write to every memory page that it shares with
# the others
gc.freeze()
