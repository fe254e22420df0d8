"""`manage.py topic`: compare, strategies."""

from crawlmgr.management.base import SubcommandCommand


class Command(SubcommandCommand):
    help = "Topics crawled on purpose: compare strategies, list them."
    subcommands = {
        "compare": "focused.commands.compare",
        "strategies": "focused.commands.strategies",
    }
