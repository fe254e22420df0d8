"""Reads pages whose content is JSON data, either in a script element or as the whole response:
lists of objects in it are read as records."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from crawlmgr.web.url import UrlError, parse

MAX_DATA = 5_000_000  # largest number of characters of a page; JSON in larger ones is not read
MAX_NODES = 100_000  # number of objects and lists of a document that are read
_MAX_FIELDS = 60
_MAX_NAMES = 600  # number of names in an object that are examined to find its fields
_MAX_TOTAL = 10**10
_UNSTORABLE = re.compile(
    "[\x00\ud800-\udfff]"
)  # valid in JSON, but no database can store them as text
_NAMED = re.compile(r"\\u(?:0000|d[89a-f])", re.I)
_MAX_DEEP = 12
_SCRIPT = re.compile(r"<script\b([^>]{0,2000})>", re.I)
_SCRIPT_END = re.compile(r"</script\s{0,20}>", re.I)
_ASSIGNED = re.compile(r"^\s*(?:(?:var|let|const)\s+)?[\w.$\[\]\"']{1,80}\s*=\s*(?=[\[{])")
_ADDRESS_NAME = re.compile(
    r"^(?:url|href|link|permalink|uri|path|@id|detail_?url|html_url|canonical_?url)$", re.I
)
_TOTAL_NAME = re.compile(
    r"^(?:total|total_?(?:count|results|items|hits|records)|numfound|num_?results|count|hits|found"
    r"|size|filtered_table_rows_count)$",
    re.I,
)
_NEXT_NAME = re.compile(r"^(?:next|next_?(?:page|url|href|link|page_?url))$", re.I)


class DataList(NamedTuple):
    """A list of objects in JSON data: the names that lead to it, such as ".data.items" (`path`),
    and for each object its fields by name (see `flat`)."""

    path: str
    items: tuple[Mapping[str, str], ...]


class PageData(NamedTuple):
    """The JSON data of one page: its lists of objects; the numbers whose names say that they are
    totals, as (path, number); the address of the next page, "" if there is none; and the fields of
    the object with most text (`largest`).
    """

    lists: tuple[DataList, ...] = ()
    totals: tuple[tuple[str, int], ...] = ()
    next: str = ""
    largest: Mapping[str, str] = {}


def page_data(text: str, url: str) -> PageData:
    """Reads all JSON data in a page, or the text itself if it is JSON; empty if there is none.
    Relative addresses in it refer to `url`. Never raises for invalid JSON."""
    lists: dict[str, DataList] = {}
    totals: dict[str, int] = {}
    following = ""
    largest: dict[str, str] = {}
    for document in _documents(text):
        for path, node in _nodes(document):
            if isinstance(node, list):
                items = tuple(flat(each, url) for each in node if isinstance(each, dict))
                if items and len(items) == len(node) and any(len(item) >= 2 for item in items):
                    lists.setdefault(path, DataList(path, items))
                continue
            for name, value in node.items():
                if (
                    _TOTAL_NAME.match(name)
                    and type(value) is int
                    and 0 <= value < _MAX_TOTAL
                    and "[]" not in path
                ):
                    totals.setdefault(f"{path}.{name}", value)
                if (
                    not following
                    and _NEXT_NAME.match(name)
                    and isinstance(value, str)
                    and _is_address(value)
                ):
                    following = urljoin(url, value)
            fields = flat(node, url)
            if len(fields) >= 2 and _length(fields) > _length(largest):
                largest = fields
    return PageData(tuple(lists.values()), tuple(totals.items()), following, largest)


def _length(fields: Mapping[str, str]) -> int:
    return sum(len(value) for value in fields.values())


def _documents(text: str) -> Iterator[Any]:
    if len(text) > MAX_DATA:
        return
    if text.lstrip()[:1] in ("{", "["):
        yield from _parsed(text)
        return
    for attributes, body in _scripts(text):
        if "json" in attributes.lower():
            yield from _parsed(body)
        elif (assigned := _ASSIGNED.match(body)) is not None:
            yield from _parsed(body[assigned.end() :])


def _scripts(text: str) -> Iterator[tuple[str, str]]:
    """Yields the attributes and the content of each script element that is closed."""
    at = 0
    while (start := _SCRIPT.search(text, at)) is not None:
        end = _SCRIPT_END.search(text, start.end())
        if end is None:
            return
        yield start[1], text[start.end() : end.start()]
        at = end.end()


def _parsed(text: str) -> Iterator[Any]:
    """Yields the first JSON value in a text, such as a script that assigns it, and ignores what
    follows; nothing if there is none."""
    try:
        found = json.JSONDecoder().raw_decode(text.strip())[0]
        yield _storable(found) if _NAMED.search(text) else found
    except (ValueError, RecursionError):
        return


def _storable(value: Any) -> Any:
    """Returns the value with U+FFFD in place of characters that a database cannot store (NUL and
    lone surrogates)."""
    if isinstance(value, dict):
        return {_storable(name): _storable(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_storable(each) for each in value]
    return _UNSTORABLE.sub("\ufffd", value) if isinstance(value, str) else value


def _nodes(document: Any) -> Iterator[tuple[str, Any]]:
    """Yields every object and list of the document with its path, outermost first. A path consists
    of names and "[]" for list items, so that all items of a list have the same path."""
    stack: list[tuple[str, Any, int]] = [("", document, 0)]
    left = MAX_NODES
    while stack and left > 0:
        path, node, depth = stack.pop()
        left -= 1
        if depth > _MAX_DEEP or not isinstance(node, (dict, list)):
            continue
        yield path, node
        inside = (
            [(f"{path}.{name}", value) for name, value in node.items()]
            if isinstance(node, dict)
            else []
        )
        inside += [(f"{path}[]", value) for value in node] if isinstance(node, list) else []
        stack.extend((name, value, depth + 1) for name, value in reversed(inside))


def flat(item: Mapping[str, Any], url: str) -> dict[str, str]:
    """Returns the fields of an object by name: its plain values, those of nested objects
    ("author.name"), and lists of plain values joined to one text. Addresses are made absolute by
    `url`. At most 60 fields."""
    found: dict[str, str] = {}
    waiting: deque[tuple[str, Any]] = deque(islice(item.items(), _MAX_NAMES))
    left = _MAX_NAMES
    while waiting and len(found) < _MAX_FIELDS and left > 0:
        name, value = waiting.popleft()
        left -= 1
        if isinstance(value, dict):
            if name.count(".") < 3:
                waiting += [
                    (f"{name}.{inner}", each) for inner, each in islice(value.items(), left)
                ]
        elif isinstance(value, list):
            plain = [
                str(each)
                for each in value
                if isinstance(each, (str, int, float)) and not isinstance(each, bool)
            ]
            if plain and len(plain) == len(value):
                found[name] = ", ".join(plain)
        elif isinstance(value, str) and value.strip():
            found[name] = (
                urljoin(url, value)
                if _ADDRESS_NAME.match(name) and _is_address(value)
                else value.strip()
            )
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found[name] = str(value)
    return found


def address_of(fields: Mapping[str, str]) -> str:
    """Returns the address of a record's own page: the first of `fields` that is named like an
    address ("url", "link" …) and contains an absolute URL; "" if there is none."""
    return next(
        (value for name, value in fields.items() if _ADDRESS_NAME.match(name) and _is_whole(value)),
        "",
    )


def _is_whole(value: str) -> bool:
    try:
        return bool(parse(value).host)
    except UrlError:
        return False


def _is_address(value: str) -> bool:
    if (
        not value.startswith(("http://", "https://", "/", "?", "./"))
        or len(value) >= 2_000
        or any(c.isspace() for c in value)
    ):
        return False
    try:
        return urlsplit(value) is not None
    except ValueError:  # `urlsplit` fails for brackets that do not contain an IPv6 address.
        return False
