"""The purposes of forms, in a module of their own so that the tables can use them without loading the parser of HTML."""

from __future__ import annotations

from enum import StrEnum


class FormType(StrEnum):
    """The purpose of a form."""

    SEARCH = "search"
    LOGIN = "login"
    REGISTRATION = "registration"
    NEWSLETTER = "newsletter"
    CONTACT = "contact"
    PASSWORD_RECOVERY = "password_recovery"  # noqa: S105 - a type of form
    ORDER = "order"
    OTHER = "other"
