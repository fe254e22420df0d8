"""Which elements belong to a post and which only accompany it: links to the post itself, reply
buttons, quotes, paragraphs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from forums.reading import PageKind, PostRecord, read_page
from tests.forums.boards import NOW

TITLE = "Reels of tape that stick after a winter in the shed"
TEXTS = [
    ("anna", "2026-03-01 10:11", "They were dry. Has anybody baked some?"),
    ("bertold", "2026-03-01 12:40", "Eight hours at fifty degrees."),
    ("carla", "2026-03-02 08:05", "Not all kinds need it."),
]
WORDS = {"en": ("Reply", "Quote"), "zh": ("回复", "引用")}


def read(posts: str, url: str = "http://site.example/showthread.php?t=41") -> list[PostRecord]:
    page = f"<html><head><title>{TITLE}</title></head><body><h1>{TITLE}</h1>{posts}</body></html>"
    reading = read_page(page, url, NOW)
    assert reading.kind is PageKind.thread
    return [record for record in reading.records if isinstance(record, PostRecord)]


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
@pytest.mark.parametrize("number", [2, 3])
def test_subjects_that_lead_to_their_own_place_are_no_threads(
    words: tuple[str, str], number: int
) -> None:
    posts = "".join(
        f'<div><table><tr><td><a href="/profile.php?7,{at}">{name}</a> <small><strong><a'
        f' name="msg-{at}" href="/read.php?7,41,{at}#msg-{at}">Re:'
        f" {TITLE}</a></strong><br>{when}</small></td><td>Joined: 12.05.2009<br>Posts:"
        f' {at}0</td></tr></table><div>{text}<div><a href="/do.php?7,{at}">{words[0]}</a> <a'
        f' href="/do.php?7,{at},quote=1">{words[1]}</a></div></div></div>'
        for at, (name, when, text) in enumerate(TEXTS[:number], 51)
    )
    found = read(posts, "http://site.example/read.php?7,41")
    assert [(post.author, post.text) for post in found] == [
        (name, text) for name, _, text in TEXTS[:number]
    ]


PARTED = [
    ("anna", "2026-03-01 10:11", ["They were dry.", "Has anybody baked some?"]),
    ("bertold", "2026-03-01 12:40", ["Eight hours."]),
]


def whole(records: list[PostRecord]) -> list[tuple[str | None, str]]:
    return [(record.author, record.text) for record in records]


def joined() -> list[tuple[str | None, str]]:
    return [(name, "\n".join(lines)) for name, _, lines in PARTED]


def test_paragraphs_without_an_element_around_them_are_one_text() -> None:
    posts = "".join(
        f"<section><header><b>{name}</b> ·"
        f" <time>{when}</time></header>{'<blockquote>Was it dry there?</blockquote>' if at else ''}"
        f"{''.join(f'<p>{line}</p>' for line in lines)}<p><a"
        " href='?reply'>Reply</a></p></section>"
        for at, (name, when, lines) in enumerate(PARTED)
    )
    assert whole(read(posts)) == joined()


@pytest.mark.parametrize(
    "head", ["<b>{name}:</b> Was it dry there?", "{name} 说: „Was it dry there?“"]
)
def test_boxes_that_begin_with_who_said_it_are_quotes(head: str) -> None:
    posts = "".join(
        f"<div class=item><div><b>{name}</b> <i>{when}</i></div><div>"
        f"{'<div>' + head.format(name='anna') + '</div>' if at else ''}{'<br>'.join(lines)}</div>"
        f"</div>"
        for at, (name, when, lines) in enumerate(PARTED)
    )
    assert whole(read(posts)) == joined()


def test_a_column_of_facts_is_no_text_however_long_it_is() -> None:
    facts = (
        "Advanced Member<br>Group: Members<br>Posts: 312<br>Joined: 5.03.2004<br>Location:"
        " Bath<br>Member No.: 61216"
    )
    told = [
        (PARTED[0][0], PARTED[0][1], "Eight hours."),
        (PARTED[1][0], PARTED[1][1], "Not all kinds need it, ask before. " * 3),
    ]
    posts = "".join(
        f"<table><tr><td class=r><div class=c><a href='/user/{at}'>{name}</a></div></td><td"
        f" class=r><span>{when}</span></td></tr><tr><td class=d><span>{facts}</span></td><td"
        f" class=d id=m-{at}><div class=c id=p-{at}>{text}</div></td></tr></table>"
        for at, (name, when, text) in enumerate(told)
    )
    assert whole(read(posts)) == [(name, text.strip()) for name, _, text in told]


def test_messages_between_rules_are_posts() -> None:
    posts = "".join(
        f"<hr><a name={at}></a><b>From:</b> {name}<br><b>Date:</b> {when}<br><b>Subject:</b>"
        f" {TITLE}<br><br>{'<br>'.join(lines)}<p>"
        for at, (name, when, lines) in enumerate(PARTED)
    )
    assert (
        whole(read(f"<p><a href=1.html>Next</a></p>{posts}<hr><address>Since 1998</address>"))
        == joined()
    )


def test_a_label_around_name_and_time_is_no_label_of_a_field_and_a_file_is_nobody() -> None:
    posts = "".join(
        f"<div class=reply id=r{at}><p><input type=checkbox id=d{at}><label for=d{at}><span"
        f" class=name>{name}</span> <time datetime='{when.replace(' ', 'T')}'>{when}</time></label>"
        f" <a href='#{at}'>No.</a></p><p>File: <a href='/src/17430{at}.jpg'>17430{at}.jpg</a> (120"
        f" KB)</p><div class=body>{text}</div></div>"
        for at, (name, when, text) in enumerate(TEXTS, 5100)
    )
    assert whole(read(posts)) == [(name, text) for name, _, text in TEXTS]


@pytest.mark.parametrize("number", [2, 3])
def test_names_of_some_are_linked_and_those_of_others_are_not(number: int) -> None:
    posts = "".join(
        f"<dt>{at} :"
        f" {'<a href=mailto:x@site.example><b>' if at % 2 else '<font color=green><b>'}{name}</b>"
        f"{'</a>' if at % 2 else '</font>'}"
        f" : {when} ID:80fa{at}<dd>{text}<br><br>"
        for at, (name, when, text) in enumerate(TEXTS[:number], 1)
    )
    assert whole(read(f"<dl>{posts}</dl>", "http://site.example/showthread.php?t=41")) == [
        (n, text) for n, _, text in TEXTS[:number]
    ]


def test_the_subject_above_the_first_text_is_no_name_where_the_title_of_the_page_says_more() -> (
    None
):
    post = (
        f"<div class=post><p><span class=subject>{TITLE}</span> <span class=name>anna</span>"
        " <i>2026-03-01 10:11</i></p><div class=body>They were dry.</div></div>"
    )
    page = (
        "<html><head><title>Workshop -"
        f" {TITLE}</title></head><body><h1>Workshop</h1>{post}<form><textarea></textarea></form>"
        f"</body></html>"
    )
    reading = read_page(page, "http://site.example/showthread.php?t=41", NOW)
    assert [
        (post.author, post.text) for post in reading.records if isinstance(post, PostRecord)
    ] == [("anna", "They were dry.")]


def pair(second: str, first: str = "They were dry.") -> list[PostRecord]:
    return read(
        "".join(
            f"<div class=m><div><b>{name}</b> · <i>{when}</i></div><div class=t>{text}</div></div>"
            for name, when, text in [
                ("anna", "2026-03-01 10:11", first),
                ("bertold", "2026-03-01 12:40", second),
            ]
        )
    )


@pytest.mark.parametrize(
    "text",
    [
        "<a href='#5'>&gt;&gt;5</a><br>&gt; They were dry.<br>&gt; Were they?<br>Eight hours.",
        (
            "Eight hours.<br>【 在 anna (Anna K.) 的大作中提到: 】<br>: They were dry.<br>: Were"
            " they?<br>"
        ),
        "anna wrote:\n<a href='#'>...</a><blockquote>They were dry.</blockquote>Eight hours.",
        "\n  Eight hours.\n\n-- \nNo place like home\n",
        "\n anna wrote:\n &gt; They were dry.\n &gt; Were they?\n\n Eight hours.\n",
        "Eight hours.<br>--<br>No place like home",
        "Eight hours.<br>Sent from my tape deck",
        (
            "Eight hours.<div class='attachments'>Files: <ul><li>oven.pdf (a long letter, 3.1"
            " KB)</li></ul></div>"
        ),
    ],
)
def test_what_else_stands_in_the_text_is_not_its_own(text: str) -> None:
    assert [post.text for post in pair(text)] == ["They were dry.", "Eight hours."]


def test_lines_of_the_source_that_nothing_shows_are_one_line() -> None:
    assert pair("Eight hours at\n  fifty degrees.")[1].text == "Eight hours at fifty degrees."


def test_the_only_post_is_more_than_the_link_to_it_and_its_day_stands_apart_from_its_clock() -> (
    None
):
    post = (
        "<div class=m><div class=h><span class=name><a"
        " href='/users/7/'>anna</a></span><div><span>Sunday, 1 March 2026</span><span>Sun, 1 Mar"
        " '26</span><div><span title=\"Sender's time: 2026-03-01"
        ' 10:11">10:11</span></div></div><div class=messagelink>(<a'
        " href='/message/77/'>permalink</a>)</div></div><div class=m-body>They were dry.</div><div"
        " class=attachments><p>File:</p><ul><li><a href='/a/1'>oven.diff</a> (text/x-patch, 3.1"
        " KB)</li></ul></div></div><section><p>4 days inactive, 4 days old, no comments, 1"
        " participant</p></section>"
    )
    found = read(post, "http://site.example/thread/41/")
    assert [
        (one.author, one.posted and one.posted.value.strftime("%d %H:%M"), one.text)
        for one in found
    ] == [("anna", "01 10:11", "They were dry.")]


def test_a_short_opening_text_that_its_element_is_called_counts() -> None:
    replies = "".join(
        f"<li class=c><div><a href='/user?id={name}'>{name}</a> <span"
        f" title='{when}'>{when}</span></div><div class=comment>{text}</div></li>"
        for name, when, text in TEXTS[1:]
    )
    opening = (
        f"<div class=o><a href='/user?id=anna'>anna</a> <span>{TEXTS[0][1]}</span> <div"
        " class=toptext>Hum, why?</div></div>"
    )
    assert whole(read(f"{opening}<ul>{replies}</ul>")) == [
        ("anna", "Hum, why?"),
        *((name, text) for name, _, text in TEXTS[1:]),
    ]


def test_the_only_post_of_a_thread_stands_above_a_table_of_threads_like_it() -> None:
    post = (
        "<table><tr><td colspan=2>2026-03-01, 10:11</td></tr><tr><td><b><a"
        " href='member.php?id=7'>anna</a></b><br>Joined: 05/2009<br>Posts: 312</td><td>They were"
        " dry. Has anybody baked some?</td></tr></table>"
    )
    rows = "".join(
        "<tr><td><a"
        f" href='showthread.php?t={at}'>{title}</a></td><td>{name}</td><td>{at - 80}</td><td>"
        f"2026-02-{at - 70},"
        " 04:06</td></tr>"
        for at, (title, name) in enumerate(
            [("Show us your shed", "bertold"), ("Rules", "carla"), ("Photo contest", "dora")], 91
        )
    )
    heads = "<tr><th>Topic</th><th>Author</th><th>Replies</th><th>Last post</th></tr>"
    assert whole(
        read(f"{post}<table><tr><th colspan=4>Similar topics</th></tr>{heads}{rows}</table>")
    ) == [("anna", "They were dry. Has anybody baked some?")]


MAILS = {
    "lines": (
        "From: {name} ({name}@site.example), Board: Tape<br>Subject: Re: {title}<br>Date:"
        " {when}<br>&nbsp;<br>{text}<br><br>-- <br>No home"
    ),
    "bold": "<b>Von:</b> {name}<br><b>Datum:</b> {when}<br><br>{text}",
    "chinese": (
        "发信人: {name} (小), 信区: Talk <br /> 标&nbsp;&nbsp;题: {title} <br /> 发信站: 灯塔"
        " ({when}), 站内 <br /> <br /> {text} <br /> --<br />家"
    ),
    "preformatted": "<pre>\nFrom: {name}\nDate: {when}\nSubject: Re: {title}\n\n{text}\n</pre>",
}


@pytest.mark.parametrize("mail", MAILS.values(), ids=MAILS)
def test_the_head_of_a_mail_in_the_text_is_none_of_it(mail: str) -> None:
    posts = "".join(
        f"<table class=article><tr><td><a href='/user/{name}'>{name}</a><br>Posts: 312</td><td"
        f" class=a>{mail.format(name=name, when=when, text=text, title=TITLE)}</td></tr></table>"
        for name, when, text in TEXTS
    )
    found = read(posts)
    assert whole(found) == [(name, text) for name, _, text in TEXTS]
    assert [post.posted and post.posted.value.strftime("%Y-%m-%d %H:%M") for post in found] == [
        when for _, when, _ in TEXTS
    ]


def test_facts_above_a_text_are_the_writer_s_own_words() -> None:
    assert (
        pair("Machine: Revox B77<br>Speed: 19 cm<br><br>Eight hours.")[1].text
        == "Machine: Revox B77\nSpeed: 19 cm\nEight hours."
    )


@pytest.mark.parametrize("recent", [1, 3, 5])
def test_times_in_words_that_wear_one_element_more_part_no_post(recent: int) -> None:
    def one(number: int) -> str:
        is_recent = number > 6 - recent
        when = (
            f'<span title="11-20-2026">Yesterday</span>, 0{number}:11 AM'
            if is_recent
            else f"11-1{number}-2026, 04:1{number} PM"
        )
        return (
            f'<a name="pid{number}"></a><div class="post" id="post_{number}"><div'
            ' class="post_author"><strong><span><a'
            f' href="member.php?uid={number}">anna{number}</a></span></strong></div><div'
            f' class="post_content"><div class="post_head"><span class="post_date">{when} <span'
            f' class="edit"></span></span></div><div class="post_body">The pump number {number}'
            ' hums since the lamp was moved.</div></div><div class="post_meta"><a'
            f' href="search.php?uid={number}">Find</a></div></div>'
        )

    html = (
        "<html><title>Pump</title><body><h1>Pump</h1><div"
        f" id=posts>{''.join(map(one, range(1, 7)))}</div></body></html>"
    )
    reading = read_page(html, "http://forum.example/showthread.php?tid=71&page=5", NOW)
    assert reading.kind is PageKind.thread
    posts = [post for post in reading.records if isinstance(post, PostRecord)]
    assert [post.author for post in posts] == [f"anna{number}" for number in range(1, 7)]
    assert all(
        post.posted is not None and f"number {number} hums" in post.text
        for number, post in enumerate(posts, 1)
    )


@pytest.mark.parametrize(
    ("shown", "zone", "posted"),
    [
        ('<span title="11-20-2026">Yesterday</span>, 10:15 PM', "UTC", "2026-11-20T22:15"),
        ('<span title="2026-11-20">昨天 22:15</span>', "Asia/Shanghai", "2026-11-20T14:15"),
        (
            '<time datetime="2026-11-20">Today, 10:15 PM</time>',
            "America/New_York",
            "2026-11-21T03:15",
        ),
        ('<span title="20.11.2026">Freitag, 22:15</span> Uhr', "Europe/Berlin", "2026-11-20T21:15"),
    ],
)
@pytest.mark.parametrize("later", [-1, 0, 1, 2, 30])
def test_the_date_of_a_tooltip_and_the_clock_of_its_text_are_one_time(
    shown: str, zone: str, posted: str, later: int
) -> None:
    def one(number: int) -> str:
        return (
            f'<div class="post" id="post_{number}"><strong><a href="member.php?uid={number}">'
            f"anna{number}</a></strong><span class=post_date>{shown}</span>"
            f"<div class=body>The pump number {number} hums since the lamp was moved.</div></div>"
        )

    html = f"<html><title>Pump</title><h1>Pump</h1>{''.join(map(one, range(1, 4)))}</html>"
    fetched_at = datetime(2026, 11, 21, 12, tzinfo=UTC) + timedelta(days=later)
    url = "http://forum.example/showthread.php?tid=71"
    reading = read_page(html, url, fetched_at, timezone=zone)
    posts = [post for post in reading.records if isinstance(post, PostRecord)]
    assert [f"{post.posted and post.posted.value:%Y-%m-%dT%H:%M}" for post in posts] == [posted] * 3
    assert [post.author for post in posts] == ["anna1", "anna2", "anna3"]


def test_replies_of_two_depths_with_ids_of_one_numbering_are_all_posts() -> None:
    def post(number: int, inner: str = "") -> str:
        head = (
            f'<div class="info">2026-03-0{number} 10:1{number}</div><strong><a'
            f' href="/user/{number}">writer{number}</a></strong>'
        )
        return (
            f'<div id="post_{number}" class="{"one" if inner else "sub"}">{head}<p>This is what'
            f" number {number} has to say.</p>{inner}</div>"
        )

    html = post(1, f"<div>{post(2)}{post(3)}{post(4)}</div>") + post(
        5, f"<div>{post(6)}{post(7)}</div>"
    )
    found = [
        record.text
        for record in read_page(html, "http://forum.example/topic/1", NOW).records
        if isinstance(record, PostRecord)
    ]
    assert found == [f"This is what number {number} has to say." for number in range(1, 8)]
