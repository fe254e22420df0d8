"""The types of forms, in a module of their own so that the database models can use them without
importing the HTML parser."""

from __future__ import annotations

from enum import StrEnum


class FormType(StrEnum):
    """The purpose of a form, as found by the classifier or set by an operator."""

    SEARCH = "search"
    LOGIN = "login"
    REGISTRATION = "registration"
    NEWSLETTER = "newsletter"
    CONTACT = "contact"
    PASSWORD_RECOVERY = "password_recovery"  # noqa: S105 - a type of form
    ORDER = "order"
    OTHER = "other"
