"""The teacher: consistency checks between related pages of a site, and alternative readings that
are adopted where pages contradict each other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from forums.discovery import Explorer, ExplorerSettings, FetchedPage, SiteModel, claims, teacher
from forums.reading import PageKind, ThreadRecord, read_page
from forums.reading.corrections import NOTHING, SiteCorrections
from forums.reading.document import Page

NOW = datetime(2026, 11, 20, 10, tzinfo=UTC)
SITE = "http://letters.example"
PEOPLE = ("anna", "albert", "boris", "bella", "clara", "conrad")
WORDS = (
    "the garden wall was painted last week and nobody noticed that it had been done in two"
    " different colours".split()
)


def author(thread: int, post: int) -> str:
    return PEOPLE[(thread * 5 + post * 7) % len(PEOPLE)]


def stamp(thread: int, post: int) -> str:
    return f"{NOW - timedelta(days=20 - thread, minutes=-37 * post):%Y-%m-%d %H:%M}"


def replies(thread: int) -> int:
    return 1 + thread % 6


def icon(name: str) -> str:
    return f'<div class="face" title="{name}">{name[0].upper()}</div>'


def thread_page(thread: int) -> str:
    posts = "".join(
        f'<div class="post" id="p{thread * 100 + at}"><div class="who"><a'
        f' href="/user/{author(thread, at)}"><div'
        f' class="face">{author(thread, at)[0].upper()}</div></a><small class="nick"><a'
        f' href="/user/{author(thread, at)}">{author(thread, at)}</a></small></div><span'
        f' class="when">{stamp(thread, at)}</span><div class="body"><p>{" ".join(WORDS[at % 5 :])}'
        f" {thread} {at}.</p></div></div>"
        for at in range(replies(thread) + 1)
    )
    return (
        f"<html><head><title>About matter number {thread}</title></head><body><h1>About matter"
        f" number {thread}</h1>{posts}</body></html>"
    )


def list_page(board: int) -> str:
    rows = "".join(
        f'<li class="row">{icon(author(n, 0))}<a class="subject"'
        f' href="/topic/{n}/about-matter-{n}">About matter number {n}</a><span'
        f' class="count">{replies(n)} replies</span><span'
        f' class="when">{stamp(n, replies(n))}</span></li>'
        for n in range(board * 20 - 19, board * 20 - 5)
    )
    return (
        f"<html><head><title>Board {board}</title></head><body><h1>Board {board}</h1><ul"
        f' class="list">{rows}</ul></body></html>'
    )


def page(path: str) -> str | None:
    parts = path.strip("/").split("/")
    if path == "/":
        boards = "".join(
            f'<tr><td><h3><a href="/board/{n}">Room number {n}</a></h3></td><td>14'
            " topics</td><td>50 posts</td></tr>"
            for n in (1, 2)
        )
        return (
            f"<html><head><title>Letters</title></head><body><h1>Letters</h1><table>{boards}"
            f"</table></body></html>"
        )
    if parts[0] == "board":
        return list_page(int(parts[1]))
    return thread_page(int(parts[1])) if parts[0] == "topic" else None


def looked_at(*, teacher: bool = True) -> SiteModel:
    explorer = Explorer(f"{SITE}/", ExplorerSettings(teacher=teacher))
    while not explorer.done:
        url = explorer.wanted()[0].url
        html = page(url.removeprefix(SITE))
        if html is None:
            explorer.failed(url, "http_404")
        else:
            explorer.feed(FetchedPage(url, url, html, NOW))
    return explorer.site()


def authors(html: str, url: str, rules: SiteCorrections | None, kind: PageKind) -> list[str | None]:
    reading = read_page(html, url, NOW, rules=rules, expect=kind)
    return [record.author for record in reading.records]  # type: ignore[union-attr]


def test_replies_and_posts_agree_and_the_evidence_is_kept() -> None:
    told = {lesson.claim: lesson for lesson in looked_at().lessons}
    assert told["replies"].choice == "replies"
    assert told["replies"].kept == told["replies"].of >= 3
    assert told["title"].kept == told["title"].of


def test_names_are_settled_across_lists_and_threads() -> None:
    site = looked_at()
    rules = SiteCorrections().over(SiteCorrections.from_json(site.rules)) if site.rules else None
    for thread in (3, 27, 31):
        expected = [author(thread, at) for at in range(replies(thread) + 1)]
        url = f"{SITE}/topic/{thread}/about-matter-{thread}"
        assert authors(thread_page(thread), url, rules, PageKind.thread) == expected
    rows = read_page(
        list_page(1), f"{SITE}/board/1", NOW, rules=rules, expect=PageKind.threadlist
    ).records
    shown = [row.author for row in rows if isinstance(row, ThreadRecord)]
    assert shown == [author(n, 0) for n in range(1, 15)]


def test_without_the_teacher_nothing_is_learned_from_agreement() -> None:
    site = looked_at(teacher=False)
    assert site.rules is None
    assert not site.lessons or {lesson.claim for lesson in site.lessons} <= {
        "next_list",
        "next_thread",
    }


def test_an_operators_correction_outranks_what_was_learned() -> None:
    learned = SiteCorrections.from_json(
        {
            "kinds": {"thread": {"records": "", "fields": {"author": ".nick", "posted": ".when"}}},
            "addresses": [],
        }
    )
    own = SiteCorrections.from_json(
        {"kinds": {"thread": {"records": "", "fields": {"author": NOTHING}}}, "addresses": []}
    )
    both = own.over(learned).for_kind(PageKind.thread)
    assert both is not None
    assert both.fields == (("author", NOTHING),)
    assert both.learned == (("posted", ".when"),)
    assert not SiteCorrections().over(learned).corrects(PageKind.thread)


def test_what_a_learned_selector_does_not_find_stays_as_it_was_read() -> None:
    html, url = thread_page(4), f"{SITE}/topic/4/about-matter-4"
    plain = read_page(html, url, NOW, expect=PageKind.thread)
    rules = SiteCorrections.from_json(
        {"kinds": {"thread": {"records": "", "fields": {"author": ".absent"}}}, "addresses": []}
    )
    assert (
        read_page(
            html, url, NOW, expect=PageKind.thread, rules=SiteCorrections().over(rules)
        ).records
        == plain.records
    )


COLUMNS = {
    "date": lambda n, at: stamp(n, at),
    "clock": lambda n, at: f"{NOW - timedelta(hours=n, minutes=7 * at):%b %d, %Y %H:%M}",
    "count": lambda n, at: str(1000 + 17 * n + at),
    "rank": lambda n, at: "Keeper" if n % 7 == 3 and not at else "Member",
}
"""What stands beside the name of a post, and of its thread's row in a list; none is a name."""


