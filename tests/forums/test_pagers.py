"""Pages with several different next-page links: the right one is found by fetching their targets,
in inspections and visits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from crawlmgr.text.dates import Moment
from forums.discovery import Explorer, ExplorerSettings, FetchedPage
from forums.discovery.pagers import followed
from forums.reading import PageReading
from forums.reading.model import PageKind
from forums.visits import incremental

NOW = datetime(2026, 11, 20, 10, tzinfo=UTC)
SITE = "http://looping.example"


def listing(numbers: range, further: str) -> str:
    rows = "".join(
        f'<tr class="row"><td class="title"><a href="/t/title-{n}/{n}/">Thread about matter'
        f" {n}</a></td><td>anna{n % 5}</td><td>{n % 7} replies</td><td>2026-11-{1 + n % 18:02d}"
        f" 09:{n % 60:02d}</td></tr>"
        for n in numbers
    )
    return f"""<html><head><title>Board</title>{further}</head><body><h1>General</h1>\
<table class="threads"><tr><th>Topic</th>
<th>Author</th><th>Replies</th><th>Last post</th></tr>{rows}</table></body></html>"""


def page(address: str) -> str | None:
    """Returns the HTML of a page of a site, None for an unknown address. On lists of threads the
    visible "Next" link leads to the first page again; the `<link rel="next">` in the head is right.
    """
    if address in ("/", "/c/general/1/?page=20", "/c/other/2/?page=20"):
        address = {"/": "/"}.get(address, address.partition("?")[0])
    if address == "/":
        boards = "".join(
            f'<tr><td><h3><a href="/c/{name}/{n}/">{name.title()} board</a></h3></td><td>40'
            " threads</td><td>99 posts</td></tr>"
            for n, name in ((1, "general"), (2, "other"))
        )
        return (
            f"<html><head><title>Forum</title></head><body><h1>Forum</h1><table>{boards}"
            f"</table></body></html>"
        )
    for name, number in (("general", 1), ("other", 2)):
        own, base = f"/c/{name}/{number}/", 100 * number
        if address == own:
            head = f'<link rel="next" href="{own}?start=20">'
            return listing(range(base, base + 20), head).replace(
                "</body>", f'<a href="{own}?page=20">Next</a></body>'
            )
        if address == f"{own}?start=20":
            return listing(range(base + 20, base + 35), "")
    return None


def look(*, teacher: bool, answers: Callable[[str], str | None] = page) -> Explorer:
    explorer = Explorer(f"{SITE}/", ExplorerSettings(teacher=teacher))
    while not explorer.done:
        url = explorer.wanted()[0].url
        html = answers(url.removeprefix(SITE))
        if html is None:
            explorer.failed(url, "http_404")
        else:
            explorer.feed(FetchedPage(url, url, html, NOW))
    return explorer


def test_a_look_finds_the_way_that_leads_to_new_rows_and_says_so() -> None:
    site = look(teacher=True).site()
    assert site.pager("threadlist") == "head"
    told = {lesson.claim: lesson for lesson in site.lessons}
    assert (told["next_list"].choice, told["next_list"].kept) == ("head", told["next_list"].of)
    assert site == type(site).from_json(site.to_json())


def test_without_the_teacher_the_first_offer_is_taken() -> None:
    site = look(teacher=False).site()
    assert site.pager("threadlist") == ""
    assert not any(lesson.choice for lesson in site.lessons)


def scripted(address: str) -> str | None:
    """Returns a page of a forum whose addresses give board and page number as query parameters;
    None for other addresses."""
    if address == "/":
        rows = "".join(
            f'<tr><td><h3><a href="/viewforum.php?id={n}">Board {word}</a></h3></td><td>40'
            " threads</td><td>99 posts</td></tr>"
            for n, word in ((1, "One"), (2, "Two"))
        )
        return (
            f"<html><head><title>Forum</title></head><body><h1>Forum</h1><table>{rows}</table>"
            f"</body></html>"
        )
    for number in (1, 2):
        own, base = f"/viewforum.php?id={number}", 100 * number
        if address in (own, f"{own}&p=2", f"{own}&p=3"):
            at = int(address[len(own) + 3 :] or 1)
            on = "".join(
                f'<a href="{own}&amp;p={to}">{word}</a>'
                for to, word in ((2, "2"), (3, "3"), (at + 1, "Next"))
                if to <= 3
            )
            return listing(range(base + 20 * at, base + 20 * at + 20), "").replace(
                "</body>", f"<p>Pages: <b>1</b>{on}</p></body>"
            )
    return None


def test_further_pages_of_a_board_are_no_boards() -> None:
    site = look(teacher=True, answers=scripted).site()
    assert [board.url.removeprefix(SITE) for board in site.boards] == [
        "/viewforum.php?id=1",
        "/viewforum.php?id=2",
    ]


def test_the_next_page_stands_where_the_model_says() -> None:
    reading = PageReading(
        PageKind.threadlist,
        next="/a?page=2",
        next_links=(("word", "/a?page=2"), ("head", "/a?start=9")),
    )
    assert followed(reading, "head").next == "/a?start=9"
    assert followed(reading, "numbers").next is None
    assert followed(reading, "").next == "/a?page=2"


def rows(numbers: range) -> list[incremental.Row]:
    return [
        incremental.Row(f"k{n}", f"/t/{n}", Moment(NOW - timedelta(hours=n), 60), n)
        for n in numbers
    ]


def test_a_visit_tries_the_rival_where_the_same_rows_come_again() -> None:
    visit = incremental.Visit(incremental.BoardFacts(None, None, 50, 120.0), NOW)
    offers = [("word", "/b?page=9"), ("head", "/b?start=9")]
    assert (
        visit.read("/b", rows(range(9)), "/b?page=9", {}, next_links=offers).next_url == "/b?page=9"
    )
    again = visit.read("/b?page=9", rows(range(9)), "/b?page=9", {}, next_links=offers)
    assert (again.next_url, again.changed) == ("/b?start=9", ())
    assert len(visit.read("/b?start=9", rows(range(9, 15)), None, {}).changed) == 6
    assert visit.state.proved == "head"
    assert visit.state.stopped_by == "end_of_board"


def test_a_visit_whose_next_page_is_the_same_and_has_no_rival_ends() -> None:
    visit = incremental.Visit(incremental.BoardFacts(None, None, 50, 120.0), NOW)
    url: str = "/b"
    for _ in range(6):
        url = visit.read(
            url, rows(range(9)), "/b?page=9", {}, next_links=[("word", "/b?page=9")]
        ).next_url
        if not url:
            break
    assert visit.state.stopped_by == "no_new_rows"
    assert visit.state.pages_read <= 4
