"""The admin site of the web interface ("desk"), with which views, branches of the navigation tree
and panels of the home page are registered. Steps of the guided tour through the demonstration are
registered here too: each is a page with an explanation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _
from unfold.sites import UnfoldAdminSite

from crawlmgr.admin.tree import Branch, Node, build, go_keys

Panel = Callable[[HttpRequest, Any], dict[str, Any] | None]


@dataclass(frozen=True, slots=True)
class Beginning:
    """A kind of crawl that the home page offers as long as there are no runs: title, description
    (`about`), name of the view for adding one (`view`), required permission, icon."""

    title: Any
    about: Any
    view: str
    permission: str
    icon: str


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the demonstration's guided tour: texts, and the page that it shows."""

    title: Any
    about: Any
    url: str


class DeskSite(UnfoldAdminSite):
    """The admin site of the web interface. Each crawler registers its own views, branches and
    panels from its `admin` module, so that this package need not know the crawlers."""

    index_title = _("Overview")
    enable_nav_sidebar = True

    @property
    def login_form(self) -> type[Any]:
        """The class of the login form; imported by name, because it needs the loaded models."""
        return import_string("crawlmgr.access.login.LoginForm")

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        self.own_views: list[URLPattern] = []
        self.branches: list[tuple[int, Branch]] = []
        self.panels: list[tuple[int, Panel]] = []
        self.tiles: list[tuple[int, Callable[..., Any]]] = []
        self.beginnings: list[tuple[int, Beginning]] = []
        self.tour: list[tuple[int, Callable[[], Step | None]]] = []
        self.home: Callable[..., HttpResponse] | None = None

    def add_view(self, route: str, view: Callable[..., HttpResponseBase], name: str) -> None:
        """Registers a view under /admin/`route`; only logged-in users can open it."""
        self.own_views.append(path(route, self.admin_view(view), name=name))

    def add_branch(self, order: int, branch: Branch) -> None:
        """Registers a branch of the navigation tree; lower orders come first."""
        self.branches = sorted([*self.branches, (order, branch)], key=lambda entry: entry[0])

    def add_page(
        self,
        order: int,
        title: Any,
        view: str,
        icon: str,
        key: str,
        permission: str = "crawlmgr.view_run",
        mark: Callable[[], str] = str,
    ) -> None:
        """Registers a branch of the navigation tree that is a single page, for users with the
        permission ("": for everybody); `mark` returns the node's mark."""

        def branch(request: HttpRequest, item: str) -> Node | None:
            if permission and not request.user.has_perm(permission):
                return None
            return Node(str(title), reverse(f"admin:{view}"), icon, key, mark())

        self.add_branch(order, branch)

    def add_panel(self, order: int, panel: Panel) -> None:
        """Registers a panel of the home page: a callable that returns a dict with the name of a
        `template` and the values for it, or None to show nothing. Lower orders come first."""
        self.panels = sorted([*self.panels, (order, panel)], key=lambda entry: entry[0])

    def add_tile(self, order: int, make: Callable[..., Any]) -> None:
        """Registers numbers for the top of the home page: a callable that returns `tiles.Tile`s.
        Lower orders come first."""
        self.tiles = sorted([*self.tiles, (order, make)], key=lambda entry: entry[0])

    def add_beginning(self, order: int, beginning: Beginning) -> None:
        """Registers a kind of crawl that the home page offers as long as there are no runs; lower
        orders come first."""
        self.beginnings = sorted([*self.beginnings, (order, beginning)], key=lambda entry: entry[0])

    def add_tour(self, order: int, make: Callable[[], Step | None]) -> None:
        """Registers a step of the demonstration's tour: a callable that returns the step, or None
        while it has nothing to show. Lower orders come first."""
        self.tour = sorted([*self.tour, (order, make)], key=lambda entry: entry[0])

    def extra_urls(self) -> list[URLPattern]:
        return self.own_views

    def extra_context(self, context: dict[str, Any], request: HttpRequest) -> dict[str, Any]:
        """Adds the navigation tree to the template values of every page. (The browser fetches the
        status bar separately.)"""
        context["desk_tree"] = self.tree(request) if context["has_permission"] else []
        context["desk_keys"] = go_keys(context["desk_tree"])
        return context

    def tree(self, request: HttpRequest) -> list[Node]:
        return build(request, [branch for _order, branch in self.branches])

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if self.home is None:
            return super().index(request, extra_context)
        return self.home(request)


desk_site = cast("DeskSite", admin.site)
"""Django's admin site, created as a `DeskSite` because of `DeskConfig.default_site`."""


def tour_steps(request: HttpRequest) -> dict[int, Step]:
    """Returns the steps of the tour that already have a page, by number, in order. Steps without a
    page are counted too, so that no number changes when one of them gets its page. Returns {} for
    users who may not see runs."""
    if not request.user.has_perm("crawlmgr.view_run"):
        return {}
    made = enumerate((make() for _order, make in desk_site.tour), 1)
    return {number: step for number, step in made if step is not None}


def tour_bar(request: HttpRequest) -> dict[str, Any] | None:
    """Returns context for a page opened as a step of the tour (`?tour=3`): the step's number, its
    texts, and the addresses of the previous and the next step ("" for none); None for other pages.
    """
    asked = request.GET.get("tour", "")
    if not asked.isascii() or not asked.isdigit() or len(asked) > 2:
        return None
    known = tour_steps(request)
    number = int(asked)
    if number not in known:
        return None
    before = max((one for one in known if one < number), default=0)
    after = min((one for one in known if one > number), default=0)
    context = {"number": number, "total": len(desk_site.tour), "step": known[number]}
    return {**context, "before": tour_address(known, before), "after": tour_address(known, after)}


def tour_address(known: dict[int, Step], number: int) -> str:
    """Returns the address at which step `number` of the guided tour is shown; "" if `known`, the
    steps by number, has no such step."""
    if number not in known:
        return ""
    url = known[number].url
    return f"{url}{'&' if '?' in url else '?'}tour={number}"


def _alarms() -> Step:
    about = _(
        "Problems and completed goals are reported here, and by mail, webhook or chat to the"
        " recipients you choose."
    )
    return Step(_("An alarm"), about, reverse("admin:alarms"))


def _exports() -> Step:
    about = _(
        "Choose the content, check the first rows and save the export: it can run by hand or by"
        " schedule and be fetched by an address or over the API."
    )
    return Step(_("Export the data"), about, reverse("admin:exports"))


desk_site.add_tour(50, _alarms)
desk_site.add_tour(60, _exports)
