"""The forum's rooms of the desk; Django's admin finds this package by itself."""

from forums.admin import (
    add,
    boards,
    correct,
    delays,
    doubts,
    edit,
    palette,
    panels,
    plans,
    runs,
    simulations,
    sites,
    structures,
    threads,
    tiles,
    tuning,
)

__all__ = [
    "add",
    "boards",
    "correct",
    "delays",
    "doubts",
    "edit",
    "palette",
    "panels",
    "plans",
    "runs",
    "simulations",
    "sites",
    "structures",
    "threads",
    "tiles",
    "tuning",
]
