"""What commands say of a site's number that no site has."""

from __future__ import annotations

from django.core.management.base import CommandError


def no_site(number: object) -> CommandError:
    """The error of a command that was given the number of a site that does not exist."""
    return CommandError(f"There is no site {number}; `forum add ADDRESS` makes one.")
