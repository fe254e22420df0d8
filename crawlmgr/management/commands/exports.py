"""`manage.py exports`: manages saved exports; the web interface shows the same ones."""

from crawlmgr.management.base import SubcommandCommand


class Command(SubcommandCommand):
    help = (
        "Manages saved exports: saves, writes and deletes them, and gives them download addresses."
    )
    subcommands = {
        "add": "crawlmgr.commands.exports_add",
        "list": "crawlmgr.commands.exports_list",
        "write": "crawlmgr.commands.exports_write",
        "address": "crawlmgr.commands.exports_address",
        "remove": "crawlmgr.commands.exports_remove",
    }
