"""What a value is follows from where it stands: below which header, beside which byline, in which
column, and not from its words alone."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from forums.reading import BoardRecord, PageKind, PostRecord, ThreadRecord, read_page
from forums.reading.document import Page
from forums.reading.lists.row_groups import Group
from forums.reading.lists.row_sets import RowSet, without_boards
from forums.reading.lists.rows import Row

NOW = datetime(2026, 11, 21, 4, 6, tzinfo=UTC)
TITLES = [
    "The lamp in the hall hums again",
    "Which glue holds on old oak",
    "A boat that leans to the left",
    "Paint that peels in the second winter",
    "Nails, screws or neither",
    "How to dry a carpet in a cellar",
]
SAID = [
    "Mine did that too. A new ballast helped, but it took an hour to find the right one.",
    "You could also turn it round once and see whether the noise stays on that side of it.",
    "Thank you both, I will try it on Sunday and tell you here how it went in the evening.",
    "It is quiet now. The screw at the back was loose, and a drop of oil did the rest of it.",
]
NAMES = ["anna", "bertold", "chen", "dmitri", "edda", "fritz"]


def rows(page: str, url: str = "http://forum.example/list.php?f=1") -> list[ThreadRecord]:
    reading = read_page(f"<html><head><title>Boats</title></head><body>{page}", url, NOW)
    assert reading.kind is PageKind.threadlist
    return [one for one in reading.records if isinstance(one, ThreadRecord)]


def posts(page: str, url: str = "http://forum.example/viewtopic.php?t=7") -> list[PostRecord]:
    reading = read_page(f"<html><head><title>Lamp</title></head><body>{page}", url, NOW)
    return [one for one in reading.records if isinstance(one, PostRecord)]


@pytest.mark.parametrize("head", ["Last post", "最終返信", "Letzter Beitrag"])
@pytest.mark.parametrize("said", ["Posted:", "投稿日時:", "Erstellt:"])
def test_a_lone_time_below_a_header_of_the_last_reply_is_its_time(head: str, said: str) -> None:
    made = "".join(
        f"<tr><td><a href='topic-{nth}0.html'>{title}</a></td><td><a href='profile-{nth}.html'>"
        f"{NAMES[nth]}</a></td><td>{nth}</td><td>by <a href='profile-9{nth}.html'>zoe{nth}</a>"
        f"<div>{said} 2026-10-{20 - nth} 10:30</div></td></tr>"
        for nth, title in enumerate(TITLES)
    )
    found = rows(
        f"<table><tr><th>Topic</th><th>Author</th><th>Replies</th><th>{head}</th></tr>{made}"
        "</table>"
    )
    assert [one.last_reply and one.last_reply.value.day for one in found] == list(range(20, 14, -1))


@pytest.mark.parametrize("head", ["Active topics", "Latest topics", "最新主题"])
def test_a_header_above_the_titles_names_no_last_reply(head: str) -> None:
    made = "".join(
        f"<tr><td><a href='viewtopic.php?t={nth}0'>{title}</a><br>by <a href='member.php?u={nth}'>"
        f"{NAMES[nth]}</a> » 2026-09-0{nth + 1} 08:00</td><td>{nth}</td><td>{nth}7</td><td>by <a"
        f" href='member.php?u=9{nth}'>zoe{nth}</a><br>2026-10-{20 - nth} 10:30</td></tr>"
        for nth, title in enumerate(TITLES)
    )
    found = rows(
        f"<table><tr><th>{head}</th><th>Replies</th><th>Views</th><th>Last post</th></tr>{made}"
        "</table>"
    )
    assert [one.author for one in found] == NAMES
    assert [one.created and one.created.value.day for one in found] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("signs", [[".", "---"], ["*", "?!"], ["♥♥", "~"]])
def test_a_name_of_signs_is_a_name_where_names_stand(signs: list[str]) -> None:
    names = [*signs, *NAMES[:4]]
    made = "".join(
        f"<tr><td><a href='read.php?f=1&t=10{nth}'>{title}</a></td><td>{name}</td><td>{nth}</td>"
        f"<td>2026-10-0{nth + 1} 09:40</td></tr>"
        for nth, (title, name) in enumerate(zip(TITLES, names, strict=True))
    )
    head = "<tr><td>Thread</td><td>Author</td><td>Replies</td><td>Last</td></tr>"
    assert [one.author for one in rows(f"<table>{head}{made}</table>")] == names


@pytest.mark.parametrize(
    "tooltip", ["{} - Original Poster, Most Recent Poster", "{} - 作者，最后回复"]
)
def test_who_alone_wrote_in_a_thread_is_its_author(tooltip: str) -> None:
    made = "".join(
        f"<tr class='topic'><td><a class='title' href='/t/talk-of-the-day/{nth}1'>{title}</a></td>"
        f"<td><a href='/u/{NAMES[nth]}' class='latest single'><img class='avatar'"
        f" title='{tooltip.format(NAMES[nth])}'></a></td><td class='replies'>{nth}</td>"
        f"<td class='views'>{nth}11</td><td>October {20 - nth}, 2026</td></tr>"
        for nth, title in enumerate(TITLES)
    )
    found = rows(
        "<table><tr><th>Topic</th><th></th><th>Replies</th><th>Views</th><th>Activity</th></tr>"
        f"{made}</table>",
        "http://forum.example/c/general/4",
    )
    assert [one.author for one in found] == NAMES


@pytest.mark.parametrize(
    ("count", "feed"), [("Topics", ""), ("Θέματα", "?format=rss"), ("Gruntle", "/feed.xml")]
)
def test_rows_that_count_topics_or_offer_a_feed_each_are_boards(count: str, feed: str) -> None:
    made = "".join(
        f"<li><table><tr><td><h3><a href='/nea/cat/{nth}/page'>{name}</a></h3><p>News for all</p>"
        f"</td><td><p>{count} <span>{threads}</span></p></td><td><a"
        f" href='/nea/cat/{nth}/page{feed}'>RSS</a></td></tr></table></li>"
        for nth, name, threads in [
            (7, "Announcements", 438),
            (23, "Lectures and events", 611),
            (30, "Classified ads", 92),
        ]
    )
    reading = read_page(
        f"<html><head><title>News</title></head><body><h1>News</h1><ul>{made}</ul>",
        "http://forum.example/nea",
        NOW,
    )
    assert reading.kind is PageKind.index
    found = [one for one in reading.records if isinstance(one, BoardRecord)]
    assert [(one.name, one.threads) for one in found] == [
        ("Announcements", 438),
        ("Lectures and events", 611),
        ("Classified ads", 92),
    ]


def reply(nth: int, time: str = "2026-10-0{} 10:15") -> str:
    when = time.format(nth + 2)
    return (
        f"<tr><td><div class='content'>{SAID[nth]}</div></td><td class='info'>Posted by <br><a"
        f" href='/account/view-profile/{NAMES[nth]}'>{NAMES[nth]}</a><br>on <span>{when}</span>"
        "</td></tr>"
    )


@pytest.mark.parametrize("rank", ["Harbour master", "管理员", ""])
def test_the_opening_may_stand_above_the_row_that_says_who_wrote_it(rank: str) -> None:
    opening = (
        f"<tr class='news'><td><div class='content'><p>{SAID[3]}</p></div></td></tr><tr"
        " class='newsInfo'><td><div>Posted by <a href='/account/view-profile/natalia'>natalia</a>"
        f"<br>on <span>2026-10-01 09:02</span><div class='rank'>{rank}</div></div></td></tr>"
    )
    found = posts(f"<h1>Lamp</h1><table>{opening}{''.join(map(reply, range(3)))}</table>")
    assert [one.author for one in found] == ["natalia", *NAMES[:3]]
    assert found[0].text.startswith("It is quiet now.")


@pytest.mark.parametrize("clock", ["November 21, 2026, 04:05:59 AM", "2026-11-21 04:05"])
def test_the_clock_of_the_page_is_no_time_of_an_opening(clock: str) -> None:
    poll = (
        f"<div id='top'>{clock}</div><div id='menu'><a href='/'>Main menu</a></div><div id='poll'>"
        "<h3>Which one?</h3><dl><dt>The first of them</dt><dd>0 (0%)</dd><dt>The second of them"
        "</dt><dd>1 (33.3%)</dd><dt>None of them at all</dt><dd>2 (66.7%)</dd></dl></div>"
    )
    found = posts(f"{poll}<h1>Lamp</h1><table>{''.join(map(reply, range(3)))}</table>")
    assert [one.author for one in found] == NAMES[:3]


@pytest.mark.parametrize(
    ("who", "when"), [("Author", "Date"), ("Autor", "Datum"), ("Zogu", "Plim"), ("記名", "日時")]
)
def test_the_same_labels_above_each_text_are_its_header(who: str, when: str) -> None:
    made = "".join(
        f"<table><tr><td>Re: Lamp</td></tr><tr><td><p><b>{who}</b>: {name}<br>{when}:"
        f" 2{nth}.10.2026 21:08<br><br>{text}</p></td></tr><tr><td><a href='report.php?i={nth}'>"
        "Report</a></td></tr></table>"
        for nth, (name, text) in enumerate(zip(NAMES, SAID, strict=False))
    )
    found = posts(f"<h1>Lamp</h1>{made}", "http://forum.example/read.php?f=2&i=10&t=10")
    assert [one.author for one in found] == NAMES[:4]
    assert [one.posted and one.posted.value.day for one in found] == [20, 21, 22, 23]
    assert [one.text for one in found] == SAID


@pytest.mark.parametrize("text", ["111111111111111", "42", "+1"])
def test_a_text_without_letters_is_read_where_texts_stand(text: str) -> None:
    page = (
        "<h1>First topic</h1><table id='pid1'><tr><td class='side'><div><a"
        " href='space-uid-1.html'>anna</a></div><div><table><tr><th><p><a href='t.html'>3</a></p>"
        "topics</th><th><p><a href='p.html'>3</a></p>posts</th><td><p><a href='c.html'>89</a></p>"
        "points</td></tr></table></div></td><td class='main'><div><a href='space-uid-1.html'>anna"
        "</a> <em>Posted 2026-2-19 19:30:11</em></div><div><table><tr><td id='postmessage_1'>"
        f"{text}<br></td></tr></table></div></td></tr></table>"
    )
    assert [one.text for one in posts(page, "http://www.forum.example/thread-1-1-1.html")] == [text]


@pytest.mark.parametrize("between", ["<hr>", "", "<div class='tools'></div>"])
def test_a_text_after_the_block_of_its_author_belongs_to_it(between: str) -> None:
    top = (
        "<div class='card'><div class='media'><a href='?user-9.htm'><img src='a.png'></a><div>"
        "<h4>Lamp</h4><div><span><a href='?user-9.htm'>natalia</a></span> <span>1 month ago</span>"
        f" <span>208</span></div></div></div>{between}<div class='message'>{SAID[3]}</div></div>"
    )
    made = "".join(
        f"<li class='media post' id='{nth}'><a href='?user-{nth}.htm'><img src='a.png'></a><div>"
        f"<div><span><a href='?user-{nth}.htm'>{NAMES[nth]}</a></span> <span>{20 - nth} days ago"
        f"</span> <span>{nth}</span></div><div class='message mt'>{SAID[nth]}</div></div></li>"
        for nth in range(3)
    )
    found = posts(f"{top}<ul>{made}</ul>", "http://forum.example/?thread-35.htm")
    assert [one.author for one in found] == ["natalia", *NAMES[:3]]
    assert [one.text for one in found] == [SAID[3], *SAID[:3]]


@pytest.mark.parametrize("wide", [1, 2])
def test_the_label_of_a_thread_in_a_sub_board_takes_no_other_row(wide: int) -> None:
    made = "".join(
        f"<li><a href='/t/some-talk/15{nth}/'>{title}</a> <a href='/c/{NAMES[nth]}/{nth + 1}/'>Oars"
        f"</a> <i>Oct. {20 - nth}, 2026</i></li>"
        for nth, title in enumerate(TITLES)
    )
    own = "<h1><a href='/c/old-boats/77/'>Boats</a></h1>"
    page = Page(f"<html><body>{own}<ul>{made}</ul>", "http://forum.example/c/old-boats/77/", NOW)
    items = [node for node, tag in enumerate(page.outline.tags) if tag == "li"]
    titles, labels = page.links[1::2], page.links[2::2]
    threads = [Row(page, (node,), link) for node, link in zip(items, titles, strict=True)]
    # The records of labels may be as wide as two rows, if every second row has one.
    boards = [
        Row(page, tuple(items[at : at + wide]), labels[at]) for at in range(0, len(items), wide)
    ]
    found, listed = (
        RowSet(page, Group(page, rows[0].title.pattern, rows), []) for rows in (threads, boards)
    )
    assert without_boards(found, listed) is found


@pytest.mark.parametrize("below", ["boards/1/topics", "forum/7/thread", "c/boats/7/t"])
def test_an_address_that_names_board_and_thread_is_a_thread(below: str) -> None:
    made = "".join(
        f"<tr><td><a href='/{below}/{nth + 31}'>{title}</a></td><td><a href='/users/{nth}'>"
        f"{NAMES[nth]}</a></td><td>10/0{nth + 1}/2026 10:30 AM</td><td>{nth}</td><td><a"
        f" href='/{below}/{nth + 31}?r={nth}#message-{nth}'>RE: {title}</a></td></tr>"
        for nth, title in enumerate(TITLES)
    )
    head = "<tr><th>Subject<th>Author<th>Created<th>Replies<th>Last message</tr>"
    own = f"/projects/community/{below.rpartition('/')[0]}"
    menu = f"<a href='/projects/community/boards'>Boards</a> <a href='{own}'>Boats</a>"
    found = rows(f"{menu}<table>{head}{made}</table>", f"http://forum.example{own}")
    assert [one.title for one in found] == TITLES
