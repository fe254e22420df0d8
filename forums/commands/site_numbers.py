"""The error that commands report for a site number that does not exist."""

from __future__ import annotations

from django.core.management.base import CommandError


def no_site(number: object) -> CommandError:
    """Returns the CommandError for the number of a site that does not exist."""
    return CommandError(f"There is no site {number}; `forum add ADDRESS` makes one.")
