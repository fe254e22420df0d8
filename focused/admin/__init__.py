"""Web interface of topics: the views and tables of Django's admin. Django imports this package when
it searches the applications for admin modules.
"""

from focused.admin import add, compare, crawl, pages, panels, runs, topics, words

__all__ = ["add", "compare", "crawl", "pages", "panels", "runs", "topics", "words"]
