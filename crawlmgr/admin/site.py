"""The desk's site object, where admin views, branches of the tree and panels of the home page are registered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _
from unfold.sites import UnfoldAdminSite

from crawlmgr.admin.tree import Branch, Node, build, go_keys

Panel = Callable[[HttpRequest, Any], dict[str, Any] | None]


@dataclass(frozen=True, slots=True)
class Beginning:
    """A kind of crawl that the empty desk offers: lazy texts, the name of the view that adds one, and the permission for it."""

    title: Any
    about: Any
    room: str
    permission: str
    icon: str


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the tour: lazy texts and the page that it shows."""

    title: Any
    about: Any
    url: str


class DeskSite(UnfoldAdminSite):
    """The admin site that every view of the desk registers with.

    Each crawler registers its own views, branches and panels from its `admin` module, so this package refers to none of them.
    """

    index_title = _("Overview")
    enable_nav_sidebar = True

    @property
    def login_form(self) -> type[Any]:
        """The login form's class, imported by name because it needs the loaded models."""
        return import_string("crawlmgr.admin.login.LoginForm")  # type: ignore[no-any-return]

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        self.rooms: list[URLPattern] = []
        self.branches: list[tuple[int, Branch]] = []
        self.panels: list[tuple[int, Panel]] = []
        self.tiles: list[tuple[int, Callable[..., Any]]] = []
        self.beginnings: list[tuple[int, Beginning]] = []
        self.tour: list[tuple[int, Callable[[], Step | None]]] = []
        self.home: Callable[..., HttpResponse] | None = None

    def add_room(self, route: str, view: Callable[..., HttpResponse], name: str) -> None:
        """Registers a view under /admin/`route`; only logged-in users can open it."""
        self.rooms.append(path(route, self.admin_view(view), name=name))

    def add_branch(self, order: int, branch: Branch) -> None:
        """Registers a branch of the tree on the left; low orders come first."""
        self.branches = sorted([*self.branches, (order, branch)], key=lambda entry: entry[0])

    def add_panel(self, order: int, panel: Panel) -> None:
        """Registers a panel of the home page: a callable that returns `template` and its context, or None."""
        self.panels = sorted([*self.panels, (order, panel)], key=lambda entry: entry[0])

    def add_tile(self, order: int, make: Callable[..., Any]) -> None:
        """Registers figures for the head of the home page: a callable that returns `tiles.Tile`s."""
        self.tiles = sorted([*self.tiles, (order, make)], key=lambda entry: entry[0])

    def add_beginning(self, order: int, beginning: Beginning) -> None:
        """Registers a kind of crawl that an empty desk offers."""
        self.beginnings = sorted([*self.beginnings, (order, beginning)], key=lambda entry: entry[0])

    def add_tour(self, order: int, make: Callable[[], Step | None]) -> None:
        """Registers a step of the demonstration's tour: a callable that returns it, or None while there is nothing to show."""
        self.tour = sorted([*self.tour, (order, make)], key=lambda entry: entry[0])

    def extra_urls(self) -> list[URLPattern]:
        return self.rooms

    def extra_context(self, context: dict[str, Any], request: HttpRequest) -> dict[str, Any]:
        """Adds the tree to the context of every page; the status bar is filled by a request of its own."""
        context["desk_tree"] = self.tree(request) if context["has_permission"] else []
        context["desk_keys"] = go_keys(context["desk_tree"])
        return context

    def tree(self, request: HttpRequest) -> list[Node]:
        return build(request, [branch for _order, branch in self.branches])

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if self.home is None:
            return super().index(request, extra_context)
        return self.home(request)
