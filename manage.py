#!/usr/bin/env python
"""Entry point of all commands in a checkout: `manage.py COMMAND …`."""

from crawlmgr.management.program import main

if __name__ == "__main__":
    main()
