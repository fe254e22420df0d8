"""Reads one page of an answer, HTML or JSON: records, next page, stated totals, forms, and whether
it is a login page instead of results."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from lxml.html import HtmlElement

from crawlmgr.web.pages.forms import Submission
from crawlmgr.web.pages.outline import outline
from crawlmgr.web.pages.tree import exceeds
from crawlmgr.web.url import UrlError, parse
from deepweb.answers.record_fields import fields_of_page, is_wording
from deepweb.answers.result_list import (
    FoundRecord,
    ListShape,
    PageTemplate,
    QueryValues,
    ResultList,
    learn_page_template,
    page_lines,
    read_results,
)
from deepweb.answers.totals import Stated, stated_numbers
from deepweb.forms.field_roles import FieldRole
from deepweb.paging import NextPage, Shown, next_page
from deepweb.search_forms import Form, forms_of_tree, parse_page

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


PAGE_FULL_FROM = 5


_NOTHING = re.compile(
    r"\b(?:no|not|nothing|none|0|sorry|keine?|nichts|aucune?|rien|ning[uú]n|nada|nessun\w*"
    r"|nenhum\w*|geen|niets|brak|нет|не|ничего)\b|没有|未找到|无结果|暂无|ありません|없",
    re.I,
)
"""Words by which pages say that nothing was found."""


_DECORATIVE = re.compile(
    r"logo|header|footer|banner|clear|overlay|modal|menu|nav|cookie|toolbar|tooltip|sidebar"
    r"|backdrop",
    re.I,
)
"""Parts of the names of empty elements that are no place for records."""


_SESSION = (FieldRole.TOKEN,)


class Answer(NamedTuple):
    """One page of an answer. `url` is its address after redirects; `shape` the layout by which
    `records` were read; `stated` the numbers that may be the total; `page_template` all its links
    and lines of text, from which the site's page template is learned if the page has no results;
    `login` tells that the page asks for a password and shows no records. `is_cut`: only the
    beginning of the page was read. `scripted`: a script probably fills the page (see
    `filled_by_script`).
    """

    url: str
    records: tuple[FoundRecord, ...] = ()
    shape: ListShape | None = None
    next: NextPage | None = None
    stated: tuple[Stated, ...] = ()
    lines: tuple[str, ...] = ()
    page_template: PageTemplate = PageTemplate()
    forms: tuple[Form, ...] = ()
    login: bool = False
    is_cut: bool = False
    scripted: bool = False


class Context(NamedTuple):
    """What is known of a site and of the query when a result page is read. `bound`: the values set
    in the form, by input name. `number`: the number of the page. `page_size`: records of a full
    page, 0 if unknown. `page_template`: links and lines that every page has. `shape`: the layout of
    result lists, None if unknown. `may_post`: whether forms may be sent by POST.
    """

    form: Form
    bound: Mapping[str, str]
    number: int
    page_size: int
    page_template: PageTemplate
    shape: ListShape | None
    may_post: bool
    charset: str


def read_answer(html: str, url: str, known: Context) -> Answer:
    """Reads a result page; one that cannot be parsed gives an empty answer."""
    root = parse_page(html)
    if root is None:
        return Answer(url)
    page = outline(root)
    echo = _echo(known)
    data = page_data(html, url)
    found = _in_data(data, known) or read_results(page, url, echo, known.page_template, known.shape)
    size = len(found.records)
    full = (
        size
        if size >= max(known.page_size, PAGE_FULL_FROM)
        or known.page_size == 0
        and size >= PAGE_FULL_FROM
        else 0
    )
    lines = (*page_lines(page), *_lines_of(data))
    stated = _stated(lines, data, found, known)
    before = (known.number - 1) * known.page_size
    shown = Shown(
        before + size,
        max((each.number for each in stated), default=0),
        frozenset(record.url for record in found.records),
    )
    follow = None
    if size and found.shape is not None and found.shape.is_data and data.next:
        follow = NextPage(Submission("GET", data.next, "", ""), "link")
    elif size:
        follow = next_page(
            root,
            url,
            known.form,
            known.bound,
            number=known.number,
            size=full,
            may_post=known.may_post,
            charset=known.charset,
            shown=shown,
        )
    forms = tuple(forms_of_tree(root, url))
    again = any(form.signature == known.form.signature for form in forms)
    page_template = learn_page_template(page, url, echo)
    return Answer(
        url,
        found.records,
        found.shape,
        follow,
        stated,
        lines,
        page_template._replace(lines=page_template.lines | frozenset(_lines_of(data))),
        forms,
        login=not size and not again and any(form.of_kind("password") for form in forms),
        is_cut=exceeds(html),
        scripted=not size and filled_by_script(root, lines),
    )


def filled_by_script(root: HtmlElement, lines: Iterable[str]) -> bool:
    """Tells whether a script probably fills a page without results: it has a script and an empty
    element with an id, or asks for scripts to be permitted, and nothing says that nothing was
    found: neither words nor the header of an empty table."""
    if next(root.iter("script"), None) is None or any(map(_NOTHING.search, lines)):
        return False
    asks = any("script" in (each.text_content() or "").lower() for each in root.iter("noscript"))
    if not asks and any(len(list(row.iter("th"))) > 1 for row in root.iter("tr")):
        return False
    return asks or any(
        each.get("id")
        and not len(each)
        and not (each.text or "").strip()
        and not _DECORATIVE.search(f"{each.get('id')} {each.get('class')}")
        for each in root.iter("div", "main", "section", "ul", "ol", "tbody")
    )


def _stated(
    lines: Sequence[str], data: PageData, found: ResultList, known: Context
) -> tuple[Stated, ...]:
    """Returns the numbers on the page that may be the total number of results: from JSON data if
    the records are from it, otherwise from lines of text that belong neither to the page template
    nor to a record."""
    if found.shape is not None and found.shape.is_data:
        return tuple(Stated(f"data {path}", number) for path, number in data.totals)
    numbered = [
        line
        for line in lines
        if any(letter.isdigit() for letter in line) and line not in known.page_template.lines
    ]
    values = {value for record in found.records for value in record.fields.values()}
    whole = "\n".join(values)
    others = [
        line
        for line in numbered
        if line not in whole and not any(2 * len(v) > len(line) and v in line for v in values)
    ]
    return stated_numbers(others, words_bound(known.bound), len(found.records))


def _echo(known: Context) -> QueryValues:
    """Returns the values of the query as (input name, value), which links of the page may repeat. A
    value is listed a second time as it appears when the site's encoding is wrongly decoded as
    UTF-8."""
    pairs = list(known.bound.items())
    for name, value in known.bound.items():
        try:
            seen = value.encode(known.charset).decode("utf-8", "replace")
        except (LookupError, UnicodeEncodeError):
            continue
        pairs += [(name, seen)] if seen != value else []
    return tuple(pairs)


def _in_data(data: PageData, known: Context) -> ResultList | None:
    """Returns the records in a page's JSON data, without objects that are in the page template;
    None if there are none. If the data contains several lists, those of the list whose remaining
    objects have the most text are returned.
    """
    lists = [
        each
        for each in data.lists
        if known.shape is None or not known.shape.is_data or each.path == known.shape.top
    ]
    best: list[FoundRecord] = []
    where = ""
    for each in lists:
        items = [
            item for item in each.items if _line_of(each, item) not in known.page_template.lines
        ]
        new = [FoundRecord(address_of(item), item) for item in items]
        if sum(len(r.text) for r in new) > sum(len(r.text) for r in best):
            best, where = new, each.path
    kept = {record.key: record for record in best}
    return ResultList(tuple(kept.values()), ListShape(where, is_data=True)) if kept else None


def _line_of(where: DataList, item: Mapping[str, str]) -> str:
    return f"{where.path}: " + " ".join(item.values())


def _lines_of(data: PageData) -> list[str]:
    """Returns each object of the JSON data as one line of text, as the page template
    (`PageTemplate.lines`) contains it."""
    return [_line_of(each, item) for each in data.lists for item in each.items]


def read_detail(html: str, page_template: PageTemplate) -> dict[str, str]:
    """Returns the fields of a detail page by name, without the texts of the page template
    (`page_template`)."""
    root = parse_page(html)
    shown = {} if root is None else fields_of_page(root, page_template.lines)
    told = page_data(html, "").largest
    said = " ".join(shown.values())
    return (
        merged(shown, told)
        if sum(value in said for value in told.values()) * 2 < len(told)
        else shown
    )


def merged(earlier: Mapping[str, str], later: Mapping[str, str]) -> dict[str, str]:
    """Returns the fields of a record from a result list (`earlier`) and from its detail page
    (`later`); of two values for a field, a non-empty one of the detail page is used. The heading of
    the detail page is no title if it has nothing in common with one that the list shows."""
    found = {**earlier, **{name: value for name, value in later.items() if value}}
    listed, heading = earlier.get("title", ""), found.get("title", "")
    if is_wording(listed) and listed not in heading and heading not in listed:
        # "Issue 251" above what the list calls by its name; a cut title begins as the whole one
        begins = listed.rstrip(" .…")
        found["title"] = heading if heading.startswith(begins) else listed
    return found


def needs_session(form: Form) -> bool:
    """Tells whether a form is sent by POST or contains a token, so that the page with the form has
    to be fetched first in the same session."""
    return form.method == "post" or any(
        field.role in _SESSION and field.value for field in form.fields
    )


def words_bound(bound: Mapping[str, str]) -> Sequence[str]:
    """Returns the values of a query, whole and word by word, which its result pages may repeat."""
    return [word for value in bound.values() if value.strip() for word in (value, *value.split())]
