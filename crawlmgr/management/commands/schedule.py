"""`manage.py schedule`: lists and changes scheduled items, like the page of schedules in the web
interface."""

from crawlmgr.management.base import SubcommandCommand


class Command(SubcommandCommand):
    help = "Lists and changes scheduled items; pauses and resumes all crawling."
    subcommands = {
        "list": "crawlmgr.commands.schedule_list",
        "hours": "crawlmgr.commands.schedule_hours",
        "every": "crawlmgr.commands.schedule_every",
        "pause": "crawlmgr.commands.schedule_pause",
    }
