"""The forum's rooms of the desk; Django's admin finds this package by itself."""

from forums.admin import add, boards, panels, runs, sites, threads

__all__ = ["add", "boards", "panels", "runs", "sites", "threads"]
