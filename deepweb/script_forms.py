"""Forms that a script submits: finds the request in the page's own scripts, if its address is
written there as a plain string."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import parse_qsl, urljoin, urlsplit, urlunsplit

from lxml.html import HtmlElement

from deepweb.form_words import concepts_in

MAX_SCRIPT = 400_000
_CALL = r"(?:fetch|get|getJSON|ajax|open|request|axios)\(\s*(?:(['\"])(?:GET|get)\1\s*,\s*)?"
_JOINED = re.compile(
    _CALL
    + (
        r"(?P<quote>['\"`])(?P<url>[^'\"`\s]{1,300}?[?&](?P<name>"
        r"[\w.\[\]-]{1,40})=)(?:(?P=quote)\s*(?:\+|\.concat)|\$\{)"
    )
)
_OBJECT = re.compile(
    _CALL + r"(?P<quote>['\"`])(?P<url>[^'\"`\s$]{1,300})(?P=quote)\s*,\s*\{\s*"
    r"(?:(?:params|data)\s*:\s*\{)?\s*"
    r"['\"]?(?P<name>[\w.-]{1,40})['\"]?\s*:"
)
_HANDLED = re.compile(r"preventDefault|return\s+false|onsubmit", re.I)
_BRIEF = frozenset(
    (
        "q",
        "s",
        "k",
        "w",
        "kw",
        "term",
        "terms",
        "words",
        "text",
        "query",
        "search",
        "keyword",
        "keywords",
    )
)


class ScriptRequest(NamedTuple):
    """The request that a script sends: its address without parameters, the name of the parameter
    for the words, and fixed parameters."""

    action: str
    name: str
    fixed: tuple[tuple[str, str], ...] = ()


def is_scripted(form: HtmlElement) -> bool:
    """Tells whether a form has no address of its own and is submitted by a script."""
    action = (form.get("action") or "").strip().lower()
    if action and not action.startswith(("javascript:", "#")):
        return False
    if form.get("onsubmit") or action:
        return True
    return (form.get("method") or "").lower() != "post" and any(
        _HANDLED.search(text) for text in _scripts(form)
    )


def request_of(root: HtmlElement, base_url: str) -> ScriptRequest | None:
    """Returns the search request that a script of the page sends to the page's own site; None if no
    address is written there as a plain string."""
    for text in _scripts(root):
        for pattern in (_JOINED, _OBJECT):
            for match in pattern.finditer(text):
                name = match["name"]
                try:
                    parts = urlsplit(urljoin(base_url, match["url"]))
                except ValueError:
                    continue
                if parts.hostname != urlsplit(base_url).hostname or not _is_search(
                    name, parts.path
                ):
                    continue
                fixed = tuple(
                    (key, value)
                    for key, value in parse_qsl(parts.query)
                    if key != name and "$" not in value
                )
                return ScriptRequest(
                    urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")), name, fixed
                )
    return None


def _scripts(element: HtmlElement) -> Iterator[str]:
    root = element.getroottree().getroot()
    for script in root.iter("script"):
        text = script.text or ""
        if text and not script.get("src") and "json" not in (script.get("type") or ""):
            yield text[:MAX_SCRIPT]


def _is_search(name: str, path: str) -> bool:
    return name.lower() in _BRIEF or "search" in concepts_in(name) or "search" in concepts_in(path)
