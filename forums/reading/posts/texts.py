"""The text of a post as displayed: lines without quotes, signature, notes of edits and buttons."""

from __future__ import annotations

import re
from collections import Counter

from lxml.html import HtmlElement

from crawlmgr.web.pages.outline import BLOCKS
from forums.reading.posts.quotes import is_edit_line, is_head
from forums.reading.words import SAID

_SILENT = frozenset(
    {
        "script",
        "style",
        "noscript",
        "template",
        "textarea",
        "select",
        "button",
        "svg",
        "object",
        "iframe",
    }
)
_SIGNATURE = re.compile(r"^(?:_{8,}|-{12,}|-- ?)$", re.M)
# a line that quotes another, as in mails; ">>12" is only a reference to a post
_REPEATED = re.compile(r"^(?:>|&gt;)+(?!>?>?\d+$)")
_REPEATED_BELOW = re.compile(
    r"^[:：|](?:\s|$)"
)  # a quoted line marked by ":" or "|", below a line that names its author
_REFERENCE = re.compile(r"^(?:>>|»)\s*\d+(?:\s*\(\w{1,4}\))?$")
_BY_SOURCE = re.compile(
    r"\n[ \t]*\r?\n[ \t]*\S|\n[ \t]*--[ \t]*\r?\n|\n[ \t]*>+ ?\S"
    # matches texts whose line breaks are to be kept: an empty line, dashes before a signature, or a
    # quoting line
)
_SENT = re.compile(
    r"^(?:※\s?|(?:sent|posted|written) (?:from|via|with) (?:my |the |an? )?\S+|(?:von|mit) mein\w+"
    r" \S+(?: \S+)* gesendet|"
    r"gesendet (?:von|mit) |envoyé (?:de|depuis) mon|enviado desde|отправлено (?:с|из)"
    r" |发自|發自|.{0,3}来自.{1,20}客户端|"
    r"\[(?:from|来自)[:：])",
    re.I,
)
_LONGEST_HEAD = 120
_LONGEST_SENT = 60
_QUOTE = "\x00"


def text_of(
    element: HtmlElement, left_out: set[HtmlElement], quotes: set[HtmlElement] | None = None
) -> str:
    """Returns the text of an element as displayed, one line per block, without the elements
    `left_out` and `quotes`. A line such as "anna wrote:" or ">>12" directly before a quote is
    removed too. Quoting lines as in mails ("> …") are left out unless nothing else remains."""
    parts: list[str] = []
    _collect(element, left_out, quotes or set(), parts)
    kept: list[str] = []
    repeated: list[str] = []
    below = False  # whether the line before introduced a quote or belonged to one
    for line in "".join(parts).split("\n"):
        line = " ".join(line.split())
        if line == _QUOTE:
            if (
                kept
                and len(kept[-1]) <= _LONGEST_HEAD
                and (SAID.search(kept[-1]) or _introduces(kept[-1]))
            ):
                kept.pop()
        elif (
            _REPEATED.match(line)
            or _REPEATED_BELOW.match(line)
            and (below or bool(kept) and _introduces(kept[-1]))
        ):
            if kept and not below and _introduces(kept[-1]):
                kept.pop()
            repeated.append(line)
            below = True
            continue
        elif line:
            kept.append(line)
        else:
            continue
        below = False
    return "\n".join(kept or repeated)


def _introduces(line: str) -> bool:
    return len(line) <= _LONGEST_HEAD and (is_head(line) or bool(_REFERENCE.match(line)))


def _collect(
    root: HtmlElement, left_out: set[HtmlElement], quotes: set[HtmlElement], parts: list[str]
) -> None:
    stack: list[tuple[HtmlElement, bool]] = [(root, False)]
    while stack:
        element, done = stack.pop()
        is_block = element.tag in BLOCKS
        if done:
            if is_block:
                parts.append("\n")
            if element is not root:
                parts.append(_flat(element.tail))
            continue
        if element in quotes:
            parts.append(f"\n{_QUOTE}\n")
        silent = not isinstance(element.tag, str) or element.tag in _SILENT or _is_control(element)
        if silent or element in left_out or element in quotes:
            if element is not root:
                parts.append(_flat(element.tail))
            continue
        if is_block:
            parts.append("\n")
        parts.append(element.text or "" if element.tag == "pre" else _flat(element.text))
        stack.append((element, True))
        stack.extend((child, False) for child in reversed(element))


def _is_control(element: HtmlElement) -> bool:
    """Tells whether an element is a link that leads to no other page and whose text has no letters
    or digits, such as a "..." that unfolds a quote."""
    if element.tag != "a" or not (element.get("href") or "#").startswith(("#", "javascript:")):
        return False
    return len(element) == 0 and not any(map(str.isalnum, element.text or ""))


def _flat(text: str | None) -> str:
    if not text:
        return ""
    if "\n" in text and _BY_SOURCE.search(text):
        return text.replace("\r", "").replace("\t", " ")
    return text.replace("\n", " ").replace("\r", " ").replace("\t", " ")


def own_lines(text: str) -> str:
    """Returns a text without its signature, and without notes of edits and of the sending device
    ("Sent from my phone") at its beginning and end."""
    lines = (
        _SIGNATURE.split(text, maxsplit=1)[0].rstrip().split("\n")
        if not _SIGNATURE.match(text)
        else text.split("\n")
    )
    while lines and (is_edit_line(lines[-1]) or len(lines) > 1 and _is_sent(lines[-1])):
        lines.pop()
    while len(lines) > 1 and is_edit_line(lines[0]):
        lines.pop(0)
    return "\n".join(lines)


def _is_sent(line: str) -> bool:
    return len(line) <= _LONGEST_SENT and bool(_SENT.match(line))


def without_last_of_all(texts: list[str]) -> list[str]:
    """Returns the posts' texts. If at least 60 % of them, and at least two, have more than one line
    and the same last line (a signature, an invitation to reply, a notice), that line is removed
    from them."""
    lasts = Counter(text.rsplit("\n", 1)[1] for text in texts if "\n" in text)
    line, times = max(lasts.items(), key=lambda item: item[1], default=("", 0))
    if times < 2 or times * 5 < 3 * len(texts) or len(line) < 4:
        return texts
    return [text[: -len(line) - 1] if text.endswith("\n" + line) else text for text in texts]
