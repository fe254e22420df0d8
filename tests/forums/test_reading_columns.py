"""Tests how the columns of a list are read: by header cells above them, by labels and words beside
the values, with date and time in separate columns, and by the words around names that tell authors
from last posters."""

from __future__ import annotations

from datetime import UTC, datetime

from forums.reading import BoardRecord, PageKind, PageReading, ThreadRecord, read_page
from forums.reading.corrections import SiteCorrections

NOW = datetime(2026, 11, 21, 4, 6, tzinfo=UTC)
TITLES = [
    "Old lamp hums",
    "Which stove for a boat",
    "Paper under rain",
    "Copper or steel",
    "A market by the river",
    "Bridge lights",
    "Winter signal",
]
NAMES = ["anna", "bertold", "chen", "dmitri", "K.Lee", "jana88", "moritz"]


def page(body: str, url: str = "http://forum.example/board/7") -> PageReading:
    return read_page(
        f"<!doctype html><html><head><title>Boats</title></head><body>{body}</body></html>",
        url,
        NOW,
    )


def threads(reading: PageReading) -> list[ThreadRecord]:
    assert reading.kind is PageKind.threadlist
    return [record for record in reading.records if isinstance(record, ThreadRecord)]


def listed(body: str, url: str) -> list[ThreadRecord]:
    """The threads of a page that is known to be a list of threads."""
    rules = SiteCorrections(addresses=(("", PageKind.threadlist),))
    return threads(
        read_page(
            f"<html><head><title>Boats</title></head><body>{body}</body></html>",
            url,
            NOW,
            rules=rules,
        )
    )


def test_tabs_above_cards_are_no_heads_of_their_columns() -> None:
    tabs = (
        "<div role=tablist><div><div role=tab>Newest posts</div></div><div><div role=tab>Hot"
        " topics</div></div></div>"
    )
    rows = "".join(
        f"<li class=item><h4><a href='/t/{n}'>{title}</a></h4><div><a href='/u/{n}'>{NAMES[n]}</a>"
        f" <span>{n + 1} days ago</span></div><ul><li><span"
        f" class=icon-eye></span><span>{90 + n}</span></li><li><span"
        f" class=icon-message></span><span>{n * 2}</span></li></ul></li>"
        for n, title in enumerate(TITLES)
    )
    assert [record.replies for record in threads(page(f"{tabs}<ul class=list>{rows}</ul>"))] == [
        n * 2 for n in range(7)
    ]


def test_the_heading_of_a_part_of_a_table_is_no_row_of_heads() -> None:
    def row(n: int) -> str:
        return (
            "<tr class=r><td rowspan=2><img src=folder.gif></td><td><a"
            f" href='topic.php?id={n}'>{TITLES[n]}</a></td><td rowspan=2>{n * 3 % 7}</td><td"
            f" rowspan=2>{50 + n * 9}</td></tr><tr class=s><td><small>Erstellt von: <a"
            f" href='profile.php?u={n}'>{NAMES[n]}</a> &raquo; Letzter Beitrag: <a"
            f" href='topic.php?id={n}&amp;goto=last#p{n}'>Di {20 - n}. Okt 2026 14:33</a> von <a"
            " href='profile.php?u=9'>eva</a></small></td></tr>"
        )

    def heading(text: str) -> str:
        return f"<tr><td colspan=4><b>{text}</b></td></tr>"

    body = (
        f"<table>{heading('Wichtige Themen')}{row(0)}{row(1)}{heading('Themen')}"
        f"{''.join(map(row, range(2, 7)))}</table>"
    )
    found = threads(page(body, "http://forum.example/board.php?id=7"))
    assert [
        (r.title, r.author, r.replies, r.last_reply.value.day if r.last_reply else 0) for r in found
    ] == [(TITLES[n], NAMES[n], n * 3 % 7, 20 - n) for n in range(7)]


