"""Evaluates selectors, without a limit of time."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from cssselect import SelectorError
from lxml import etree
from lxml.html import HtmlElement
from parsel.csstranslator import HTMLTranslator

_ONE_CLASS = etree.ElementDefaultClassLookup(element=HtmlElement)


def parse_xml(text: str) -> HtmlElement:
    """Returns the root element of a tree that was serialised as XML."""
    parser = etree.XMLParser(encoding="utf-8", huge_tree=True, recover=True, resolve_entities=False)
    parser.set_element_class_lookup(_ONE_CLASS)
    return etree.fromstring(text.encode("utf-8", "replace"), parser)


def select(element: HtmlElement, selector: str) -> list[Any]:
    """Returns what a selector finds below an element: elements, or texts for `::text` and
    `::attr(name)`. Raises ValueError if it is neither valid CSS nor valid XPath."""
    try:
        found = _compiled(selector)(element)
    except (SelectorError, etree.XPathError, RecursionError) as error:
        raise ValueError(f"{selector}: {error}") from error
    return found if isinstance(found, list) else [found]


@lru_cache(maxsize=1_024)
def _compiled(selector: str) -> etree.XPath:
    return etree.XPath(
        selector
        if selector.startswith(("/", "./", "("))
        else HTMLTranslator().css_to_xpath(selector, "descendant-or-self::"),
        smart_strings=False,
    )
