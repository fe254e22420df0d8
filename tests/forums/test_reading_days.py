"""Lists whose headers and headings contain information missing in their rows: dates above clock
times, the board in the header of the last post."""

from __future__ import annotations

from datetime import UTC, datetime

from forums.reading import BoardRecord, PageKind, ThreadRecord, read_page
from forums.reading.addresses import names_user
from forums.reading.patterns import leads_to

NOW = datetime(2024, 6, 20, 12, tzinfo=UTC)
DAYS = (
    ("June 18, 2024", ("23:10", "08:05")),
    ("March 4, 2024", ("17:44",)),
    ("November 30, 2023", ("19:01", "06:30", "00:15")),
)


def _by_days(clock_before: str = "") -> str:
    rows, number = [clock_before], 0
    for day, clocks in DAYS:
        rows.append(f"<tr><td colspan=4><h3>{day}</h3></td></tr>")
        for clock in clocks:
            number += 1
            rows.append(
                f"<tr><td>{clock}</td><td><a href='/log/{number}.html'>How to mend the old pump"
                f" {number}</a></td>"
                f"<td>{'anna ben carl'.split()[number % 3]}</td><td>{number * 3}</td></tr>"
            )
    head = "<tr><th>Last post</th><th>Topic</th><th>Author</th><th>Replies</th></tr>"
    return f"<html><title>Log</title><body><table>{head}{''.join(rows)}</table></body></html>"


def test_clock_times_are_of_the_day_above_them() -> None:
    reading = read_page(_by_days(), "https://a.example/log.html", NOW)
    assert reading.kind is PageKind.threadlist
    last = [
        record.last_reply.value
        for record in reading.records
        if isinstance(record, ThreadRecord) and record.last_reply
    ]
    assert [f"{value:%Y-%m-%d %H:%M}" for value in last] == [
        "2024-06-18 23:10",
        "2024-06-18 08:05",
        "2024-03-04 17:44",
        "2023-11-30 19:01",
        "2023-11-30 06:30",
        "2023-11-30 00:15",
    ]
    assert [record.replies for record in reading.records if isinstance(record, ThreadRecord)] == [
        3,
        6,
        9,
        12,
        15,
        18,
    ]


def test_a_clock_before_the_first_day_belongs_to_none() -> None:
    clock = "<tr><td>11:59</td><td>time of the server</td><td></td><td></td></tr>"
    reading = read_page(_by_days(clock), "https://a.example/log.html", NOW)
    told = [record.last_reply for record in reading.records if isinstance(record, ThreadRecord)]
    assert "2024-06-18 23:10" not in [f"{moment.value:%Y-%m-%d %H:%M}" for moment in told if moment]


def test_the_head_over_a_link_tells_that_it_names_the_last_thread_of_a_board() -> None:
    rows = "".join(
        f"<tr><td>2024-06-{at + 10} 10:15 <a href='/topics/{70 + at}'>A long title of a thread"
        f" {at}</a></td><td>{at * 90}</td><td>{at * 7}</td><td><a href='/forums/{at}'>Pumps"
        f" {at}</a><p>about pumps</p></td></tr>"
        for at in range(1, 6)
    )
    head = "<tr><th>Last post</th><th>Posts</th><th>Topics</th><th>Board</th></tr>"
    page = f"<html><title>Forums</title><body><table>{head}{rows}</table></body></html>"
    reading = read_page(page, "https://a.example/", NOW)
    assert reading.kind is PageKind.index
    boards = [
        (record.name, record.threads, record.posts)
        for record in reading.records
        if isinstance(record, BoardRecord)
    ]
    assert boards == [(f"Pumps {at}", at * 7, at * 90) for at in range(1, 6)]


def test_spaces_that_head_their_rows_are_boards() -> None:
    rows = "".join(
        f"<li><h3><a href='/space/{at}'>Pumps {at}</a> <small>({at * 7} Topics / {at * 90}"
        f" Posts)</small></h3><p>about pumps</p><p>Last post: <a href='/topic/{70 + at}'>A long"
        f" title of a thread {at}</a>, anna, 2024-06-{at + 10} 10:15</p></li>"
        for at in range(1, 6)
    )
    reading = read_page(
        f"<html><title>Forums</title><body><ul>{rows}</ul></body></html>",
        "https://a.example/start",
        NOW,
    )
    assert reading.kind is PageKind.index
    assert [record.url for record in reading.records] == [
        f"https://a.example/space/{at}" for at in range(1, 6)
    ]


def test_what_lies_below_a_person_is_no_person() -> None:
    assert names_user("https://a.example/space/7") and names_user(
        "https://a.example/user/12/page/3"
    )
    assert not names_user("https://a.example/space/7/entry/400")
    # what a guest is offered is no profile; a name that begins like it is one
    assert not any(
        names_user(f"https://a.example/{path}")
        for path in (
            "accounts/login/?next=/x",
            "users/sign_in",
            "user/register.php",
            "u/password_reset",
        )
    )
    assert names_user("https://a.example/users/login-fan/")


def test_the_number_of_a_board_outweighs_a_mode_called_thread() -> None:
    assert leads_to("a.example/index.php?frm_id=#&t=thread") == "board"
    assert leads_to("a.example/viewtopic.php?f=#&t=#") == "thread"


def test_a_term_for_the_author_names_nobody_and_the_last_reply_has_its_own_writer() -> None:
    people = ["anna", "ben", "carl", "dora"]
    rows = "".join(
        f"<section><h3><a href='/topic/{at}'>Как починить старый насос"
        f" {at}</a></h3><dl><dt>Последнее сообщение</dt><dd><time"
        f" datetime='2024-06-{10 + at}T10:15:00Z'>{10 + at}.06.2024 10:15</time> от"
        f" {people[at % 4]}</dd><dt>Ответы</dt><dd>{at}</dd><dt>Автор"
        f" темы</dt><dd>{people[(at + 1) % 4]}</dd></dl></section>"
        for at in range(8)
    )
    reading = read_page(
        f"<html><title>Насосы</title><body>{rows}</body></html>", "https://a.example/list", NOW
    )
    found = [
        (record.author, record.last_author)
        for record in reading.records
        if isinstance(record, ThreadRecord)
    ]
    assert found == [(people[(at + 1) % 4], people[at % 4]) for at in range(8)]
