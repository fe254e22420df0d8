"""Entry point of all commands: `crawlmgr COMMAND …` where the package is installed, `manage.py
COMMAND …` in a checkout."""

from __future__ import annotations

import logging
import os
import sys

from django.apps import apps
from django.core.management import execute_from_command_line

from crawlmgr import installation

log = logging.getLogger("crawlmgr.commands")


def main() -> None:
    """Runs the command on the command line; ends the process with status 1 and one line if the
    libraries of an extra are missing, or after an error of the program (with --traceback, its
    traceback)."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crawlmgr.settings")
    try:
        execute_from_command_line(sys.argv)
        sys.stdout.flush()
    except installation.Missing as error:
        sys.exit(f"CommandError: {error}.")
    except BrokenPipeError:
        # the reader, such as `… | head`, has closed the pipe; what is left in the buffer is
        # discarded
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if "--traceback" in sys.argv or not apps.ready:
            raise
        log.info("the error that ended the command", exc_info=error)
        sys.exit("CommandError: An internal error; logs/crawlmgr.log has the details.")


if __name__ == "__main__":
    main()
