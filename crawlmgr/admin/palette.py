"""The command palette: finds pages, items (such as forums and runs) and actions on them by a few
typed letters, in English or Chinese."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin.site import desk_site
from crawlmgr.admin.tree import Node, address
from crawlmgr.admin.views import admin_view, number
from crawlmgr.models import Run
from crawlmgr.runs import run_reads

MAX_SHOWN = 24
MAX_OF_A_KIND = 8
LONGEST_QUERY = 200
# a search by words covers only this many ended runs, the latest; a search by number finds any run
ENDED_SEARCHED = 100
LANGUAGES = ("en", "zh-hans")
MIN_OF_A_VERB = (
    2  # number of letters of an English verb that must be typed before the verb is suggested
)


@dataclass(frozen=True, slots=True)
class Item:
    """An item with a page of its own: its id, its name, and a detail (`beside`) that distinguishes
    items of the same name."""

    pk: int
    name: str
    beside: str = ""


Find = Callable[[Sequence[str], int], Sequence[Item]]
"""Function that returns the items whose name or address contains all the words, at most the given
number, in a fixed number of queries."""


@dataclass(frozen=True, slots=True)
class Verb:
    """An action on items of a kind: a POST of `fields` to the view named `view`, or a link to that
    view if `opens`.

    `words`: what users type for it, in English and Chinese, in lower case. `find` finds the items
    that it applies to (None: all). The address normally contains the item's id. If `query` is set,
    the id is in this query parameter, and `arguments` are the view's arguments. With `whole` the
    action concerns no single item, and the address contains no id.
    """

    text: str | Promise
    words: tuple[str, ...]
    permission: str
    view: str
    icon: str
    fields: tuple[tuple[str, str], ...] = ()
    find: Find | None = None
    opens: bool = False
    whole: bool = False
    query: str = ""
    arguments: tuple[str, ...] = ()

    def address(self, pk: int) -> str:
        """Returns the URL of the action for the item `pk`: the target of its POST, or of its link
        if the action is a link."""
        if self.whole:
            return reverse(self.view)
        if not self.query:
            return address(self.view, pk)
        return f"{reverse(self.view, args=self.arguments)}?{urlencode({self.query: pk})}"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of item in the palette: its display name, the permission to see such items, the view
    of one item (`view`), the function that finds them, and the actions on them."""

    name: str | Promise
    icon: str
    permission: str
    view: str
    find: Find
    verbs: tuple[Verb, ...] = ()


KINDS: list[Kind] = []
"""Kinds of items that the palette finds besides pages; each crawler registers its own."""


def hits(request: HttpRequest, text: str) -> list[dict[str, Any]]:
    """Returns the matches of the typed text as dictionaries for JSON, at most MAX_SHOWN: first
    actions, if it contains the verb of one, then pages, then items. Contains only what the user may
    see or do."""
    wanted = text.strip().casefold()[:LONGEST_QUERY]
    allowed = [kind for kind in KINDS if request.user.has_perm(kind.permission)]
    found = [*_actions(request, allowed, wanted), *_views(request, wanted)]
    words = wanted.split()
    # runs come last, because their names contain those of other items
    for kind in sorted(allowed, key=lambda one: one.find is _runs) if words else ():
        found += [_page(kind, item) for item in kind.find(words, MAX_OF_A_KIND)]
    return found[:MAX_SHOWN]


def _page(kind: Kind, item: Item) -> dict[str, Any]:
    url = address(kind.view, item.pk)
    return {
        "title": item.name,
        "beside": item.beside,
        "kind": str(kind.name),
        "icon": kind.icon,
        "url": url,
    }


def _actions(request: HttpRequest, kinds: Sequence[Kind], wanted: str) -> Iterator[dict[str, Any]]:
    """Yields the actions that match the entered text `wanted`, as dictionaries for JSON. The text
    begins or ends with a verb such as "crawl"; its other words select the items to act on by name,
    at most MAX_OF_A_KIND for each verb.
    """
    for kind in kinds:
        for verb in kind.verbs:
            rest = _without(verb.words, wanted)
            if rest is None or not request.user.has_perm(verb.permission):
                continue
            for item in (verb.find or kind.find)(rest.split(), MAX_OF_A_KIND):
                yield {
                    "title": f"{verb.text}: {item.name}",
                    "beside": item.beside,
                    "kind": _("Action"),
                    "icon": verb.icon,
                    "url": verb.address(item.pk),
                    "send": None if verb.opens else dict(verb.fields),
                }


