"""`manage.py forum`: adds a forum, reads one page, visits boards, reads stored pages again, plans
visits, simulates schedules."""

from crawlmgr.management.base import SubcommandCommand


class Command(SubcommandCommand):
    help = (
        "Forums: add one, read a page, visit now, read stored pages again, plan visits, try"
        " schedules on an event log."
    )
    subcommands = {
        "add": "forums.commands.add",
        "inspect": "forums.commands.inspect",
        "crawl": "forums.commands.crawl",
        "reread": "forums.commands.reread",
        "plan": "forums.commands.plan",
        "simulate": "forums.commands.simulate",
        "simulate-fetch": "forums.commands.simulate_fetch",
    }
