"""Subcommands of those commands that do not belong to one crawler; each module defines HELP,
`add_arguments` and `run` (see `crawlmgr.management.base.SubcommandCommand`)."""
