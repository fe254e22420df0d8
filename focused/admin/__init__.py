"""The topics' rooms of the desk; Django's admin finds this package by itself."""

from focused.admin import add, compare, crawl, pages, panels, runs, topics, words

__all__ = ["add", "compare", "crawl", "pages", "panels", "runs", "topics", "words"]
