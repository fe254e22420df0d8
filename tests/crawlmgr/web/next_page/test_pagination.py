"""Pagers: counting numbers, words in many languages, and links to neighbouring threads that look
like pagination."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml.html import HtmlElement, HTMLParser, fromstring

from crawlmgr.web.next_page.pagination import PageLinks, find_pages
from crawlmgr.web.next_page.pagination_urls import address, relation, same_list
from crawlmgr.web.next_page.pagination_words import page_direction, page_number
from tests.growth import FACTOR, MAX_RATIO, growth

SHARED = Path(__file__).resolve().parents[5] / "shared" / "data"
SITE = "http://forum.example/"


def tree(html: str | bytes) -> HtmlElement:
    return fromstring(html, parser=HTMLParser(encoding="utf-8"))


def read(url: str, body: str, head: str = "") -> PageLinks:
    return find_pages(
        tree(f"<html><head>{head}</head><body>{body}</body></html>"), urljoin(SITE, url)
    )


def row(*links: str) -> str:
    """The HTML of a pager from "text=address" items; an item without an address is the current
    page."""
    items = []
    for link in links:
        text, _, href = link.partition("=")
        items.append(f'<a href="{href}">{text}</a>' if href else f"<strong>{text}</strong>")
    return f"<div>{' '.join(items)}</div>"


THREADS = "".join(
    f'<p><a href="/t/{n}-thread">Thread {n}</a> 1{n} replies</p>' for n in range(1, 9)
)

PAGERS = [
    # page, its pager (text=link), expected next page and own number
    (
        "viewforum.php?f=1",
        ("1", "2=?f=1&start=25", "9=?f=1&start=200"),
        "viewforum.php?f=1&start=25",
        1,
    ),
    (
        "viewforum.php?f=1&start=25",
        ("1=?f=1", "2", "3=?f=1&start=50"),
        "viewforum.php?f=1&start=50",
        2,
    ),
    ("viewforum.php?f=1&start=50", ("1=?f=1", "2=?f=1&start=25", "3"), None, 3),
    ("index.php?board=5.0", ("[1]", "2=?board=5.20", "3=?board=5.40"), "index.php?board=5.20", 1),
    ("index.php?board=5.20", ("1=?board=5.0", "[2]", "3=?board=5.40"), "index.php?board=5.40", 2),
    ("forum-36-1.html", ("1", "2=forum-36-2.html", "3=forum-36-3.html"), "forum-36-2.html", 1),
    ("forum-36-2.html", ("1=forum-36-1.html", "2", "3=forum-36-3.html"), "forum-36-3.html", 2),
    (
        "thread-99-1-1.html",
        ("1", "2=thread-99-2-1.html", "3=thread-99-3-1.html"),
        "thread-99-2-1.html",
        1,
    ),
    (
        "threads/name.77/",
        ("1=/threads/name.77/", "2=/threads/name.77/page-2"),
        "threads/name.77/page-2",
        1,
    ),
    ("threads/name.77/page-2", ("1=/threads/name.77/", "2=/threads/name.77/page-2"), None, 2),
    ("board/", ("1=./", "2=?page=2", "3=?page=3"), "board/?page=2", 1),
    ("board/?page=1", ("1=?page=0", "2", "3=?page=2", "4=?page=3"), "board/?page=2", 2),
    ("c/games", ("1", "2=/c/games/p2", "3=/c/games/p3"), "c/games/p2", 1),
    ("name-f26.html", ("1", "2=name-f26-25.html", "3=name-f26-50.html"), "name-f26-25.html", 1),
    ("f?kw=x&pn=50", ("1=f?kw=x&pn=0", "2", "3=f?kw=x&pn=100"), "f?kw=x&pn=100", 2),
    ("list.asp?b=3&p=2", ("第1页=?b=3&p=1", "第2页", "第3页=?b=3&p=3"), "list.asp?b=3&p=3", 2),
    (
        "index.php?forums/x.3/",
        ("1", "2=index.php?forums/x.3/page-2"),
        "index.php?forums/x.3/page-2",
        1,
    ),
    ("topic/12/3", ("1=/topic/12/1", "2=/topic/12/2", "3", "4=/topic/12/4"), "topic/12/4", 3),
]


@pytest.mark.parametrize(
    ("url", "links", "follow", "current"), PAGERS, ids=[row[0] for row in PAGERS]
)
def test_numbers_in_a_row(
    url: str, links: tuple[str, ...], follow: str | None, current: int
) -> None:
    found = read(url, THREADS + row(*links))
    assert found.next == (urljoin(SITE, follow) if follow else None)
    assert found.current == current
    linked = [urljoin(SITE + url, link.partition("=")[2]) for link in links if "=" in link]
    assert set(found.pages) == set(linked)


def test_the_last_page_is_the_highest_number_or_what_a_word_leads_to() -> None:
    assert read("b?p=2", row("1=b?p=1", "2", "3=b?p=3", "40=b?p=40")).last == SITE + "b?p=40"
    words = read("b?p=2", row("1=b?p=1", "2", "3=b?p=3", "末页=b?p=77"))
    assert words.last == SITE + "b?p=77"
    assert words.pages[-1] == words.last
    assert read("b?p=3", row("1=b?p=1", "2=b?p=2", "3")).last is None


@pytest.mark.parametrize(
    "word",
    [
        "Next",
        "next page",
        "Next »",
        "»",
        "›",
        ">",
        "→",
        "下一页",
        "下一頁",
        "下页",
        "次へ",
        "次のページ",
        "다음",
        "Weiter",
        "Nächste Seite",
        "Suivant",
        "Page suivante",
        "Siguiente",
        "Próxima",
        "Avanti",
        "Volgende",
        "Następna",
        "Далее",
        "След.",
        "Sonraki",
        "Nästa",
        "Seuraava",
        "Další",
        "Следующая »",
        "Older Topics",
        "Load more",
    ],
)
def test_words_and_arrows_lead_on(word: str) -> None:
    assert (
        read("board?id=3", f'<a href="board?id=3&page=2">{word}</a>').next
        == SITE + "board?id=3&page=2"
    )


@pytest.mark.parametrize(
    "markup",
    [
        '<a href="/b/games?page=2"><img src="r.gif" alt="Next"></a>',
        '<a href="/b/games?page=2" title="Next page"><i></i></a>',
        '<a href="/b/games?page=2" aria-label="下一页"></a>',
        '<a class="pagination-next" href="/b/games?page=2"><span></span></a>',
        '<a href="/b/games?page=2"><span class="icon-arrow-right"></span></a>',
        '<a rel="next" href="/b/games?page=2">further on</a>',
        '<a rel="next" href="/b/games?next=4729&amp;n=31">More</a>',
        '<a href="/b/games?after=t3_abc">next</a>',
        '<a href="/b/games?cursor=eyJpZCI6MX0%3D">older</a>',
        '<a href="/b/games?before=2014-03-04T10:00&amp;limit=20">Older posts</a>',
    ],
)
def test_pictures_names_and_cursors_lead_on(markup: str) -> None:
    assert read("b/games", THREADS + markup).next is not None


def test_the_head_leads_on_where_the_page_shows_nothing() -> None:
    head = '<link rel="next" href="/b/games?page=2">'
    assert read("b/games", THREADS, head).next == SITE + "b/games?page=2"


@pytest.mark.parametrize(
    "markup",
    [
        '<a href="/topic/13">Next Thread</a>',
        '<a href="/topic/13">Next Topic »</a>',
        '<a href="/topic/13">下一主题</a>',
        '<a href="/topic/13">Nächstes Thema</a>',
        '<a href="/topic/13">Sujet suivant</a>',
        '<a href="/topic/13">Следующая тема</a>',
        '<a href="/topic/13">next</a>',
        '<a href="/topic/13">»</a>',
        '<a href="/topic/12?prev_next=next#new">next »</a>',
        '<a href="/topic/12?view=next">next</a>',
        '<a href="/topic/12?goto=nextnewest">Next</a>',
        '<a rel="next" href="/topic/13">next</a>',
        '<a href="/topic/12?page=1">previous</a>',
        '<a href="http://other.example/topic/12?page=2">next</a>',
        '<a href="#">next</a>',
        '<a href="javascript:next()">next</a>',
    ],
)
def test_a_neighbouring_thread_is_no_page(markup: str) -> None:
    assert read("topic/12", markup).next is None
    assert read("topic/12", markup, '<link rel="next" href="/topic/13">').next is None


def test_numbers_beat_a_misleading_word_and_rel_next() -> None:
    pager = row("1", "2=/topic/12?page=2", "3=/topic/12?page=3")
    found = read(
        "topic/12",
        f'<a rel="next" href="/topic/13">Next</a>{pager}',
        '<link rel="next" href="/topic/13">',
    )
    assert found.next == SITE + "topic/12?page=2"


def test_rel_next_beats_a_visible_link_to_another_thread() -> None:
    markup = '<a href="/topic/13">Next</a>'
    assert (
        read("topic/12", markup, '<link rel="next" href="/topic/12?page=2">').next
        == SITE + "topic/12?page=2"
    )


def thread_rows(with_pagers: int, arrow: str = "") -> str:
    rows = []
    for n in range(1, 21):
        small = ""
        if n <= with_pagers:
            small = " ".join(f'<a href="/topic/{n}-x?page={p}">{p}</a>' for p in (2, 3, 4)) + (
                f' <a href="/topic/{n}-x?page=4">{arrow}</a>' if arrow else ""
            )
        rows.append(
            f'<tr><td><a href="/topic/{n}-x">Thread {n}</a>'
            f" <span>{small}</span></td><td>{n}</td></tr>"
        )
    return f"<table>{''.join(rows)}</table>"


@pytest.mark.parametrize("arrow", ["", "»"])
@pytest.mark.parametrize("with_pagers", [1, 2, 3, 12])
def test_pagers_beside_the_titles_of_a_list_are_not_the_list_s(
    with_pagers: int, arrow: str
) -> None:
    own = row("1", "2=/board/5?page=2", "3=/board/5?page=3")
    found = read("board/5", thread_rows(with_pagers, arrow) + own)
    assert found.next == SITE + "board/5?page=2"
    assert set(found.pages) == {SITE + "board/5?page=2", SITE + "board/5?page=3"}
    assert read("board/5", thread_rows(with_pagers, arrow)) == PageLinks()


def test_page_sizes_and_years_are_no_pages() -> None:
    sizes = row("15=/b?limit=15", "30=/b?limit=30", "60=/b?limit=60")
    assert read("b", sizes) == PageLinks()
    years = row("2011=/b?year=2011", "2012=/b?year=2012", "2013=/b?year=2013")
    assert read("b", years).next is None


def test_a_page_under_another_address_of_its_list() -> None:
    pager = '<a href="/showthread.php?t=5&page=2">2</a> <a href="/showthread.php?t=5&page=3">3</a>'
    canonical = '<link rel="canonical" href="http://forum.example/showthread.php?t=5">'
    assert (
        read("showthread.php?p=99", f"<div class=pagenav>{pager}</div>", canonical).next
        == SITE + "showthread.php?t=5&page=2"
    )
    rewritten = f'<div><b>1</b> {pager} <a href="/showthread.php?t=5&page=2">Next</a></div>'
    assert read("nice-name-5.html", rewritten).next == SITE + "showthread.php?t=5&page=2"


def test_a_base_address_and_sessions_are_honoured() -> None:
    found = read(
        "forum/list?f=1",
        row("1", "2=list?f=1&start=20"),
        '<base href="http://forum.example/forum/">',
    )
    assert found.next == SITE + "forum/list?f=1&start=20"
    session = "s=6ef2dc853f8f83ceb07b30be0370bb0d"
    assert (
        read(f"f?id=1&{session}", row("1", f"2=f?id=1&{session}&page=2")).next
        == SITE + f"f?id=1&{session}&page=2"
    )


def test_a_page_without_a_pager() -> None:
    assert read("b", THREADS) == PageLinks()
    assert read("b", "") == PageLinks()


def test_words_numbers_and_relations() -> None:
    assert [
        page_number(text)
        for text in ("2", "[2]", " 2 ", "Page 2", "第2页", "1,390", "2 posts", "0", "v2")
    ] == [2, 2, 2, 2, 2, 1390, None, None, None]
    assert [
        page_direction(text)
        for text in ("« Prev", "上一页", "Letzte »", "First", "Next Newest", "anna")
    ] == ["previous", "previous", "last", "first", None, None]
    assert relation([(2, 15), (3, 30), (4, 45)]) == (15, 0)
    assert relation([(1, 4711), (2, 4890)]) is None
    assert same_list(address(SITE + "b?f=1"), address(SITE + "b?f=1&page=2"))
    assert not same_list(address(SITE + "b?f=1"), address(SITE + "b?f=2"))
    assert not same_list(address(SITE + "t/1"), address(SITE + "t/2"))


@given(
    st.sampled_from(
        [
            ("?page={}", 1, 1),
            ("?start={}", 25, 0),
            ("page-{}", 1, 1),
            ("p{}.html", 1, 1),
            ("?p={}", 1, 0),
        ]
    ),
    st.integers(2, 60),
    st.data(),
)
def test_any_pager_is_walked_from_its_first_to_its_last_page(
    shape: tuple[str, int, int], count: int, data: st.DataObject
) -> None:
    pattern, step, first = shape
    board = f"board/{data.draw(st.integers(1, 9999))}-games/"

    def page(number: int) -> str:
        return board if number == 1 else board + pattern.format(first + (number - 1) * step)

    current = data.draw(st.integers(1, count))
    shown = sorted({1, count, *range(max(1, current - 2), min(count, current + 2) + 1)})
    links = [str(n) if n == current else f"{n}=/{page(n)}" for n in shown]
    found = read(page(current), THREADS + row(*links))
    assert found.next == (SITE + page(current + 1) if current < count else None)
    assert found.current == current
    assert found.last == (SITE + page(count) if current < count else None)


@pytest.mark.parametrize("links", [20_000, 100_000])
def test_many_links_cost_no_more_than_their_number(links: int) -> None:
    """Checks that the time grows linearly with the number of links, both at 20,000 (all examined)
    and at 100,000 (not all examined)."""

    def page(size: int) -> Any:
        many = "".join(f'<a href="/t?p={n}">{n}</a>' for n in range(size))
        return tree(f"<html><body>{many}</body></html>")

    assert (
        growth(lambda root: find_pages(root, SITE), page(links // FACTOR), page(links)) < MAX_RATIO
    )


def labelled_pages() -> list[dict[str, Any]]:
    source = SHARED / "pagination" / "links.jsonl.gz"
    if not source.exists():
        pytest.skip("the shared pages with labelled links are not here")
    with gzip.open(source, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


# numbers of test pages that list threads and have page links of each thread in its row, labelled
# PAGE like the list's own
ROW_PAGERS = {"36", "37", "61", "68", "69"}
THREAD_PATHS = ("discussion/", "thread.jsp", "north-american")


def f1_of_labels(pages: list[dict[str, Any]], ours_only: bool) -> dict[str, float]:
    """F1 of PAGE and NEXT over labelled links.

    With `ours_only`, links that a forum crawler never follows are left out: pagers of threads in
    rows, javascript links, pages whose labels were marked as failed, and blogs where "older" is
    labelled PREV although a crawler continues there.
    """
    hits: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for page in pages:
        labels = page["links"]
        if ours_only and (
            page["failed"]
            or any(page_direction(text) == "next" and label == "PREV" for _, text, label in labels)
        ):
            continue
        root = tree(page["html"].encode())
        found = find_pages(root, page["url"])
        base = next(
            (urljoin(page["url"], b.get("href")) for b in root.iter("base") if b.get("href")),
            page["url"],
        )
        for href, text, label in labels:
            in_row = page["page"] in ROW_PAGERS and any(path in href for path in THREAD_PATHS)
            if ours_only and (href.startswith("javascript") or (in_row and label == "PAGE")):
                continue
            target = urldefrag(urljoin(base, href.strip())).url
            number = page_number(text)
            ours = (
                "NEXT"
                if number is None and target == found.next
                else "PAGE"
                if number and target in found.pages
                else "O"
            )
            for kind in ("PAGE", "NEXT"):
                hits[kind] += ours == label == kind
                wrong[kind] += (ours == kind) != (label == kind)
    return {kind: 2 * hits[kind] / (2 * hits[kind] + wrong[kind]) for kind in hits}


def test_labelled_links_of_real_pages() -> None:
    pages = labelled_pages()
    everything = f1_of_labels(pages, ours_only=False)
    assert everything["PAGE"] > 0.82 and everything["NEXT"] > 0.84, everything
    followed = f1_of_labels(pages, ours_only=True)
    assert followed["PAGE"] > 0.98 and followed["NEXT"] > 0.94, followed


def test_next_pages_of_real_forum_pages() -> None:
    folder = SHARED / "forum_pages"
    if not folder.exists():
        pytest.skip("the shared forum pages are not here")
    right = total = 0
    for line in (folder / "list.jsonl").read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        truth = json.loads(
            (
                folder / item["file"].replace("html/", "truth/", 1).replace(".html", ".json")
            ).read_text("utf-8")
        )
        found = find_pages(tree((folder / item["file"]).read_bytes()), item["base_url"])
        wanted = urljoin(item["base_url"], truth["next"]) if truth["next"] else None
        right += (found.next and address(found.next)) == (wanted and address(wanted))
        total += 1
    assert right / total >= 0.95


@pytest.mark.parametrize(
    ("link", "follow"),
    [
        ("-&gt;&gt;=list.php?f=1&t=1722277075&a=2", "list.php?f=1&t=1722277075&a=2"),
        ("Older=list.php?f=1&upto=881", "list.php?f=1&upto=881"),
        ("»=list.php?f=2&a=2", None),
        ("»=list.php?f=1&view=newest", None),
        ("»=list.php?t=55", None),
    ],
)
def test_a_lone_arrow_to_the_same_list_from_a_number_on_is_the_next_page(
    link: str, follow: str | None
) -> None:
    found = read("list.php?f=1", row("Write=post.php?f=1", link) + THREADS).next
    assert found == (follow and urljoin(SITE, follow))


def test_arrows_to_several_lists_are_no_next_page() -> None:
    links = row("»=list.php?f=1&c=2", "»=list.php?f=1&c=3", "»=list.php?f=1&c=4")
    assert read("list.php?f=1", links + THREADS).next is None
