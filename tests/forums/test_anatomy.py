"""The fields of parsed pages: which element became which field, selectors that find it again, and
the effect of a correction."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime

import lxml.html
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlmgr.web.pages.tree import parse
from forums.discovery.correction_page import (
    NOTHING,
    SamplePage,
    checked,
    dissect,
    effects,
    selector,
    with_address,
    with_selector,
)
from forums.reading import PageKind, read_page
from forums.reading.corrections import SiteCorrections
from forums.selectors import bounded
from forums.selectors.child import select
from tests.crawlmgr.admin.rows import EVIL
from tests.site.forum import LocalForum

AT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
FORUM = LocalForum(now=AT)


def html(path: str, skin: str = "tables") -> str:
    FORUM.skin = skin
    return FORUM.page(path)[2].decode()


@pytest.mark.parametrize("skin", ["tables", "cards"])
@pytest.mark.parametrize(
    ("path", "kind", "roles"),
    [
        ("/", PageKind.index, {"name", "threads", "posts", "last_reply"}),
        (
            "/board/1",
            PageKind.threadlist,
            {"title", "author", "replies", "last_reply", "last_author"},
        ),
        ("/topic/4", PageKind.thread, {"author", "posted", "text"}),
    ],
)
def test_the_pieces_that_became_fields_are_known(
    skin: str, path: str, kind: PageKind, roles: set[str]
) -> None:
    found = dissect(html(path, skin), f"http://forum.example{path}", AT)
    assert found.kind is kind and found.number == len(found.rows)
    for row in found.rows:
        assert roles <= {piece.role for piece in row.pieces}, row
        named = dict(row.values)
        for piece in row.pieces:
            if piece.role in ("title", "author", "name"):
                assert piece.text == named[piece.role]


@pytest.mark.parametrize("skin", ["tables", "cards"])
def test_a_selector_taken_from_one_row_finds_the_same_field_in_all(skin: str) -> None:
    page, url = html("/board/2", skin), "http://forum.example/board/2"
    plain = read_page(page, url, AT)
    for row in dissect(page, url, AT).rows:
        for piece in row.pieces:
            if piece.role in ("title", "author", "replies", "last_reply", "last_author"):
                rules = with_selector(None, PageKind.threadlist, piece.role, piece.selector)
                again = read_page(page, url, AT, rules=rules)
                assert [getattr(r, piece.role) for r in again.records] == [
                    getattr(r, piece.role) for r in plain.records
                ], piece


def test_a_text_of_the_page_stays_a_text() -> None:
    page = html("/board/1").replace("Stone board", EVIL.replace("<", "&lt;"))
    rows = "".join(
        f"<tr class=topic><td><a class=topictitle href=/topic/{n}>{n}"
        f" &lt;script&gt;alert(1)&lt;/script&gt;</a><script>evil()</script></td><td>{n}</td></tr>"
        for n in range(9)
    )
    texts = [
        piece.text
        for row in dissect(
            page.replace("</table>", rows + "</table>"), "http://forum.example/board/1", AT
        ).rows
        for piece in row.pieces
    ]
    assert any("<script>alert(1)" in text for text in texts) and not any(
        "evil()" in text for text in texts
    )


def random_row(draw: random.Random, depth: int = 0) -> str:
    tag = draw.choice(["div", "span", "td", "b", "a", "p"])
    names = " ".join(
        draw.sample(["author", "num", "x12", "c-4f", "title", "meta", "is-odd"], draw.randint(0, 2))
    )
    inner = (
        "".join(random_row(draw, depth + 1) for _ in range(draw.randint(0, 3))) if depth < 3 else ""
    )
    return (
        f"<{tag}"
        f' class="{names}">{draw.choice(["", "text"])}{inner}</{tag}>{draw.choice(["", " tail "])}'
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_the_selector_of_an_element_finds_that_element_first(seed: int) -> None:
    draw = random.Random(seed)
    rows = [
        lxml.html.fromstring(f"<div>{random_row(draw)}{random_row(draw)}</div>") for _ in range(3)
    ]
    for element in rows[0].iterdescendants():
        found = select(rows[0], selector(rows[0], element, rows))
        assert found and found[0] is element


def samples(path: str = "/board/{}") -> list[SamplePage]:
    return [
        SamplePage(n, f"http://forum.example{path.format(n)}", html(path.format(n)), AT)
        for n in (1, 2, 3)
    ]


def test_the_effect_of_a_rule_is_told_page_by_page() -> None:
    rules = with_selector(None, PageKind.threadlist, "replies", ".views")
    found = effects(
        samples(), None, rules, PageKind.threadlist, "replies", timezone="UTC", day_first=None
    )
    assert len(found) == 3 and all(
        one.changes and one.records_before == one.records_after == 5 for one in found
    )
    before, after = found[0].examples[0]
    assert before != after and after.isdigit()
    same = effects(
        samples(), rules, rules, PageKind.threadlist, "replies", timezone="UTC", day_first=None
    )
    assert not any(one.changes for one in same)


def test_a_field_can_be_said_to_be_nothing_and_rows_to_be_others() -> None:
    none = with_selector(
        None, PageKind.threadlist, "replies", checked(PageKind.threadlist, "replies", NOTHING)
    )
    found = effects(
        samples(), None, none, PageKind.threadlist, "replies", timezone="UTC", day_first=None
    )
    assert [(one.filled_before, one.filled_after) for one in found] == [(5, 0)] * 3
    rows = with_selector(None, PageKind.threadlist, "", "tr.topic:nth-child(-n+3)")
    assert {
        one.records_after
        for one in effects(
            samples(), None, rows, PageKind.threadlist, "", timezone="UTC", day_first=None
        )
    } == {2}


def test_a_stated_address_comes_first_and_a_rule_replaces_the_one_before() -> None:
    rules = with_address(
        with_selector(None, PageKind.thread, "author", ".a"), r"/board/\d+", PageKind.other
    )
    assert (
        read_page(html("/board/1"), "http://forum.example/board/1", AT, rules=rules).kind
        is PageKind.other
    )
    assert with_selector(rules, PageKind.thread, "author", ".b").for_kind(
        PageKind.thread
    ).fields == (("author", ".b"),)  # type: ignore[union-attr]
    assert SiteCorrections.from_json(rules.to_json()) == rules


@pytest.mark.parametrize(
    ("role", "text"),
    [
        ("replies", ""),
        ("replies", "]]"),
        ("replies", "//["),
        ("posted", ".x"),
        ("author", "x" * 501),
        ("nonsense", ".x"),
    ],
)
def test_what_is_no_selector_or_field_is_refused_in_a_line(role: str, text: str) -> None:
    with pytest.raises(ValueError, match="^[^\n]+$"):
        checked(PageKind.threadlist, role, text)


def test_what_is_no_pattern_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^\(: "):
        with_address(None, "(", PageKind.thread)


ROWS = "".join(
    f"<tr><td><a href='/topic/{n}'>How is lamp {n} lit</a><td>anna{n}<td>{n}<td>2026-02-0{n} 10:00"
    for n in range(1, 8)
)
PLAIN = f"<h1>Lamps</h1><table class=list>{ROWS}</table>"
WRITTEN = PLAIN.replace("<table class=list>", "<table class=list><tbody>")
HEADED = PLAIN.replace("<table class=list>", "<table class=list><thead><tr><th>Topic</thead>")


@pytest.mark.parametrize("page", [PLAIN, WRITTEN, HEADED])
@pytest.mark.parametrize(
    "rows",
    [
        "table > tbody > tr",
        "table.list > tbody tr:nth-child(n)",
        "/html/body/table/tbody/tr",
        "//tbody/tr[td]",
        "table.list tr td:first-child",
    ],
)
def test_selectors_of_a_browser_find_the_rows_of_tables_without_a_body(
    rows: str, page: str
) -> None:
    rules = with_selector(None, PageKind.threadlist, "", checked(PageKind.threadlist, "", rows))
    rules = with_selector(rules, PageKind.threadlist, "url", "a")
    rules = with_selector(rules, PageKind.threadlist, "title", "a")
    read = read_page(
        page, "http://forum.example/board/1", AT, expect=PageKind.threadlist, rules=rules
    )
    assert [record.url for record in read.records] == [
        f"http://forum.example/topic/{n}" for n in range(1, 8)
    ]
    assert "uncorrected" not in read.evidence


def test_a_selector_that_names_a_body_within_a_row_and_the_body_itself() -> None:
    nested = re.sub(r"<td>(anna\d)", r"<td><table><tr><td>\1</table>", PLAIN)
    rules = with_selector(None, PageKind.threadlist, "author", "table > tbody > tr > td")
    read = read_page(
        nested, "http://forum.example/board/1", AT, expect=PageKind.threadlist, rules=rules
    )
    assert [record.author for record in read.records] == [f"anna{n}" for n in range(1, 8)]
    whole = bounded.pick(
        parse(PLAIN), PLAIN, "table > tbody", ["tr td a::text", "tr:nth-child(2) a"]
    )
    assert [row.tag for row in whole.rows] == ["table"]
    assert whole.found["tr td a::text"] == [["How is lamp 1 lit"]]


def test_rows_that_a_selector_does_not_find_are_told() -> None:
    url = "http://forum.example/board/1"
    rules = with_selector(None, PageKind.threadlist, "", "div.list > div")
    read = read_page(PLAIN, url, AT, expect=PageKind.threadlist, rules=rules)
    assert "uncorrected" in read.evidence and not read.complete
    assert read.doubts[0] == "div.list > div: finds nothing on a page with rows"
    with pytest.raises(ValueError, match="finds nothing"):
        effects([SamplePage(1, url, PLAIN, AT)], None, rules, PageKind.threadlist, "")
    better = with_selector(None, PageKind.threadlist, "", "tr")
    (effect,) = effects([SamplePage(1, url, PLAIN, AT)], rules, better, PageKind.threadlist, "")
    assert effect.records_after == 7
