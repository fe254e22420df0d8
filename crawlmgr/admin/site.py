"""The desk's site object."""

from unfold.sites import UnfoldAdminSite


class DeskSite(UnfoldAdminSite):
    """The admin site that every room registers with."""
