"""A page that shows one mail of a list's archive: its header lines (RFC 5322) and its text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from datetime import UTC, datetime
from email.utils import parseaddr, parsedate_to_datetime

from lxml.html import Element as new_element
from lxml.html import HtmlElement

from crawlmgr.text.dates import Moment
from forums.reading.document import Page
from forums.reading.model import PostRecord
from forums.reading.posts.texts import own_lines, text_of

_HEADER = re.compile(r"(from|to|cc|date|subject|sender|reply-to|message-id)\s*:\s*(.+)", re.I)
_APART = 1  # lines that may stand between two header lines
_LONGEST = 400


def mail_on(page: Page) -> tuple[HtmlElement, PostRecord] | None:
    """Returns the only mail of a page as (element of its header, record); None if the page has no
    header with a sender and a date as mails have it, or several of them."""
    found = [head for head in _heads(page) if {"from", "date"} <= head.keys()]
    if len(found) != 1:
        return None
    head = found[0]
    posted = _posted(head["date"][0])
    name, address = parseaddr(head["from"][0])
    if posted is None or not (name or address):
        return None
    first = min(node for _, node in head.values())
    last = max(node for _, node in head.values())
    top = first
    while not page.outline.contains(top, last):
        top = page.outline.parents[top]
    text = own_lines(text_of(_rest(page.outline.elements[top], head, page), set()))
    if not text:
        return None
    return page.outline.elements[top], PostRecord(name or address, posted, text)


def _heads(page: Page) -> Iterator[dict[str, tuple[str, int]]]:
    """Yields each group of adjacent header lines: value and node by lower-case name."""
    head: dict[str, tuple[str, int]] = {}
    gap = 0
    for start, end in page.lines:
        pieces = page.outline.pieces[start:end]
        line = " ".join(piece.text for piece in pieces) if pieces else ""
        told = _HEADER.match(line) if len(line) <= _LONGEST else None
        if told and told[1].lower() not in head:
            head[told[1].lower()] = (told[2], pieces[0].node)
            gap = 0
        elif head and (told or gap == _APART):
            yield head
            head = {told[1].lower(): (told[2], pieces[0].node)} if told else {}
            gap = 0
        else:
            gap += bool(head)
    if head:
        yield head


def _posted(value: str) -> Moment | None:
    try:
        at: datetime = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):
        return None
    return Moment(at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC), 1, False)


def _rest(top: HtmlElement, head: dict[str, tuple[str, int]], page: Page) -> HtmlElement:
    """Returns a copy of what follows the header on its level, up to the next rule that has text
    before it. `top` is the element around all header lines."""
    last = page.outline.elements[max(node for _, node in head.values())]
    if len(" ".join(top.text_content().split())) > sum(
        len(value) + 20 for value, _ in head.values()
    ):
        while last is not top and last.getparent() is not top:
            last = last.getparent()
        after = [one for one in last.itersiblings() if one.tag == "br"][:1]
        begin = after[0] if after else last
    else:
        begin = top
    made = new_element("div")
    made.text = begin.tail
    for one in begin.itersiblings():
        if one.tag == "hr" and made.text_content().strip():
            break
        made.append(deepcopy(one))
    return made
