"""Template filters for topics: names of strategies in the user's language."""

from __future__ import annotations

from django import template

from focused.admin import titles

register = template.Library()
register.filter("strategy", titles.strategy)
