"""`manage.py token`: manages tokens of the API."""

from crawlmgr.management.base import SubcommandCommand


class Command(SubcommandCommand):
    help = "Creates, lists and removes API tokens."
    subcommands = {
        "add": "crawlmgr.commands.token_add",
        "list": "crawlmgr.commands.token_list",
        "remove": "crawlmgr.commands.token_remove",
    }
