"""The forum's rooms of the desk; Django's admin finds this package by itself."""

from forums.admin import add, boards, edit, panels, runs, sites, structures, threads

__all__ = ["add", "boards", "edit", "panels", "runs", "sites", "structures", "threads"]
