"""Admin views of forums; Django's admin imports this package by itself."""

from forums.admin import (
    add,
    delays,
    edit,
    panels,
    plans,
    simulations,
    sites,
    structures,
    threads,
    tuning,
)

__all__ = [
    "add",
    "delays",
    "edit",
    "panels",
    "plans",
    "simulations",
    "sites",
    "structures",
    "threads",
    "tuning",
]
