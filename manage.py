#!/usr/bin/env python
"""Entry point of all commands: `manage.py COMMAND …`."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crawlmgr.settings")
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
        sys.stdout.flush()
    except (
        BrokenPipeError
        # the reader, such as `… | head`, has closed the pipe; what is left in the buffer is
        # discarded
    ):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


if __name__ == "__main__":
    main()
