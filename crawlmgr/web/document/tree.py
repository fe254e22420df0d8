"""The tree of a page, built here for every reader. No Django."""

from __future__ import annotations

import re

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring

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