def test_a_word_beside_a_number_says_more_than_a_class_around_all_numbers() -> None:
    rows = "".join(
        f"<section><a href='/hc/posts/{3600 + n}-x' class=list-title>{title}</a><div><span"
        f" class=meta>{NAMES[n]}</span> <span class=meta><time"
        f" datetime='2026-10-{20 - n}T10:00:00Z'>x</time></span></div><div"
        f" class='post-overview-count'><span><span>{n + 3}</span>"
        f" votes</span><span><span>{n * 2}</span> comments</span></div></section>"
        for n, title in enumerate(TITLES)
    )
    found = threads(page(rows))
    assert [(record.author, record.replies, record.views) for record in found] == [
        (NAMES[n], n * 2, None) for n in range(7)
    ]


def test_dates_and_times_of_day_in_columns_of_their_own_are_one_time() -> None:
    heads = (
        "<tr><th rowspan=2>Topic</th><th rowspan=2>Author</th><th rowspan=2>Replies</th><th"
        " colspan=3>Last post</th></tr><tr><th>Date</th><th>Time</th><th>By</th></tr>"
    )
    rows = "".join(
        "<tr><td><a"
        f" href='thread.asp?id={n}'>{title}</a></td><td>{NAMES[n]}</td><td>{n}</td><td>{20 - n} Sep"
        f" 2025</td><td>1{n}:45</td><td>eva</td></tr>"
        for n, title in enumerate(TITLES)
    )
    found = threads(page(f"<table>{heads}{rows}</table>", "http://forum.example/list.asp?board=2"))
    lasts = [record.last_reply.value.isoformat()[:16] for record in found if record.last_reply]
    assert lasts == [f"2025-09-{20 - n}T1{n}:45" for n in range(7)]


def test_a_time_of_today_beside_a_date_is_a_time_of_its_own_where_others_there_have_dates() -> None:
    heads = (
        "<tr><th>Topic</th><th>Author</th><th>Replies</th><th>Created</th><th>Last post</th></tr>"
    )
    rows = "".join(
        "<tr><td><a"
        f" href='thread.asp?id={n}'>{title}</a></td><td>{NAMES[n]}</td><td>{n + 1}</td><td>{20 - n}"
        f" Sep 2025</td><td>{'03:45' if n < 2 else f'{20 - n} Oct 2026'}</td></tr>"
        for n, title in enumerate(TITLES)
    )
    found = threads(page(f"<table>{heads}{rows}</table>", "http://forum.example/list.asp?board=2"))
    lasts = [record.last_reply.value.isoformat()[:10] for record in found if record.last_reply]
    assert lasts == ["2026-11-21", "2026-11-21", *(f"2026-10-{20 - n}" for n in range(2, 7))]


def test_links_that_follow_by_lead_to_people_wherever_they_stand() -> None:
    rows = "".join(
        f"<div class=row><div class=t><p><a href='/forum/boats/{n}-x{n}/'>{title}</a></p><p><a"
        f" href='/forum/crew/{NAMES[n]}/'>{NAMES[n]}</a>, {n + 2} days ago</p></div><div"
        f" class=l><span>by <a href='/forum/crew/{NAMES[-n]}/'>{NAMES[-n]}</a></span><br>{n + 1}"
        f" days ago</div><div class=p>{n + 1}</div></div>"
        for n, title in enumerate(TITLES)
    )
    found = threads(page(rows, "http://forum.example/forum/boats/"))
    assert [(record.author, record.last_author, record.board_url) for record in found] == [
        (NAMES[n], NAMES[-n], None) for n in range(7)
    ]


def test_addresses_with_and_without_a_query_are_one_list() -> None:
    rows = "".join(
        "<tr><td><a"
        f" href='/forum/general/{1000 + n}{f'?lastmod=17{n}' if n % 3 else ''}'>{title}</a> (<a"
        f" href='/people/{NAMES[n]}/profile'>{NAMES[n]}</a>)</td><td><time"
        f" datetime='2026-10-{20 - n}T10:00:00Z'>x</time></td><td><b>{n}</b>/-/-</td></tr>"
        for n, title in enumerate(TITLES)
    )
    found = threads(page(f"<table>{rows}</table>", "http://forum.example/forum/general"))
    assert [(record.title, record.author) for record in found] == list(
        zip(TITLES, NAMES, strict=True)
    )


