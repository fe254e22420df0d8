"""Posts that a page marks by the vocabulary of schema.org."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from forums.reading import PageKind, PostRecord, read_page

NOW = datetime(2026, 11, 29, 9, tzinfo=UTC)
URL = "http://ask.example/index.php?qa=17"


def person(name: str) -> str:
    return (
        '<span itemprop="author" itemscope itemtype="https://schema.org/Person">'
        f'<a href="/user/{name}"><b itemprop="name">{name}</b></a></span>'
    )


def item(kind: str, prop: str, text: str, name: str, at: str, rest: str = "") -> str:
    return (
        f'<div itemprop="{prop}" itemscope itemtype="https://schema.org/{kind}">'
        f'<div><div itemprop="text"><p>{text}</p></div></div>'
        f'<p><time itemprop="dateCreated" datetime="{at}">a while</time> {person(name)} 0 ★</p>'
        f"{rest}</div>"
    )


def page(inside: str, outside: str = "") -> str:
    return (
        '<html itemscope itemtype="https://schema.org/QAPage"><head><title>Glim</title></head>'
        f"<body><ul><li><a href='/'>Vor</a></ul>{inside}{outside}</body></html>"
    )


QUESTION = item("Question", "mainEntity", "Fen?", "dmitri", "2026-11-28T03:02:57+0000")
ANSWER = item("Answer", "suggestedAnswer", "Rul.", "*", "2026-11-28T04:49:14+0000")


def posts(html: str, expect: PageKind | None = None) -> list[tuple[str | None, str, str]]:
    reading = read_page(html, URL, NOW, expect=expect)
    return [
        (one.author, f"{one.posted.value:%H:%M}" if one.posted else "", one.text)
        for one in reading.records
        if isinstance(one, PostRecord)
    ]


def test_short_posts_in_invented_words_are_read_by_their_marks() -> None:
    wanted = [("dmitri", "03:02", "Fen?"), ("*", "04:49", "Rul.")]
    assert posts(page(QUESTION + ANSWER)) == wanted
    assert posts(page(QUESTION)) == wanted[:1]
    assert posts(page(QUESTION.replace("Question", "DiscussionForumPosting"))) == wanted[:1]


def test_a_comment_below_an_answer_is_no_post_and_one_below_a_topic_is() -> None:
    note = item("Comment", "comment", "Ok.", "ana", "2026-11-28T05:00:00+0000")
    below = item("Answer", "suggestedAnswer", "Rul.", "*", "2026-11-28T04:49:14+0000", note)
    assert [text for *_, text in posts(page(QUESTION + below))] == ["Fen?", "Rul."]
    topic = QUESTION.replace("Question", "DiscussionForumPosting")
    assert [text for *_, text in posts(page(topic + note))] == ["Fen?", "Ok."]


@pytest.mark.parametrize(
    "html",
    [
        page(ANSWER, '<div itemscope itemtype="http://schema.org/BlogPosting">Vem</div>'),
        page(QUESTION, '<div itemscope itemtype="http://schema.org/Product">Vem</div>'),
        page(QUESTION + QUESTION.replace("Fen?", "Another matter?")),
        page("<p>See https://schema.org/Question</p>"),
    ],
)
def test_comments_on_something_else_and_lists_of_questions_are_no_thread(html: str) -> None:
    assert "marked" not in read_page(html, URL, NOW).evidence


def test_what_the_site_knows_of_the_address_comes_first() -> None:
    reading = read_page(page(QUESTION + ANSWER), URL, NOW, expect=PageKind.threadlist)
    assert "marked" not in reading.evidence


def test_marks_without_values_and_unclosed_items_do_no_harm() -> None:
    bare = '<div itemscope itemtype="https://schema.org/Question"><p itemprop="text">Fen?'
    assert [text for *_, text in posts(bare)] == ["Fen?"]
    assert posts('<div itemscope itemtype="schema.org/Question" itemprop="text author">') == []