def column_page(path: str, column: str) -> str | None:
    """Returns a page of a forum whose lists show the last writer only, and a column that agrees
    with that of each thread's first post."""
    told = COLUMNS[column]
    parts = path.strip("/").split("/")
    if parts[0] == "board":
        rows = "".join(
            f'<li class="row"><a class="subject" href="/topic/{n}/about-matter-{n}">About matter'
            f' number {n}</a><span class="by">{author(n, replies(n))}</span><span'
            f' class="{column}">{told(n, 0)}</span><span class="count">{replies(n)}'
            " replies</span></li>"
            for n in range(int(parts[1]) * 20 - 19, int(parts[1]) * 20 - 5)
        )
        return f'<html><title>Room</title><h1>Room</h1><ul class="list">{rows}</ul></html>'
    if parts[0] != "topic":
        return page(path)
    n = int(parts[1])

    def when(n: int, at: int) -> str:
        timed = column in ("date", "clock")
        return "" if timed else f'<span class="when">{stamp(n, at)}</span>'

    posts = "".join(
        f'<div class="post" id="p{n * 100 + at}"><div class="who"><b'
        f' class="nick">{author(n, at)}</b><span class="{column}">{told(n, at)}</span></div>'
        f"{when(n, at)}<div"
        f' class="body"><p>{" ".join(WORDS[at % 5 :])} {n} {at}.</p></div></div>'
        for at in range(replies(n) + 1)
    )
    title = f"About matter number {n}"
    return f"<html><title>{title}</title><h1>{title}</h1>{posts}</html>"


def column_site(column: str, *, backwards: bool = False) -> SiteModel:
    explorer = Explorer(f"{SITE}/", ExplorerSettings(teacher=True))
    while not explorer.done:
        url = explorer.wanted()[-1 if backwards else 0].url
        explorer.feed(FetchedPage(url, url, column_page(url.removeprefix(SITE), column) or "", NOW))
    return explorer.site()


@pytest.mark.parametrize("column", COLUMNS)
def test_what_is_no_name_is_never_learned_as_one(column: str) -> None:
    """A lesson that satisfies the claim that rows and posts agree must not replace true names."""
    site = column_site(column)
    rules = SiteCorrections().over(SiteCorrections.from_json(site.rules)) if site.rules else None
    for n in (3, 9, 27, 31):
        html = column_page(f"/topic/{n}", column)
        url = f"{SITE}/topic/{n}/about-matter-{n}"
        plain = authors(html or "", url, None, PageKind.thread)
        assert authors(html or "", url, rules, PageKind.thread) == plain
        assert plain == [author(n, at) for at in range(replies(n) + 1)]


def test_two_looks_that_fetch_in_another_order_learn_the_same() -> None:
    one, other = column_site("date"), column_site("date", backwards=True)
    assert one.rules == other.rules


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (("anna", "boris", "bella", "anna", "clara"), True),
        (("May", "June", "boris", "clara", "anna"), True),
        (("1999", "anna", "boris", "bella", "clara"), True),
        (("2 hours ago", "yesterday, 10:15", "3 Nov 2026", "2026-11-01", "anna"), False),
        (("1,204", "87", "12k", "33", "5"), False),
        (("Member", "Member", "Member", "Member", "Admin"), False),
        (("anna", "", "boris", "", ""), False),
        (("anna", "anna", "anna", "anna", "anna"), False),
    ],
)
def test_values_that_can_be_names(values: tuple[str, ...], names: bool) -> None:
    read = Page("<p>x</p>", SITE, NOW)
    some = [claims.Region(read, read.root, None) for _ in values]
    assert teacher._named(some, values) is names
