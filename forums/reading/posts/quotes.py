"""Finds parts of a post's text that its author did not write there: quotes, by their tags, classes
or introducing lines; signatures; notes of edits."""

from __future__ import annotations

import re

from lxml.html import HtmlElement

from forums.reading.document import Page
from forums.reading.words import EDIT_LINE, NOT_NAMES, QUOTED, class_roles

_BOXES = frozenset(
    {
        "div",
        "table",
        "fieldset",
        "details",
        "section",
        "aside",
        "pre",
        "dl",
        "figure",
        "center",
        "ul",
    }
)
_SIGNED = re.compile(r"(?:^|[\s_-])sig(?:nature)?(?:$|\s)", re.I)
_SAID = (
    r"(?:(?:has |hat |ha |a"
    r" )?(?:wrote|written|writes|said|says|posted|schrieb|geschrieben|écrit|dit|escribió|dijo"
    r"|scritto|"
    r"escreveu|disse|писал\(?а?\)?|написал\(?а?\)?|сказал\(?а?\)?|napisał\(?a?\)?|schreef|skrev"
    r"|kirjoitti|yazdı)|"
    r"写[道到]|寫[道到]|说|說|说道|发表[的于]?|發表於?|さんは書きました|님이 작성)"
)
_WORDS = (
    r"(?:quot(?:e|ed|ing)|zitat|citation|cita|citação|citazione|citat|citaat|cytat|цитата"
    r"|alıntı|lainaus|引用|引文|인용)"
)
_BY = (
    r"(?:(?:originally )?(?:posted|written) by|original(?:ly)? (?:von|de|by)|(?:ursprünglich"
    r" )?geschrieben von|ursprünglich von|"
    r"zitat von|envoyé par|escrito originalmente por|сообщение от|原帖由|原文由|reply to|replying"
    r" to|antwort (?:auf|an)|"
    r"ответ для|回[复覆] ?(?:第|(?=@)))"
)
_MARKED = (  # what may follow a word for quotes: punctuation or a number, then any text
    r"\s*[:：(（@#\[\d第\"“].{0,100}$"
)
_FROM = r"\s*(?:from|by|von|de|от|di|av|van)\b.{1,60}$"
_WHEN = r"\W{0,3}(?:(?:on|am|le|el|at)\s)?(?:\w{2,9}[., ]+){0,2}\d[^!?]{0,40}$"
_HEADS = (
    re.compile(
        rf"^\W{{0,3}}{_WORDS}(?:\s\w{{2,12}}(?=\s*\())?(?:\W{{0,4}}$|{_MARKED}|{_FROM}"
        rf"|.{{1,60}}[:：]$)",
        re.I,
    ),
    re.compile(rf"^\W{{0,3}}{_BY}\s*\S+(?: \S+){{0,9}}$", re.I),
    re.compile(
        rf"^(?:[^.!?]|\.(?=\d)){{1,90}}?[\s,]{_SAID}(?:\s?\W{{0,3}}$|[^.!?]{{0,60}}[:：]$|{_WHEN})",
        re.I,
    ),
    re.compile(rf"^\S{{1,24}}\s*{_SAID}\s*[:：]?$", re.I),
    re.compile(r"^【\s*在\s.{1,80}提到\s*[:：]?\s*】$"),
)
LONGEST_HEAD = 140
ATTACHED = re.compile(
    r"(?:^|[\s_-])attach(?:ments?|ed)?(?![a-z])|(?:^|\s)file-?(?:s|list|info)(?:$|\s)", re.I
)


def is_head(line: str) -> bool:
    """Tells whether a line introduces a quote: "Quote (anna)", "anna wrote:", "引用 3 楼"."""
    line = line.strip()
    return 0 < len(line) <= LONGEST_HEAD and any(head.match(line) for head in _HEADS)


def _first_line(page: Page, node: int) -> tuple[str, int]:
    """Returns the first line of an element's text, and the index in `outline.pieces` of the first
    text piece after it."""
    outline = page.outline
    at, end = outline.piece_from[node], outline.piece_to[node]
    first = outline.pieces[at].line
    after = at
    while after < end and outline.pieces[after].line == first:
        after += 1
    return " ".join(outline.pieces[piece].text for piece in range(at, after)), after


def _begins_as_quote(page: Page, node: int) -> bool:
    """Tells whether an element begins with a line that introduces a quote and has more text after
    it."""
    outline = page.outline
    if outline.tags[node] not in _BOXES or outline.piece_from[node] == outline.piece_to[node]:
        return False
    line, after = _first_line(page, node)
    if is_head(line) and after < outline.piece_to[node]:
        return True
    text = outline.text(node)
    found = QUOTED.match(text[:80])
    return found is not None and found.group()[-1] in ":：" and found.end() < len(text)


def _stands_below_head(page: Page, node: int, body: int) -> bool:
    """Tells whether an element such as a <div> or table comes right after a line that introduces a
    quote, and is followed by more of the post's text (node `body`): then the element is the quote.
    """
    outline = page.outline
    before, after = outline.piece_from[node] - 1, outline.piece_to[node]
    if (
        outline.tags[node] not in _BOXES
        or before < outline.piece_from[body]
        or after >= outline.piece_to[body]
    ):
        return False
    start = page.line_range.get(outline.pieces[before].line, (before, before))[0]
    return is_head(
        " ".join(
            piece.text
            for piece in outline.pieces[max(start, outline.piece_from[body]) : before + 1]
        )
    )


