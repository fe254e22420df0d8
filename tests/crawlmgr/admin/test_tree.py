"""Lines of the navigation tree: rendered by the template, and cached per language if they have no
children."""

from __future__ import annotations

import pytest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation

from crawlmgr.admin.tree import Node, address


def test_a_kept_line_follows_its_node_and_the_language() -> None:
    node = Node("A <b> forum", "/x/", key="site:1", lazy="/tree/1/")
    with translation.override("en"):
        english = node.line
        assert (
            "A &lt;b&gt; forum" in english
            and 'data-lazy="/tree/1/"' in english
            and 'aria-current="page"' not in english
        )
        assert (
            Node("A <b> forum", "/x/", key="site:1", lazy="/tree/1/", mark="paused").line != english
        )
        assert 'aria-current="page"' in Node("A <b> forum", "/x/", key="site:1", active=True).line
    with translation.override("zh-hans"):
        assert node.line != english
    with translation.override("en"):
        assert node.line == english == render_to_string("desk/tree_line.html", {"node": node})


def test_a_branch_holds_its_children() -> None:
    branch = Node(
        "Forums",
        "/f/",
        key="forums",
        children=(Node("one", "/1/"), Node("two", "/2/")),
        unfolded=True,
    )
    assert branch.line.index("Forums") < branch.line.index("one") < branch.line.index("two")


@pytest.mark.parametrize("name", ["forum", "board", "topic", "source", "forum-tree"])
def test_addresses_are_those_of_reverse(name: str) -> None:
    for pk in (0, 7, 123_456):
        assert address(f"admin:{name}", pk) == reverse(f"admin:{name}", args=[pk])
