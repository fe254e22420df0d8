"""`manage.py run`: lists runs, and reports on one as its page does."""

from crawlmgr.management.base import SubcommandCommand


class Command(SubcommandCommand):
    help = "Lists runs, and reports on one."
    subcommands = {"list": "crawlmgr.commands.run_list", "report": "crawlmgr.commands.run_report"}
