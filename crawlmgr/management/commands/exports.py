"""`manage.py exports`: manages saved exports, the same ones that the desk shows."""

from crawlmgr.management.base import SubcommandCommand


class Command(SubcommandCommand):
    help = "Keep exports, write them, give them an address: the exports room from a terminal."
    subcommands = {
        "add": "crawlmgr.commands.exports_add",
        "list": "crawlmgr.commands.exports_list",
        "write": "crawlmgr.commands.exports_write",
        "address": "crawlmgr.commands.exports_address",
        "remove": "crawlmgr.commands.exports_remove",
    }