def test_a_head_says_more_than_a_class_and_posts_count_the_opening_one() -> None:
    heads = (
        "<li class=head><ul><li class=title>Topic</li><li class=topic-voice-count>Voices</li><li"
        " class=topic-reply-count>Posts</li><li class=freshness>Last post</li></ul></li>"
    )
    rows = "".join(
        f"<li><ul><li class=title><a href='/topic/x-{n}/'>{title}</a><p>Started by: <a"
        f" href='/user/{n}/'>{NAMES[n]}</a></p></li><li class=topic-voice-count>{n % 3 + 1}</li><li"
        f" class=topic-reply-count>{n + 2}</li><li class=freshness><a"
        f" href='/topic/x-{n}/#p{n}'>{n + 1} weeks, 2 days ago</a></li></ul></li>"
        for n, title in enumerate(TITLES)
    )
    found = threads(
        page(f"<ul>{heads}<li><ul>{rows}</ul></li></ul>", "http://forum.example/forum/boats/")
    )
    assert [record.replies for record in found] == [n + 1 for n in range(7)]


def test_an_element_more_around_a_rounded_number_parts_no_column() -> None:
    rows = "".join(
        "<tr><td><h2><a"
        f" href='forum.php?mod=forumdisplay&amp;fid={n}'>{title}</a></h2></td><td><span>{300 + n}"
        f"</span><span"
        " class=x> /"
        f" {f'<span title={20000 + n}>2万</span>' if n % 2 else 700 + n}</span></td><td><a"
        f" href='x.php?tid={n}'>{NAMES[n]}</a> <cite>2026-10-{20 - n} 10:00</cite></td></tr>"
        for n, title in enumerate(TITLES)
    )
    reading = page(f"<table>{rows}</table>", "http://forum.example/forum.php")
    boards = [record for record in reading.records if isinstance(record, BoardRecord)]
    assert [(board.threads, board.posts) for board in boards] == [
        (300 + n, 20000 + n if n % 2 else 700 + n) for n in range(7)
    ]


def test_titles_with_their_time_for_a_tooltip_are_titles_and_short_links_with_one_are_times() -> (
    None
):
    rows = "".join(
        f"<tr><td><a title='Posted: Fri Oct {20 - n}, 2026 2:0{n} am'"
        f" href='viewtopic.php?f=7&amp;t={n}'>{title}</a><br><small>by <a"
        f" href='memberlist.php?u={n}'>{NAMES[n]}</a></small></td><td>{n}</td><td><a"
        f" href='viewtopic.php?f=7&amp;t={n}&amp;p={n}9#p{n}9' title='Oct {21 - n}, 2026 3:0{n}"
        f" am'>{n + 2}d</a></td></tr>"
        for n, title in enumerate(TITLES)
    )
    heads = "<tr><th>Topics</th><th>Replies</th><th>Last post</th></tr>"
    found = threads(page(f"<table>{heads}{rows}</table>", "http://forum.example/viewforum.php?f=7"))
    assert [(r.title, r.last_reply.value.isoformat()[:10]) for r in found if r.last_reply] == [
        (title, f"2026-10-{21 - n}") for n, title in enumerate(TITLES)
    ]


def test_a_page_in_a_language_that_writes_the_day_first_is_read_so() -> None:
    rows = "".join(
        "<tr><td><a"
        f" href='t.php?id={n}'>{title}</a></td><td>{NAMES[n]}</td><td>{n * 2}</td><td><span"
        f" title='0{n + 1}/0{7 - n}/2026 10:00'>x</span></td></tr>"
        for n, title in enumerate(TITLES[:6])
    )
    heads = "<tr><th>Tema</th><th>Autor</th><th>Respuestas</th><th>Último mensaje</th></tr>"
    for language, first in (("es", "2026-07-01"), ("en-US", "2026-01-07")):
        html = (
            "<!doctype html><html"
            f" lang={language}><head><title>x</title></head><body><table>{heads}{rows}</table>"
            f"</body></html>"
        )
        found = threads(read_page(html, "http://forum.example/f.php?f=7", NOW))
        assert found[0].last_reply and found[0].last_reply.value.isoformat()[:10] == first, language


