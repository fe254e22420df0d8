"""Discovery: learns a forum's structure from a small sample of its pages, and checks at each visit whether it still holds.

pages (facts of one page) > explorer (what to fetch, which are boards) > model (the result), layout (whether it still holds).
"""

from forums.discovery.explorer import Explorer, ExplorerSettings, Wanted
from forums.discovery.layout import LayoutChange, recheck
from forums.discovery.model import BoardFound, Flip, Layout, SiteModel
from forums.discovery.pages import FetchedPage

__all__ = [
    "BoardFound",
    "Explorer",
    "ExplorerSettings",
    "FetchedPage",
    "Flip",
    "Layout",
    "LayoutChange",
    "SiteModel",
    "Wanted",
    "recheck",
]
