"""Subcommands of commands that are shared by all crawlers."""
