"""Upkeep: backups, retention, deletions, the history of settings, the demonstration."""
