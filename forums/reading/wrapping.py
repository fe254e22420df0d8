"""Wraps records that are separated only by line breaks or rules (<hr>) into elements, so that later
steps find them as rows and posts. Such records are lines of text around links, successive messages
of mail archives, and header and text of posts in the form of mails."""

from __future__ import annotations

import re
from collections import Counter
from typing import TypeAlias
from urllib.parse import urljoin

from lxml.html import Element as new_element
from lxml.html import HtmlElement

from forums.reading.patterns import patterns

FEWEST = 2  # A block needs at least this number of records and of line breaks.


LONGEST = 400  # largest mean number of characters of a record, without its link


MAX_LINES = 5  # largest number of lines of one record


Part: TypeAlias = str | HtmlElement


Line: TypeAlias = list[Part]


_FIELDS = re.compile(r"\s*(?:\t|\s{2,}|\s[|·•–—-]\s|[|·•])\s*|\s+(?=[(\[（【])|(?<=[)\]）】])\s+")


_BREAKS = frozenset({"br", "hr"})


def part_lines(root: HtmlElement, base: str) -> None:
    """Wraps each record of a block of lines in an element, and the fields of its text in further
    elements. Modifies the tree.

    A block qualifies if at least FEWEST of its lines contain links of one address pattern and most
    of these have numbers beside the link; other blocks stay unchanged. Messages separated only by
    rules (<hr>) are wrapped too (see `part_messages`). `base` is the address to which relative
    links refer.
    """
    part_messages(root)
    for block in _blocks(root):
        lines = _lines(block)
        heads = _heads(lines, base)
        if heads and _are_records(lines, heads):
            _wrap(block, lines, heads)


def _blocks(root: HtmlElement) -> list[HtmlElement]:
    """Returns the elements that may hold a list as lines of text: <pre> or at least two line
    breaks, and at least two links."""
    breaks: Counter[HtmlElement] = Counter(element.getparent() for element in root.iter("br", "hr"))
    found = [
        element for element, number in breaks.items() if element is not None and number >= FEWEST
    ]
    for element in root.iter("pre"):
        while len(element) == 1 and element[0].tag != "a" and not (element.text or "").strip():
            element = element[0]
        if element not in found:
            found.append(element)
    return [element for element in found if sum(1 for _ in element.iter("a")) >= FEWEST]


def _lines(block: HtmlElement) -> list[Line]:
    """Returns the lines of a block: what is between its line breaks, each line as a list of texts
    and child elements."""
    kept = any(above.tag == "pre" for above in (block, *block.iterancestors()))
    lines: list[Line] = [[]]

    def add(text: str | None) -> None:
        parts = (text or "").split("\n") if kept else [text or ""]
        for at, part in enumerate(parts):
            if at:
                lines.append([])
            if part.strip():
                lines[-1].append(part)

    add(block.text)
    for child in block:
        if child.tag in _BREAKS:
            lines.append([])
        elif isinstance(child.tag, str):
            lines[-1].append(child)
        add(child.tail)
    return lines


def _link(line: Line) -> HtmlElement | None:
    """Returns the first link in a line that has an address and a letter in its text; None if there
    is none."""
    for part in line:
        if isinstance(part, str):
            continue
        for link in part.iter("a"):
            if link.get("href") and any(char.isalpha() for char in _text(link)):
                return link
    return None


def _text(element: HtmlElement) -> str:
    return " ".join(" ".join(element.itertext()).split())


def _heads(lines: list[Line], base: str) -> list[int]:
    """Returns the indices of the lines that begin a record: those whose first link has the most
    frequent address pattern. Empty if these are fewer than FEWEST, or if fewer than 80 % of them
    lead to different pages."""
    found: dict[int, str] = {}
    for at, line in enumerate(lines):
        link = _link(line)
        if link is not None:
            try:
                found[at] = urljoin(base, (link.get("href") or "").strip())
            except ValueError:
                continue
    if len(found) < FEWEST:
        return []
    named = patterns(found.values())
    best, number = Counter(named[url] for url in found.values()).most_common(1)[0]
    heads = [at for at, url in found.items() if named[url] == best]
    return heads if number >= FEWEST and len({found[at] for at in heads}) >= 0.8 * number else []


