"""Subcommands of what the crawlers share."""
