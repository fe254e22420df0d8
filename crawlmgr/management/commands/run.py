"""`manage.py run`: lists runs, and prints the report of one, as on its page in the web
interface."""

from crawlmgr.management.base import SubcommandCommand


class Command(SubcommandCommand):
    help = "Lists runs, and reports on one."
    subcommands = {"list": "crawlmgr.commands.run_list", "report": "crawlmgr.commands.run_report"}