def test_boards_are_an_index_beside_the_newest_threads_that_name_their_boards() -> None:
    boards = "".join(
        f"<div class=cat><h2>Part {n}</h2><div class=node><h3><a"
        f" href='/forums/{title.split()[0]}.{n}/'>{title}</a></h3><dl><dt>Topics</dt><dd>{30 + n}"
        f"</dd></dl><dl><dt>Messages</dt><dd>{300 + n}</dd></dl><div"
        f" class=extra><a href='/threads/x.{n}/latest'>{TITLES[-n]}</a> <time"
        f" datetime='2026-10-{20 - n}T10:00:00Z'>x</time> <a"
        f" href='/members/a.{n}/'>{NAMES[n]}</a></div></div></div>"
        for n, title in enumerate(TITLES[:3], 1)
    )
    newest = "".join(
        f"<li><div><a href='/threads/y.{n}/latest'>{title}</a></div><ul><li>Latest: <a"
        f" href='/members/a.{n}/'>{NAMES[n]}</a></li><li><time"
        f" datetime='2026-10-2{n}T10:00:00Z'>x</time></li></ul><div><a"
        " href='/forums/z.99/'>Workshop</a></div></li>"
        for n, title in enumerate(TITLES[:5])
    )
    reading = page(
        f"<main>{boards}</main><div class=side><h3>Latest posts</h3><ul>{newest}</ul></div>",
        "http://forum.example/forums/",
    )
    assert reading.kind is PageKind.index
    assert [(b.name, b.threads) for b in reading.records if isinstance(b, BoardRecord)] == [
        (TITLES[n], 31 + n) for n in range(3)
    ]


def test_cells_that_go_on_in_the_rows_below_shift_no_column() -> None:
    def row(n: int, area: str) -> str:
        return (
            f"<tr>{area}<td><a href='board.php?b={n}'>{TITLES[n]}</a></td><td"
            f" align=right>{30 + n}</td><td align=right>{900 + n}</td><td>{20 - n} Oct 2026"
            " 10:00</td></tr>"
        )

    heads = "<tr><th>Area</th><th>Forum</th><th>Topics</th><th>Posts</th><th>Last post</th></tr>"
    areas = {
        0: "<td rowspan=2>Main</td>",
        2: "<td rowspan=3>House</td>",
        5: "<td rowspan=1>Rest</td>",
    }
    rows = "".join(row(n, areas.get(n, "")) for n in range(6))
    reading = page(f"<table>{heads}{rows}</table>", "http://forum.example/index.php")
    boards = [record for record in reading.records if isinstance(record, BoardRecord)]
    assert [(b.name, b.threads, b.posts) for b in boards] == [
        (TITLES[n], 30 + n, 900 + n) for n in range(6)
    ]


def test_chinese_writers_behind_a_word_for_by_and_years_of_two_digits() -> None:
    rows = "".join(
        f"<tr><td><a href='/forum/p{1000 + n}_x.aspx'>{title}</a><br><span><a"
        f" href='/forum/yaf_profile{n}.aspx'>{NAMES[n]}</a></span></td><td>{n * 2}</td><td>{90 + n}"
        f"</td><td>由"
        f" <a href='/forum/yaf_profile{n + 9}.aspx'>{NAMES[-n]}</a><br>25年7月{20 - n}日(周四)"
        " 12:09</td></tr>"
        for n, title in enumerate(TITLES)
    )
    heads = "<tr><th>主题</th><th>回复</th><th>查看</th><th>最后发表</th></tr>"
    found = threads(page(f"<table>{heads}{rows}</table>", "http://forum.example/forum/f7.aspx"))
    assert [
        (r.author, r.last_author, r.last_reply.value.isoformat()[:16] if r.last_reply else "")
        for r in found
    ] == [(NAMES[n], NAMES[-n], f"2025-07-{20 - n}T12:09") for n in range(7)]


