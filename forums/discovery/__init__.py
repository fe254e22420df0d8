"""Discovery: learns a forum's structure from a small sample of its pages, and checks during visits
whether the structure still holds.

Order of the modules: pages (facts of one page), explorer (which page to fetch next), candidates
(which addresses are boards), build and model (the result); layout checks whether later pages still
fit the model.
"""

from forums.discovery.explorer import Explorer, ExplorerSettings, Wanted
from forums.discovery.layout import LayoutChange, recheck
from forums.discovery.model import BoardFound, Layout, PageNumbering, SiteModel
from forums.discovery.pages import FetchedPage

__all__ = [
    "BoardFound",
    "Explorer",
    "ExplorerSettings",
    "FetchedPage",
    "PageNumbering",
    "Layout",
    "LayoutChange",
    "SiteModel",
    "Wanted",
    "recheck",
]
