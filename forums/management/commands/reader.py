"""`manage.py reader`: train the page reader."""

from crawlmgr.management.base import SubcommandCommand


class Command(SubcommandCommand):
    help = "The page reader: train its weights."
    subcommands = {"train": "forums.commands.reader_train"}
