"""`manage.py schedule`: what recurs, as on the desk's page of schedules."""

from crawlmgr.management.base import SubcommandCommand


class Command(SubcommandCommand):
    help = "What recurs: how often, when next, in which hours; pause of all crawling."
    subcommands = {
        "list": "crawlmgr.commands.schedule_list",
        "hours": "crawlmgr.commands.schedule_hours",
        "every": "crawlmgr.commands.schedule_every",
        "pause": "crawlmgr.commands.schedule_pause",
    }