def _begins_with_author(page: Page, node: int, body: int, authors: frozenset[str]) -> bool:
    """Tells whether an element such as a <div> is a quote of the form "anna: what she wrote": its
    first text is the name of one of the `authors` with a colon, it contains more text, and the post
    (node `body`) has further text after it.
    """
    outline = page.outline
    first, end = outline.piece_from[node], outline.piece_to[node]
    if outline.tags[node] not in _BOXES or end - first < 2 or end >= outline.piece_to[body]:
        return False
    said = outline.pieces[first].text.rstrip()
    return said[-1:] in (":", "：") and said[:-1].rstrip() in authors


def class_and_role(page: Page, node: int) -> str:
    """Returns the classes of an element and its `data-role` attribute, as one string."""
    role = page.outline.elements[node].get("data-role")
    return f"{page.outline.classes[node]} {role}" if role else page.outline.classes[node]


def is_own_blockquote(classes: str) -> bool:
    """Tells whether the first class of a blockquote says that it is the post's own text, as
    "messageText" or "postMessage" do."""
    first = class_roles(classes.split(maxsplit=1)[0]) if classes.strip() else frozenset()
    return "body" in first and "quote" not in first


def is_quote(page: Page, node: int, body: int, authors: frozenset[str]) -> bool:
    """Tells whether an element inside a post's text (node `body`) is a quote: by its tag or class,
    by a line before it that introduces a quote, or because it begins with such a line or with one
    of the `authors`.

    If several nested elements begin with the same introducing line, the innermost that contains
    more than that line is the quote; the outer ones contain the reply too.
    """
    outline = page.outline
    roles = class_roles(outline.classes[node])
    if outline.tags[node] == "blockquote" or "quote" in roles:
        return not (outline.tags[node] == "blockquote" and is_own_blockquote(outline.classes[node]))
    if outline.tags[node] not in _BOXES or outline.text_length(node) >= outline.text_length(body):
        return False
    if _stands_below_head(page, node, body) or _begins_with_author(page, node, body, authors):
        return True
    if not _begins_as_quote(page, node):
        return False
    inner = outline.pieces[outline.piece_from[node]].node
    whole = outline.piece_to[node]
    while inner > node:
        if outline.piece_to[inner] < whole and _begins_as_quote(page, inner):
            return False
        inner = outline.parents[inner]
    after = _first_line(page, node)[1]
    below = outline.pieces[after].node if after < whole else node
    while outline.parents[below] > node:
        below = outline.parents[below]
    return not (
        below > node and _stands_below_head(page, below, node) and not _begins_as_quote(page, below)
    )


def is_edit_line(text: str) -> bool:
    """Tells whether a text of less than 200 characters begins as a note that the post was
    edited."""
    return len(text) < 200 and bool(EDIT_LINE.match(text))


def left_out(
    page: Page, body: int, authors: frozenset[str]
) -> tuple[set[HtmlElement], set[HtmlElement]]:
    """Returns the elements inside a post's text (node `body`) that are not its author's words:
    (quotes, others): quotes of other posts; and signatures, edit notes, attachments, and links for
    replying and similar actions. `authors` are the names of the authors on the page."""
    outline, quotes, others = page.outline, set(), set()
    whole = outline.piece_from[body], outline.piece_to[body]
    node = body + 1
    while node < outline.ends[body]:
        pieces = outline.piece_from[node], outline.piece_to[node]
        if pieces == whole or pieces[0] == pieces[1]:
            node += 1  # An element that contains the whole text is not a quote in it.
            continue
        element = outline.elements[node]
        roles = class_roles(class_and_role(page, node))
        if is_quote(page, node, body, authors):
            quotes.add(element)
            node = outline.ends[node]
            continue
        if (
            roles & {"signature", "edit"}
            and not roles & {"body"}
            or _SIGNED.search(outline.classes[node])
            or ATTACHED.search(outline.classes[node])
            and outline.tags[node] in _BOXES
            or is_edit_line(outline.text(node))
        ):
            others.add(element)
        node += 1
    return quotes, others | _action_links(page, body)


_OFFERS = re.compile(
    r"repl(?:y|ies)|quot|report|edit|delete|post(?:ing)?[/_=]?(?:add|new)|respond|action=|mode="
    r"|like|share|vote|flag",
    re.I,
)


def _action_links(page: Page, body: int) -> set[HtmlElement]:
    """Returns the links at the end of a post's text for replying to, quoting or reporting it."""
    outline, found = page.outline, set()
    for piece in range(outline.piece_to[body] - 1, outline.piece_from[body] - 1, -1):
        link = page.piece_link.get(piece)
        if (
            link is None
            or link.node <= body
            or len(link.text) > 30
            or not (
                link.text.lower() in NOT_NAMES
                or _OFFERS.search(link.url.partition("//")[2].partition("/")[2])
            )
        ):
            break
        found.add(outline.elements[link.node])
    return found
