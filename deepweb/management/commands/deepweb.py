"""The command `manage.py deepweb` with its subcommands classify, train, find, cluster and
harvest."""

from crawlmgr.management.base import SubcommandCommand


class Command(SubcommandCommand):
    help = "Databases behind search forms: find and type forms, group them, ask them."
    subcommands = {
        "classify": "deepweb.commands.classify",
        "train": "deepweb.commands.train",
        "find": "deepweb.commands.find",
        "cluster": "deepweb.commands.cluster",
        "harvest": "deepweb.commands.harvest",
    }
