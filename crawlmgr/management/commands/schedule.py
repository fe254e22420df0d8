"""`manage.py schedule`: lists and changes scheduled items, like the page of schedules in the web interface."""

from crawlmgr.management.base import SubcommandCommand


class Command(SubcommandCommand):
    help = "What recurs: how often, when next, in which hours; pause of all crawling."
    subcommands = {
        "list": "crawlmgr.commands.schedule_list",
        "hours": "crawlmgr.commands.schedule_hours",
        "every": "crawlmgr.commands.schedule_every",
        "pause": "crawlmgr.commands.schedule_pause",
    }
