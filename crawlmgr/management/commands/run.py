"""`manage.py run`: one run, as on its page."""

from crawlmgr.management.base import SubcommandCommand


class Command(SubcommandCommand):
    help = "One run: its report."
    subcommands = {"report": "crawlmgr.commands.run_report"}
