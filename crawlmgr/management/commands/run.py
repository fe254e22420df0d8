"""`manage.py run`: subcommands on one run, with the same information as its page."""

from crawlmgr.management.base import SubcommandCommand


class Command(SubcommandCommand):
    help = "One run: its report."
    subcommands = {"report": "crawlmgr.commands.run_report"}
