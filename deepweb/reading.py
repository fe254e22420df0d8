"""Reads one page of an answer: records, next page, stated totals, forms, and whether it is a login
page instead of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from crawlmgr.web.bounds import exceeds
from crawlmgr.web.document.forms import Submission
from crawlmgr.web.outline import outline
from deepweb.field_roles import FieldRole
from deepweb.page_data import DataList, PageData, address_of, page_data
from deepweb.paging import NextPage, next_page
from deepweb.record_fields import fields_of_page, merged
from deepweb.result_list import (
    FoundRecord,
    ListShape,
    PageTemplate,
    QueryValues,
    ResultList,
    learn_page_template,
    page_lines,
    read_results,
)
from deepweb.search_forms import Form, forms_of_tree, parse_page
from deepweb.totals import Stated, stated_numbers

PAGE_FULL_FROM = 5
_SESSION = (FieldRole.TOKEN,)


class Answer(NamedTuple):
    """One page of an answer. `url` is its address after redirects; `shape` the layout by which
    `records` were read; `stated` the numbers that may be the total; `page_template` all its links
    and lines of text, from which the site's page template is learned if the page has no results;
    `login` tells that the page asks for a password and shows no records. `is_cut`: only the
    beginning of the page was read.
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
        )
    forms = tuple(forms_of_tree(root, url))
    again = any(form.signature == known.form.signature for form in forms)
    lines = (*page_lines(page), *_lines_of(data))
    page_template = learn_page_template(page, url, echo)
    return Answer(
        url,
        found.records,
        found.shape,
        follow,
        _stated(lines, data, found, known),
        lines,
        page_template._replace(lines=page_template.lines | frozenset(_lines_of(data))),
        forms,
        login=not size and not again and any(form.of_kind("password") for form in forms),
        is_cut=exceeds(html),
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


def needs_session(form: Form) -> bool:
    """Tells whether a form is sent by POST or contains a token, so that the page with the form has
    to be fetched first in the same session."""
    return form.method == "post" or any(
        field.role in _SESSION and field.value for field in form.fields
    )


def words_bound(bound: Mapping[str, str]) -> Sequence[str]:
    """Returns the values of a query, whole and word by word, which its result pages may repeat."""
    return [word for value in bound.values() if value.strip() for word in (value, *value.split())]
