"""`manage.py archive`: imports WARC files, exports a run's pages, checks stored files, and moves
them to an object store."""

from crawlmgr.management.base import SubcommandCommand


class Command(SubcommandCommand):
    help = (
        "Imports WARC files into the archive, exports a run's pages as a WARC file, checks stored"
        " files, and moves them into an object store."
    )
    subcommands = {
        "import": "crawlmgr.commands.archive_import",
        "export": "crawlmgr.commands.archive_export",
        "check": "crawlmgr.commands.archive_check",
        "move": "crawlmgr.commands.archive_move",
    }