def test_heads_of_divisions_hold_for_numbers_of_one_class_whichever_is_larger() -> None:
    heads = (
        "<div class='row head'><div class=c5>Topics</div><div class=c1>Replies</div><div"
        " class=c1>Views</div><div class=c3>Last post</div></div>"
    )
    for views in (0, 70):
        rows = "".join(
            "<div class='row topic'><div class=c5><a"
            f" href='/forum/general-3/topic/x-{n}/'>{title}</a> by <a"
            f" href='/member/{n}/'>{NAMES[n]}</a></div><div class='c1"
            f" topic-count'>{n % 3}</div><div class='c1"
            f" topic-count'>{views and views + n}</div><div class=c3><a href='/member/9/'>eva</a>"
            f" Oct. {20 - n}, 2026, 7:12 p.m.</div></div>"
            for n, title in enumerate(TITLES)
        )
        found = threads(page(f"<div>{heads}{rows}</div>", "http://forum.example/forum/general-3/"))
        assert [record.replies for record in found] == [n % 3 for n in range(7)], views


def test_one_head_cell_whose_word_is_known_names_its_column() -> None:
    heads = "<thead><tr><th>Title</th><th>Begin</th><th>Replies</th></tr></thead>"
    rows = "".join(
        f"<tr><td><a href='../thread/10/{900 + n}.html'>{title}</a></td><td>Sun Nov {7 + n:02},"
        f" 2015 10:36 pm</td><td>{1 + n % 3}</td></tr>"
        for n, title in enumerate(TITLES * 2)
    )
    found = listed(f"<table>{heads}{rows}</table>", "http://forum.example/category/10.html")
    assert [record.replies for record in found] == [
        1 + n % 3 for n in range(14)
    ]  # read as replies, not as posts


def test_numbers_in_brackets_behind_titles_are_replies_whatever_the_class_of_their_cell() -> None:
    rows = "".join(
        f"<tr><td>{40 - n}</td><td class=post_subject><a"
        f" href='board.php?wr_id={800 + n}'>{title}</a>"
        f" {f'<span>[{n * 5 % 7}]</span>' if n else ''}</td><td"
        f" class=post_name>{NAMES[n]}</td><td>2026-10-{20 - n}</td><td>{470 + n * n}</td></tr>"
        for n, title in enumerate(TITLES)
    )
    found = listed(f"<table>{rows}</table>", "http://forum.example/board.php?bo_table=park")
    assert [record.replies for record in found] == [n * 5 % 7 for n in range(7)]
    assert [record.views for record in found] == [470 + n * n for n in range(7)]


def test_a_number_beside_the_title_in_one_short_link_is_no_part_of_it() -> None:
    rows = "".join(
        f"<li><span class=author>{NAMES[n]}</span> <span>10:{10 + n}</span><a"
        f" href='/p/{6000 + n}'><div class=card_title>{title[:7]}</div> <div"
        f" class=btn_reply>{n + 2}</div></a></li>"
        for n, title in enumerate(TITLES)
    )
    found = listed(f"<ul>{rows}</ul>", "http://forum.example/f?kw=boats")
    assert [(record.title, record.replies) for record in found] == [
        (title[:7].strip(), n + 2) for n, title in enumerate(TITLES)
    ]


def test_names_stand_in_elements_alike_where_rows_are_nested_at_several_depths() -> None:
    def row(n: int, inside: str = "") -> str:
        new = " <b>new</b>" if n == 2 else ""
        answers = f"<ul>{inside}</ul>" if inside else ""
        return (
            f"<li><a href='/list/{7000 + n}.html'>{TITLES[n]}</a>{new}"
            f" <i>{NAMES[n % 4]}</i>{answers}</li>"
        )

    nested = row(0) + row(1, row(2, row(3))) + row(4) + row(5, row(6))
    found = listed(f"<ul>{nested}</ul>", "http://forum.example/list/2004-April/thread.html")
    assert [(record.title, record.author) for record in found] == [
        (title, NAMES[n % 4]) for n, title in enumerate(TITLES)
    ]
