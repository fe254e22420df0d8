"""`manage.py topic` with its subcommands add, crawl, compare, strategies, pack and train-prior."""

from crawlmgr.management.base import SubcommandCommand


class Command(SubcommandCommand):
    help = "Topics crawled on purpose: make one, crawl it, compare strategies, list them."
    subcommands = {
        "add": "focused.commands.add",
        "crawl": "focused.commands.crawl",
        "compare": "focused.commands.compare",
        "strategies": "focused.commands.strategies",
        "pack": "focused.commands.pack",
        "train-prior": "focused.commands.train_prior",
    }
