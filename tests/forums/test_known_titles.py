"""A board with a single thread is read by the markup of titles in the site's other lists."""

from __future__ import annotations

from datetime import UTC, datetime

from forums.discovery.model import Layout, SiteModel
from forums.reading import PageKind, read_page

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PLACE = "http://forum.example/category/{}/"
ROW = """<div class="topic"><div class="topic-title">\
<a class="topic-link" href="/topic/{0}/{1}/">{2}</a></div>
<div class="topic-board"><a href="/category/{3}/">{4}</a></div><div class="topic-count">{5}</div>
<div class="topic-date" title="2026-02-{6:02} 10:00">{6} Feb</div></div>"""
MENU = '<ul class="menu"><li><a class="menu-link" href="/topic/active/">All boards</a></li></ul>'
WORDS = (
    "garden harbour lantern meadow needle orchard paper quarry river stone timber valley".split()
)


def _page(board: int, name: str, numbers: range) -> str:
    rows = "".join(
        ROW.format(
            n,
            f"{WORDS[n % 12]}-and-{WORDS[(n + 5) % 12]}",
            f"The {WORDS[n % 12]} and the {WORDS[(n + 5) % 12]}",
            board,
            name,
            n % 9 + 1,
            28 - n % 28,
        )
        for n in numbers
    )
    return (
        f'<html><title>{name}</title><body><div class="page">{MENU}<div'
        f' class="topics">{rows}</div><p>1/1</p></div></body></html>'
    )


def test_a_lone_row_is_read_by_the_titles_of_other_lists() -> None:
    full = read_page(_page(4, "General", range(20)), PLACE.format(4), NOW)
    assert full.kind is PageKind.threadlist and len(full.records) == 20 and full.shapes.titles
    lone = _page(2, "Uncategorized", range(30, 31))
    read = read_page(lone, PLACE.format(2), NOW, expect=PageKind.threadlist, known=full.shapes)
    assert read.kind is PageKind.threadlist
    assert [record.url for record in read.records] == [
        f"http://forum.example/topic/30/{WORDS[6]}-and-{WORDS[11]}/"
    ]
    assert read.evidence == ("known_titles",)


def test_an_empty_list_has_no_rows_by_known_titles() -> None:
    full = read_page(_page(4, "General", range(20)), PLACE.format(4), NOW)
    read = read_page(
        _page(2, "Uncategorized", range(0)),
        PLACE.format(2),
        NOW,
        expect=PageKind.threadlist,
        known=full.shapes,
    )
    assert read.kind is not PageKind.threadlist or not read.records


def test_known_titles_change_nothing_where_a_thread_is_expected() -> None:
    full = read_page(_page(4, "General", range(20)), PLACE.format(4), NOW)
    page = _page(2, "Uncategorized", range(30, 31))
    plain = read_page(page, PLACE.format(2), NOW, expect=PageKind.thread)
    assert read_page(page, PLACE.format(2), NOW, expect=PageKind.thread, known=full.shapes) == plain


def test_a_model_keeps_titles_and_reads_one_without() -> None:
    model = SiteModel(
        "Forum",
        "http://forum.example/",
        layouts=(
            Layout(
                "threadlist",
                20,
                ("title",),
                ("topic",),
                ("/topic/#/* a.x",),
                ("/topic/active a.y",),
            ),
        ),
    )
    stored = model.to_json()
    assert SiteModel.from_json(stored) == model and model.known == (
        {"/topic/#/* a.x"},
        {"/topic/active a.y"},
    )
    del stored["layouts"][0]["titles"]
    del stored["layouts"][0]["others"]
    assert SiteModel.from_json(stored).known == (frozenset(), frozenset())
