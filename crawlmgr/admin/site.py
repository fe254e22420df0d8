"""The desk's site object: rooms, branches of the tree and panels of the first page register here."""

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
    """A kind of crawl that an empty desk offers: lazy texts, the name of the room that adds one, and who may."""

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
    """The admin site that every room registers with.

    The crawlers add their own rooms, branches and panels from their `admin` modules, so this package names none of them.
    """

    index_title = _("Overview")
    enable_nav_sidebar = True

    @property
    def login_form(self) -> type[Any]:
        """By name: who may log in is known when the models are."""
        return import_string("crawlmgr.admin.login.LoginForm")  # type: ignore[no-any-return]

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        self.rooms: list[URLPattern] = []
        self.branches: list[tuple[int, Branch]] = []
        self.panels: list[tuple[int, Panel]] = []
        self.tiles: list[tuple[int, Callable[..., Any]]] = []
        self.beginnings: list[tuple[int, Beginning]] = []
        self.tour: list[tuple[int, Callable[[], Step | None]]] = []
        self.schedules: list[tuple[int, Callable[..., Any]]] = []
        self.home: Callable[..., HttpResponse] | None = None

    def add_room(self, route: str, view: Callable[..., HttpResponse], name: str) -> None:
        """Puts a view under /admin/`route`; it is closed to everybody who is not logged in."""
        self.rooms.append(path(route, self.admin_view(view), name=name))

    def add_branch(self, order: int, branch: Branch) -> None:
        """Adds a branch to the tree on the left; low orders stand on top."""
        self.branches = sorted([*self.branches, (order, branch)], key=lambda entry: entry[0])

    def add_panel(self, order: int, panel: Panel) -> None:
        """Adds a panel to the first page: a callable that gives `template` and its context, or None."""
        self.panels = sorted([*self.panels, (order, panel)], key=lambda entry: entry[0])

    def add_tile(self, order: int, make: Callable[..., Any]) -> None:
        """Adds figures to the head of the first page: a callable that gives `tiles.Tile`s."""
        self.tiles = sorted([*self.tiles, (order, make)], key=lambda entry: entry[0])

    def add_beginning(self, order: int, beginning: Beginning) -> None:
        """Adds a kind of crawl to what an empty desk offers."""
        self.beginnings = sorted([*self.beginnings, (order, beginning)], key=lambda entry: entry[0])

    def add_tour(self, order: int, make: Callable[[], Step | None]) -> None:
        """Adds a step to the tour through the demonstration: a callable that gives it, or None while there is nothing to show."""
        self.tour = sorted([*self.tour, (order, make)], key=lambda entry: entry[0])

    def add_schedule(self, order: int, make: Callable[..., Any]) -> None:
        """Adds things that recur to the page of schedules: a callable that gives `schedules.Entry`s."""
        self.schedules = sorted([*self.schedules, (order, make)], key=lambda entry: entry[0])

    def extra_urls(self) -> list[URLPattern]:
        return self.rooms

    def extra_context(self, context: dict[str, Any], request: HttpRequest) -> dict[str, Any]:
        """Every page of the desk carries the tree; the status bar fills itself."""
        context["desk_tree"] = self.tree(request) if context["has_permission"] else []
        context["desk_keys"] = go_keys(context["desk_tree"])
        return context

    def tree(self, request: HttpRequest) -> list[Node]:
        return build(request, [branch for _order, branch in self.branches])

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if self.home is None:
            return super().index(request, extra_context)
        return self.home(request)
