"""Links, text and head of a page in one pass. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from lxml import etree
from lxml import html as lxml_html

from crawlmgr.web.url import absolute


@dataclass(frozen=True, slots=True)
class Link:
    url: str
    anchor: str
    rel: str = ""
    context: str = ""
    nofollow: bool = False
    tag: str = "a"


@dataclass(frozen=True, slots=True)
class PageScan:
    title: str
    text: str
    links: tuple[Link, ...]
    base: str


_SKIP = {"script", "style", "noscript", "template"}


def scan(html: str, base_url: str, want_context: bool = False) -> PageScan:
    try:
        root = lxml_html.document_fromstring(html or "<p>", parser=lxml_html.HTMLParser(huge_tree=True))
    except (etree.ParserError, ValueError):
        return PageScan("", "", (), base_url)
    title = " ".join((root.findtext(".//title") or "").split())
    base = base_url
    found = root.find(".//base")
    if found is not None and found.get("href"):
        base = absolute(found.get("href"), base_url) or base_url
    links, parts = [], []
    for node in root.iter():
        tag = node.tag
        if tag == "a" and node.get("href"):
            url = absolute(node.get("href"), base)
            if url:
                links.append(Link(url, " ".join("".join(node.itertext()).split())))
        if isinstance(tag, str) and tag not in _SKIP and node.text:
            parts.append(node.text)
        if node.tail:
            parts.append(node.tail)
    return PageScan(title, " ".join(" ".join(parts).split()), tuple(links), base)


def page_title(html: str) -> str:
    return scan(html, "http://x/").title
