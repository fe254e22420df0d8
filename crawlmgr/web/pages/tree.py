"""The tree of a page, built here for every reader, within bounds: parsers take minutes for
pathological pages. No Django."""

from __future__ import annotations

import re
from itertools import islice

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring

READ_IN_PART = "read_in_part"  # reason code of a page of which only the beginning was read
MAX_CHARS = 4_000_000
MAX_TAGS = 150_000
# value of `max_tags`, below MAX_TAGS, for callers that check each tag against many rules; real
# forum pages have up to some 15,000 tags
READ_TAGS = 20_000
MAX_OPEN = (
    512  # elements open at the same time, that is the nesting depth; browsers have the same limit
)
_CHECKED_TAGS = 1_000
_LONG_TAG_CHARS = 20_000
_MAX_ATTRIBUTES = 1_000
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)")
# Elements that do not count for the nesting depth: those without content, and those that the next
# one of their kind closes.
_SHALLOW = frozenset(
    """
        area base br col embed hr img input link meta param source track wbr p li td th tr dd dt
        option thead tbody tfoot html head body script style
    """.split()
)


def bounded_markup(html: str, max_tags: int = MAX_TAGS) -> tuple[str, bool]:
    """Returns `html`, truncated where it exceeds a limit, and whether anything was removed. The
    limits: MAX_CHARS characters, `max_tags` tags, MAX_OPEN nested elements. Tags with more than
    1,000 attributes in more than 20,000 characters are removed. Takes time linear in the length,
    tens of milliseconds per megabyte.

    >>> bounded_markup("<p>one</p>"), bounded_markup("<div>" * 5_000)[1]
    (('<p>one</p>', False), True)
    """
    cut = len(html) > MAX_CHARS
    html = html[:MAX_CHARS]
    if html.count("<") < _CHECKED_TAGS and len(html) < _LONG_TAG_CHARS:
        return html, cut
    if len(html) >= _LONG_TAG_CHARS:
        html, endless = _without_endless_tags(html)
        cut = cut or endless
    opened: dict[str, int] = {}
    depth = 0
    for number, (closing, name) in enumerate(_TAG.findall(html)):
        if number >= max_tags or depth > MAX_OPEN:
            return html[: next(islice(_TAG.finditer(html), number, None)).start()], True
        name = name.lower()
        if name in _SHALLOW:
            continue
        if not closing:
            opened[name] = opened.get(name, 0) + 1
            depth += 1
        elif opened.get(name, 0):
            opened[name] -= 1
            depth -= 1
    return html, cut


def exceeds(html: str) -> bool:
    """Tells whether readers that check each tag against many rules read only the beginning of a
    page."""
    return bounded_markup(html, READ_TAGS)[1]


def _without_endless_tags(html: str) -> tuple[str, bool]:
    """Returns `html` without the tags that have both more than 20,000 characters and more than
    1,000 attributes, and whether there were any. The text from such a tag to the next one is
    removed with it."""
    pieces = html.split("<")
    kept = [
        piece
        for piece in pieces
        if len(piece) <= _LONG_TAG_CHARS or piece.partition(">")[0].count("=") <= _MAX_ATTRIBUTES
    ]
    return ("<".join(kept), True) if len(kept) < len(pieces) else (html, False)


_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]{0,200}\?>")
# Ends that end nothing: as the HTML standard says, what follows them belongs to the elements that
# are still open. libxml2 would close them and put what follows outside of the body.
_ENDS = re.compile(r"</(?:body|html)(?=[\s/>])[^<>]*>", re.IGNORECASE)
# A class lookup without Python subclasses of elements makes parsing faster.
_ONE_CLASS = etree.ElementDefaultClassLookup(element=HtmlElement)


def without_ends(html: str) -> str:
    """Returns a page without the end tags of body and html, so that markup after them belongs to
    the body.

    >>> without_ends("<p>a</p></body></html ><p>b</p>")
    '<p>a</p><p>b</p>'
    """
    return _ENDS.sub("", html)


def parse(html: str, *, comments: bool = False) -> HtmlElement | None:
    """Returns the root element of a page; None if there is nothing to parse. Never raises for a
    page's contents. Comments and processing instructions are kept only with `comments`."""
    text = without_ends(_XML_DECLARATION.sub("", html.replace("\x00", ""), count=1))
    parser = HTMLParser(
        encoding="utf-8", huge_tree=True, remove_comments=not comments, remove_pis=not comments
    )
    if not comments:
        parser.set_element_class_lookup(_ONE_CLASS)
    try:
        data = text.encode("utf-8", "replace")
        return document_fromstring(data, parser=parser, ensure_head_body=False)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError, AssertionError):
        return None
