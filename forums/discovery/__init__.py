"""How a forum is built, learned from a small sample of its pages; told again at each visit whether it still is.

pages (facts of one page) > explorer (what to fetch, what is a board) > model (the result), layout (does it still hold).
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