def _are_records(lines: list[Line], heads: list[int]) -> bool:
    """Tells whether lines are records that begin at the indices `heads`: most have a number beside
    their link, they have at most LONGEST characters on average, and at most a tenth of their parts
    are already in block elements.
    """
    numbered = total = 0
    for at, end in _spans(lines, heads):
        link = _link(lines[at])
        whole = " ".join(
            part if isinstance(part, str) else _text(part)
            for line in lines[at:end]
            for part in line
        )
        rest = whole.replace(_text(link), " ", 1) if link is not None else whole
        numbered += any(map(str.isdigit, rest))
        total += len(rest)
    within = sum(
        isinstance(part, str) or part.tag not in _BLOCKS for at in heads for part in lines[at]
    )
    parts = sum(len(lines[at]) for at in heads)
    enough = 0.6 * len(heads) if len(heads) > 3 else len(heads)
    return numbered >= enough and total <= LONGEST * len(heads) and within >= 0.9 * parts


_BLOCKS = frozenset(
    {"table", "div", "ul", "ol", "dl", "form", "section", "article", "p", "td", "tr"}
)


def _spans(lines: list[Line], heads: list[int]) -> list[tuple[int, int]]:
    """Returns the line range (start, end) of each record: from its index in `heads` to the next
    one, at most MAX_LINES; for the last record the median length of the other ones."""
    gaps = sorted(b - a for a, b in zip(heads, heads[1:], strict=False))
    usual = min(gaps[len(gaps) // 2], MAX_LINES)
    ends = [
        *(min(b, a + MAX_LINES) for a, b in zip(heads, heads[1:], strict=False)),
        heads[-1] + usual,
    ]
    return [(at, min(end, len(lines))) for at, end in zip(heads, ends, strict=True)]


def _wrap(block: HtmlElement, lines: list[Line], heads: list[int]) -> None:
    ends = dict(_spans(lines, heads))
    for child in list(block):
        child.tail = None
        block.remove(child)
    block.text = None
    at = 0
    while at < len(lines):
        end = ends.get(at)
        if end is None:
            row = new_element("div")
            _fill(row, lines[at], fields=False)
            at += 1
        else:
            row = new_element("div")
            filled = [line for line in lines[at:end] if line]
            for line in filled:
                inner = row if len(filled) == 1 else new_element("div")
                _fill(inner, line, fields=True)
                if inner is not row:
                    row.append(inner)
            at = end
        if len(row) or row.text:
            block.append(row)


def _fill(element: HtmlElement, line: Line, fields: bool) -> None:
    """Puts the parts of a line into an element; with `fields`, each field of a text (separated by
    bars, tabs, brackets and the like) into a span of its own."""
    for part in line:
        if not isinstance(part, str):
            element.append(part)
            continue
        if not fields:
            _append(element, part)
            continue
        start = 0
        for gap in (*_FIELDS.finditer(part), None):
            text = part[start : gap.start() if gap else len(part)]
            if any(map(str.isalnum, text)):
                span = new_element("span")
                span.text = text.strip()
                span.tail = f" {gap.group()}" if gap else " "
                element.append(span)
            else:  # The text is only a separator between fields.
                _append(element, text + (gap.group() if gap else ""))
            start = gap.end() if gap else start


def _append(element: HtmlElement, text: str) -> None:
    if len(element):
        element[-1].tail = (element[-1].tail or "") + text
    else:
        element.text = (element.text or "") + text


LONGEST_HEAD_LINE = 160


_INLINE = frozenset(
    "a b i em strong u s span font small big tt code sub sup img br cite q abbr time".split()
)


def part_messages(root: HtmlElement) -> None:
    """Gives elements of their own to messages that a block contains only as bare text separated by
    rules (<hr>), as in mail archives: an element for each message, and in it one for the header
    (short lines) and one for the text (which follows an empty line). Modifies the tree."""
    rules: Counter[HtmlElement] = Counter(element.getparent() for element in root.iter("hr"))
    for block, number in rules.items():
        if block is None or number < FEWEST:
            continue
        found = [message for message in map(_message, _runs(block)) if message]
        if len(found) >= FEWEST and len(found) >= number - 2:
            for rule, head, text in found:
                _wrap_message(rule, head, text)


def _runs(block: HtmlElement) -> list[tuple[HtmlElement, list[HtmlElement]]]:
    """Returns a pair for each `<hr>` in a block: the `<hr>` itself, and the inline elements and
    `<br>`s that follow it up to the first block element."""
    runs: list[tuple[HtmlElement, list[HtmlElement]]] = []
    open_run = False
    for child in block:
        if child.tag == "hr":
            runs.append((child, []))
            open_run = True
        elif isinstance(child.tag, str) and child.tag not in _INLINE:
            open_run = False
        elif open_run:
            runs[-1][1].append(child)
    return runs


def _message(
    run: tuple[HtmlElement, list[HtmlElement]],
) -> tuple[HtmlElement, list[HtmlElement], list[HtmlElement]] | None:
    """Splits one result of `_runs` into the `<hr>`, the elements of the header (up to the `<br>`
    that begins the empty line after it), and the elements of the text; None if it is not a message
    with a header that contains digits.
    """
    rule, children = run
    line, lines = rule.tail or "", []
    for at, child in enumerate(children):
        if child.tag != "br":
            line += f"{_text(child) if isinstance(child.tag, str) else ''}{child.tail or ''}"
        elif line.strip():
            lines.append(line)
            line = child.tail or ""
        else:
            told = any(char.isdigit() for head in lines for char in head)
            if not told or len(lines) > MAX_LINES or max(map(len, lines)) > LONGEST_HEAD_LINE:
                return None
            written = (child.tail or "").strip() or any(
                _text(part) or (part.tail or "").strip() for part in children[at + 1 :]
            )
            return (rule, children[: at + 1], children[at + 1 :]) if written else None
    return None


def _wrap_message(rule: HtmlElement, head: list[HtmlElement], text: list[HtmlElement]) -> None:
    whole, top, below = new_element("div"), new_element("div"), new_element("div")
    top.text, rule.tail = rule.tail, None
    rule.addnext(whole)
    below.text, head[-1].tail = head[-1].tail, None
    for child in head:
        top.append(child)
    for child in text:
        below.append(child)
    whole.extend((top, below))


_MIN_LINES, _MAX_LINES = 2, 7  # smallest and largest number of lines of a mail header


_LABELLED = re.compile(r"^([^\W\d_][^:：\n]{0,15})[:：]\s*\S")


_FROM = re.compile(
    r"^(?:from|sender|author|autor[ae]?|auteur|von|absender|de|da|от|от кого|автор|od|van|fra|från|"
    r"发信人|發信人|寄信人|寄件者|发件人|作者|差出人|보낸 ?사람)$",
    re.I,
)


_CLOCK = re.compile(r"\b\d{1,2}:\d\d\b")


_INLINE_OF_MAIL = frozenset(
    "a b i em strong u s span font small big tt code img q abbr time".split()
)


def part_heads(root: HtmlElement) -> None:
    """Splits each block of lines that begins with a header as in mails into an element for the
    header and one for the text. A header consists of two to seven labelled lines, of which one has
    a time of day, and one names the sender or the labels are the same in several blocks. Modifies
    the tree.
    """
    breaks: Counter[HtmlElement] = Counter(element.getparent() for element in root.iter("br"))
    found = [
        (block, *top)
        for block, number in breaks.items()
        if block is not None and number > _MIN_LINES and (top := _head_of(block))
    ]
    known = Counter(labels for _, _, labels in found)
    for block, end, labels in found:
        if known[labels] > 1 or _names_sender(labels):
            _wrap_mail(block, end)
    for block in list(root.iter("pre")):
        head, gap, text = (block.text or "").lstrip("\r\n").replace("\r", "").partition("\n\n")
        if gap and (text.strip() or len(block)) and _names_sender(_labels(head.split("\n"))):
            _wrap_preformatted_mail(block, head, text)


def _labels(lines: list[str]) -> tuple[str, ...]:
    """Returns the labels of the lines of a header; () if the lines are none."""
    labels = [found[1].strip() for line in lines if (found := _LABELLED.match(line.strip()))]
    if not _MIN_LINES <= len(lines) <= _MAX_LINES or len(labels) < len(lines):
        return ()
    return tuple(labels) if any(_CLOCK.search(line) for line in lines) else ()


def _names_sender(labels: tuple[str, ...]) -> bool:
    return any(_FROM.match("".join(label.split())) or _FROM.match(label) for label in labels)


def _head_of(block: HtmlElement) -> tuple[int, tuple[str, ...]] | None:
    """Returns the index of the child (a line break) after which the empty line below a block's
    header begins, and the labels of the header; None if the block does not begin with one."""
    line, lines = block.text or "", []
    for at, child in enumerate(block):
        if child.tag != "br":
            if child.tag not in _INLINE_OF_MAIL:
                return None
            line += f"{child.text_content()}{child.tail or ''}"
        elif line.strip():
            lines.append(line)
            line = child.tail or ""
            if len(lines) > _MAX_LINES:
                return None
        elif lines:
            labels = _labels(lines)
            return (at, labels) if labels else None
        else:
            line = child.tail or ""
    return None


def _wrap_mail(block: HtmlElement, end: int) -> None:
    top, below, children = new_element("div"), new_element("div"), list(block)
    top.text, block.text = block.text, None
    below.text, children[end].tail = children[end].tail, None
    top.extend(children[: end + 1])
    below.extend(children[end + 1 :])
    block.extend((top, below))


def _wrap_preformatted_mail(block: HtmlElement, head: str, text: str) -> None:
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
