"""Wraps header and text of posts that have the form of mails ("From: anna", "Date: …", an empty
line, text) into elements, so that later steps find a header with a time above a text."""

from __future__ import annotations

import re
from collections import Counter

from lxml.html import Element as new_element
from lxml.html import HtmlElement

_MIN_LINES, _MAX_LINES = 2, 7  # smallest and largest number of lines of a mail header
_LABELLED = re.compile(r"^([^\W\d_][^:：\n]{0,15})[:：]\s*\S")
_FROM = re.compile(
    r"^(?:from|sender|author|von|absender|de|da|от|от кого|автор|od|van|fra|från|"
    r"发信人|發信人|寄信人|寄件者|发件人|作者|差出人|보낸 ?사람)$",
    re.I,
)
_CLOCK = re.compile(r"\b\d{1,2}:\d\d\b")
_INLINE = frozenset("a b i em strong u s span font small big tt code img q abbr time".split())


def part_heads(root: HtmlElement) -> None:
    """Splits each block of lines that begins with a mail header into an element for the header and
    one for the text. A header consists of two to seven labelled lines, of which one names the
    sender and one has a time of day. Modifies the tree.
    """
    breaks: Counter[HtmlElement] = Counter(element.getparent() for element in root.iter("br"))
    for block, number in breaks.items():
        if block is not None and number > _MIN_LINES:
            end = _end_of_head(block)
            if end is not None:
                _wrap(block, end)
    for block in list(root.iter("pre")):
        head, gap, text = (block.text or "").lstrip("\r\n").replace("\r", "").partition("\n\n")
        if gap and (text.strip() or len(block)) and _is_head(head.split("\n")):
            _wrap_preformatted(block, head, text)


def _is_head(lines: list[str]) -> bool:
    labels = [found[1] for line in lines if (found := _LABELLED.match(line.strip()))]
    if not _MIN_LINES <= len(lines) <= _MAX_LINES or len(labels) < len(lines):
        return False
    told = any(
        _FROM.match("".join(label.split())) or _FROM.match(label.strip()) for label in labels
    )
    return told and any(_CLOCK.search(line) for line in lines)


def _end_of_head(block: HtmlElement) -> int | None:
    """Returns the index of the child (a line break) after which the empty line below a block's
    header begins; None if the block does not begin with a header."""
    line, lines = block.text or "", []
    for at, child in enumerate(block):
        if child.tag != "br":
            if child.tag not in _INLINE:
                return None
            line += f"{child.text_content()}{child.tail or ''}"
        elif line.strip():
            lines.append(line)
            line = child.tail or ""
            if len(lines) > _MAX_LINES:
                return None
        elif lines:
            return at if _is_head(lines) else None
        else:
            line = child.tail or ""
    return None


def _wrap(block: HtmlElement, end: int) -> None:
    top, below, children = new_element("div"), new_element("div"), list(block)
    top.text, block.text = block.text, None
    below.text, children[end].tail = children[end].tail, None
    top.extend(children[: end + 1])
    below.extend(children[end + 1 :])
    block.extend((top, below))


def _wrap_preformatted(block: HtmlElement, head: str, text: str) -> None:
    top, below, children = new_element("div"), new_element("pre"), list(block)
    block.tag = "div"
    block.text = None
    for line in head.split("\n"):
        row = new_element("div")
        row.text = line
        top.append(row)
    below.text = text
    below.extend(children)
    block.extend((top, below))
