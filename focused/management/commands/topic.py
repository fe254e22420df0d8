"""`manage.py topic`: add, crawl, compare, strategies."""

from crawlmgr.management.base import SubcommandCommand


class Command(SubcommandCommand):
    help = "Topics crawled on purpose: make one, crawl it, compare strategies, list them."
    subcommands = {
        "add": "focused.commands.add",
        "crawl": "focused.commands.crawl",
        "compare": "focused.commands.compare",
        "strategies": "focused.commands.strategies",
        "train-prior": "focused.commands.train_prior",
    }
