"""`manage.py schedule`: what recurs, as on the desk's page of schedules."""

from crawlmgr.management.base import SubcommandCommand


class Command(SubcommandCommand):
    help = "What recurs: its hours of work."
    subcommands = {"hours": "crawlmgr.commands.schedule_hours"}
