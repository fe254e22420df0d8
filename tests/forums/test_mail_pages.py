"""Pages that show one mail of a list's archive."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from forums.reading import PageKind, PostRecord, read_page

NOW = datetime(2026, 11, 29, 9, tzinfo=UTC)
URL = "http://lists.example/archive/msg00003.html"
LINKS = "<p>[<a href='msg2.html'>Prev</a>][<a href='msg4.html'>Next</a>]</p>"
TEXT = "Hello,<br>one more thing.<br>"
FOLLOW = (
    "<hr><ul><li><a href='msg9.html'>Re: A matter</a><ul><li><em>From:</em> ola</li></ul></li></ul>"
)


def page(inside: str) -> str:
    return f"<html><head><title>A matter</title></head><body>{LINKS}{inside}</body></html>"


def line(name: str, value: str, tag: str = "em") -> str:
    return f"<{tag}>{name}</{tag}>: {value}"


FROM = line("From", "Anna Lind &lt;<a href='mailto:a@b.example'>a@b.example</a>&gt;")
DATE = line("Date", "Thu, 22 Oct 2026 18:44:12 +0200 (CEST)")
SUBJECT = line("Subject", "A matter")
LISTED = f"<ul><li>{SUBJECT}</li><li>{FROM}</li><li>{DATE}</li></ul>"


@pytest.mark.parametrize(
    "inside",
    [
        f"<h1>A matter</h1><hr>{LISTED}<hr><pre>Hello,\none more thing.\n</pre>{FOLLOW}",
        f"<div><address>{FROM}<br>{DATE}<br></address><br>{TEXT}</div>",
        f"<div>{SUBJECT}<br>{FROM}<br>{DATE}<br><br>{TEXT}</div>{FOLLOW}",
        f"<table><tr><td>{FROM}</td></tr><tr><td>{DATE}</td></tr></table><p>{TEXT}</p>{FOLLOW}",
    ],
)
def test_a_mail_is_a_thread_of_one_post(inside: str) -> None:
    reading = read_page(page(inside), URL, NOW)
    (post,) = reading.records
    assert isinstance(post, PostRecord) and reading.kind is PageKind.thread
    assert (post.author, post.text) == ("Anna Lind", "Hello,\none more thing.")
    assert post.posted is not None
    assert post.posted.value == datetime(2026, 10, 22, 16, 44, 12, tzinfo=UTC)
    assert post.posted.precision_seconds == 1


@pytest.mark.parametrize(
    "inside",
    [
        f"{LISTED}<pre>One.</pre><hr>{LISTED}<pre>Two.</pre>",
        f"<p>{FROM}</p><p>{line('Date', 'next week, at the old place')}</p><p>{TEXT}</p>",
        f"<p>{DATE}</p><p>{TEXT}</p>",
        LISTED,
    ],
)
def test_what_is_not_one_mail(inside: str) -> None:
    assert "mail" not in read_page(page(inside), URL, NOW).evidence


def test_an_address_alone_is_the_author() -> None:
    bare = LISTED.replace(FROM, line("From", "a@b.example"))
    (post,) = read_page(page(f"{bare}<pre>Hello</pre>"), URL, NOW).records
    assert isinstance(post, PostRecord) and post.author == "a@b.example"