def _without(words: Sequence[str], wanted: str) -> str | None:
    """Returns the text `wanted` without the verb, one of `words`, with which it begins or ends; ""
    if the text is the beginning of a verb (at least MIN_OF_A_VERB letters), None in other cases.

    >>> _without(("crawl now", "抓取"), "crawl now riverside"), _without(("抓取",), "抓取河边"), \
_without(("crawl",), "cr")
    ('riverside', '河边', '')
    >>> _without(("crawl",), "crawler list") is None
    True
    """
    for word in words:
        open_end = not word.isascii()  # in Chinese, no space separates a verb from a name
        if (
            wanted == word
            or wanted.startswith(f"{word} ")
            or (open_end and wanted.startswith(word))
        ):
            return wanted[len(word) :].strip()
        if wanted.endswith(f" {word}") or (open_end and wanted.endswith(word)):
            return wanted[: -len(word)].strip()
        if len(wanted) >= MIN_OF_A_VERB and word.startswith(wanted):
            return ""
    return None


def _views(request: HttpRequest, wanted: str) -> Iterator[dict[str, Any]]:
    """Yields the pages in the navigation tree whose English or Chinese titles contain all words of
    `wanted`."""
    titles: dict[str, list[str]] = {}
    shown: list[Node] = []
    for language in LANGUAGES:
        with translation.override(language):
            nodes = list(_fixed(desk_site.tree(request)))
        for node in nodes:
            titles.setdefault(node.url, []).append(node.title.casefold())
        if language == translation.get_language() or not shown:
            shown = nodes
    for node in shown:
        if all(any(word in title for title in titles[node.url]) for word in wanted.split()):
            yield {
                "title": node.title,
                "beside": "",
                "kind": _("Page"),
                "icon": node.icon,
                "url": node.url,
            }


def _fixed(nodes: Sequence[Node]) -> Iterator[Node]:
    """Yields those nodes of the navigation tree, at any depth, that are fixed pages and not items,
    such as one forum."""
    for node in nodes:
        if node.url and node.icon:
            yield node
        yield from _fixed(node.children)


@admin_view("palette/", "palette")
def palette(request: HttpRequest) -> HttpResponse:
    """Returns the matches of the query parameter `q` as JSON."""
    return JsonResponse({"hits": hits(request, request.GET.get("q", ""))})


def _shown(runs: Iterable[Run], words: Sequence[str], most: int) -> list[Item]:
    rows = [run for run in runs if all(word in run.label.casefold() for word in words)]
    return [
        Item(run.pk, f"#{run.pk} {run.label}", str(run.get_state_display())) for run in rows[:most]
    ]


def _runs(words: Sequence[str], most: int) -> Sequence[Item]:
    """Returns at most `most` runs for the words typed: the run with this id if the only word is a
    number such as "12" or "#12", otherwise the active and recently ended runs whose names contain
    all words."""
    if len(words) == 1 and (pk := number(words[0].removeprefix("#"))) is not None:
        return _shown(Run.objects.only("id", "label", "kind", "state").filter(pk=pk), (), most)
    return _shown([*run_reads.active(), *run_reads.ended(ENDED_SEARCHED)], words, most)


def _active(words: Sequence[str], most: int) -> Sequence[Item]:
    return _shown(run_reads.active(), words, most)


MAY = "crawlmgr.change_run"
KINDS.append(
    Kind(
        gettext_lazy("Run"),
        "play_circle",
        "crawlmgr.view_run",
        "admin:run",
        _runs,
        (
            Verb(
                gettext_lazy("Pause run"),
                ("pause run", "pause", "暂停"),
                MAY,
                "admin:run-pause",
                "pause",
                (),
                _active,
            ),
            Verb(
                gettext_lazy("Resume run"),
                ("resume run", "resume", "继续"),
                MAY,
                "admin:run-resume",
                "play_arrow",
                (),
                _active,
            ),
            Verb(
                gettext_lazy("Stop run"),
                ("stop run", "stop", "停止"),
                MAY,
                "admin:run-stop",
                "stop",
                (),
                _active,
            ),
        ),
    )
)
