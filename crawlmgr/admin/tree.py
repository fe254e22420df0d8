"""The navigation tree on the left: collects the nodes of all branches and marks the current
item."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import get_script_prefix, reverse
from django.utils.translation import get_language

LINES_KEPT = 4_096  # maximum number of rendered nodes that are cached
_PLACE = 10**15 + 7  # stands for the row's id in an address pattern


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the navigation tree. `key` identifies the item ("board:3"). `lazy` is the address
    from which its children are loaded when it is unfolded. `mark` names a small icon beside the
    title: "paused", "working" or "alarm". `depth` is the indentation within a branch."""

    title: str
    url: str = ""
    icon: str = ""
    key: str = ""
    mark: str = ""
    depth: int = 0
    children: tuple[Node, ...] = ()
    lazy: str = ""
    unfolded: bool = False
    active: bool = False

    @property
    def line(self) -> str:
        """The HTML of the node and its children. Every page contains the tree, so the HTML of nodes
        without children is cached."""
        return _laid_out(self) if self.children else _line(self, get_language() or "")


def _laid_out(node: Node) -> str:
    return render_to_string("desk/tree_line.html", {"node": node})


@lru_cache(maxsize=LINES_KEPT)
def _line(node: Node, _language: str) -> str:
    return _laid_out(node)


def address(name: str, pk: int) -> str:
    """Returns the address of the view `name` for the row with this id; faster than `reverse`, for
    trees with hundreds of nodes."""
    before, after = _pattern(name, get_script_prefix())
    return f"{before}{pk}{after}"


@lru_cache(maxsize=100)
def _pattern(name: str, _prefix: str) -> tuple[str, str]:
    before, _, after = reverse(name, args=[_PLACE]).partition(str(_PLACE))
    return before, after


GO_KEYS = {
    "home": "o",
    "forums": "f",
    "boards": "b",
    "threads": "l",
    "posts": "n",
    "plan:all": "p",
    "simulations": "s",
    "topics": "t",
    "sources": "d",
    "deep-records": "c",
    "runs": "r",
    "schedules": "e",
    "hosts": "h",
    "archive": "a",
    "workers": "w",
    "queue": "q",
}
"""Keyboard shortcuts by the key of a node of the navigation tree: the letter that, typed after `g`,
opens the node's page."""


def go_keys(nodes: Sequence[Node]) -> list[tuple[str, str, str]]:
    """Returns (letter, address, title) for each node with a keyboard shortcut among `nodes` and
    their children, in the order of the tree."""
    flat = [one for node in nodes for one in (node, *node.children)]
    return [(GO_KEYS[node.key], node.url, node.title) for node in flat if node.key in GO_KEYS]


Branch = Callable[[HttpRequest, str], Node | None]


def open_item(request: HttpRequest) -> str:
    """Returns the key of the navigation item that the page shows, as set by `views.page`; "" for
    pages of Django's own admin."""
    return str(getattr(request, "desk_item", ""))


def build(request: HttpRequest, branches: Sequence[Branch]) -> list[Node]:
    """Builds the navigation tree from all branches and marks the current item: by its key or, on
    pages of Django's own admin, by the longest matching address."""
    item = open_item(request)
    nodes = [node for branch in branches if (node := branch(request, item)) is not None]
    if not item:
        item = _by_address(nodes, request.path)
    return [_marked(node, item) for node in nodes]


def _marked(node: Node, item: str) -> Node:
    if not node.children and not (item and node.key == item):
        return node
    children = tuple(_marked(child, item) for child in node.children)
    inside = any(child.active or child.unfolded for child in children)
    return replace(
        node,
        active=bool(item) and node.key == item,
        children=children,
        unfolded=node.unfolded or inside or bool(item) and node.key == item,
    )


def _by_address(nodes: Sequence[Node], address: str) -> str:
    best, length = "", 0
    stack = list(nodes)
    while stack:
        node = stack.pop()
        stack.extend(node.children)
        if node.url and node.key and address.startswith(node.url) and len(node.url) > length:
            best, length = node.key, len(node.url)
    return best


def navigation(request: HttpRequest) -> list[dict[str, object]]:
    """Returns an empty navigation for unfold's side bar, because this project renders its own
    tree."""
    return []
