"""`manage.py deepweb`: classify, train."""

from crawlmgr.management.base import SubcommandCommand


class Command(SubcommandCommand):
    help = "Databases behind search forms: type forms, train the classifier."
    subcommands = {
        "classify": "deepweb.commands.classify",
        "train": "deepweb.commands.train",
    }
