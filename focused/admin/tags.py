"""Template filters for topics: display names of strategies."""

from __future__ import annotations

from django import template

from focused.admin import titles

register = template.Library()
register.filter("strategy", titles.strategy)
