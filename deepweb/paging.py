"""Finds the request for the next page of a result list: a link, a button of a form, an ASP.NET
postback, or a page number entered in the search form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import parse_qsl, urljoin, urlsplit

from lxml.html import HtmlElement

from crawlmgr.web.next_page.pagination import Answered, find_pages
from crawlmgr.web.next_page.pagination_words import page_direction, page_number
from crawlmgr.web.pages.forms import BUTTONS, Submission
from crawlmgr.web.url import UrlError, canonical
from deepweb.forms.field_roles import FieldRole
from deepweb.search_forms import Form, FormField, forms_of_tree
from deepweb.submission import fill

_POSTBACK = re.compile(r"__doPostBack\(\s*'([^']*)'\s*,\s*'([^']*)'\s*\)")
_OFFSET = re.compile(r"^(offset|start|from|skip|first)$", re.I)
_NUMBER_NAME = re.compile(
    r"^(page|pageno|page_?num(ber)?|pagenr|offset|start|from|skip|first|seite|pagina|p|pg|pn"
    r"|paged)$",
    re.I,
)
_DIGITS = re.compile(r"\d{1,9}")
_WHOLE = re.compile(
    r"\b(?:all|alles?|tous|toutes|todos|todas|tutt[ie]|wszystkie|все)\b|全部|所有|すべて|전체", re.I
)
_STATE = "__VIEWSTATE"
_TYPED = ("text", "search", "number")
_UNASKED = ("password", "file", "email", "textarea", "tel")
_MAX_TEXTS = 2
_LONGEST_WORD = 60
_DATA_ADDRESS = re.compile(
    r"^(?:data-(?:[\w-]*(?:url|href|next|src|link|action|endpoint|page-?url))|hx-get|up-href)$",
    re.I,
)


class Shown(NamedTuple):
    """What of an answer is shown so far: the number of records on its pages up to the current one
    (`so_far`), how many the site states (`stated`, 0 if it states none), and the addresses of the
    current page's records, which lead to no further page."""

    so_far: int = 0
    stated: int = 0
    records: frozenset[str] = frozenset()


_UNKNOWN = Shown()


class NextPage(NamedTuple):
    """The request for the next page, and how it was found (`by`): "link", "more" (a script's "load
    more" button), "button", "postback" or "number"."""

    submission: Submission
    by: str


def next_page(
    root: HtmlElement,
    url: str,
    form: Form,
    bound: Mapping[str, str],
    *,
    number: int,
    size: int,
    may_post: bool,
    charset: str = "utf-8",
    shown: Shown = _UNKNOWN,
) -> NextPage | None:
    """Returns the request for page `number + 1` of the results of the query `bound` (values by
    input name); None if the current page is the last. If fewer records are shown than the site
    states (`shown`), any link that counts on from them leads to the next page.

    `root` and `url` are the current page, `number` its number, `form` the form that was submitted.
    `size` is the number of records of a full page, or 0 if the current page has fewer; then the
    form's input for page numbers is not used. `may_post` permits forms that are sent by POST.
    """
    found = find_pages(
        root,
        url,
        lambda target: _same_site(target, url) and not _is_of(target, shown.records),
        Answered(number, lambda target: _repeats(target, url, bound, charset)),
    )
    further = found.next if found.next != url else None
    further = further or _by_rest(root, url, bound, number, charset, shown)
    if further is not None:
        return NextPage(Submission("GET", further, "", ""), "link")
    # The page has a pager with its own number marked but no next page: it is the last page.
    if found.pages and found.current is not None:
        return None
    forms = forms_of_tree(root, url)
    loaded = _by_script_button(root, url)
    if loaded is not None:
        return NextPage(Submission("GET", loaded, "", ""), "more")
    pressed = _by_button(forms, url, bound, number, may_post, charset) or (
        _by_postback(root, forms, bound, number, charset) if may_post else None
    )
    if pressed is not None:
        return pressed
    return _by_number(form, bound, number, size, charset) if size else None


def _same_site(target: str, url: str) -> bool:
    return urlsplit(target).hostname == urlsplit(url).hostname


def _repeats(target: str, url: str, bound: Mapping[str, str], charset: str) -> bool:
    """Tells whether an address repeats the query (`bound`; if it has no value, the parameters of
    the page's own address `url`) under the page's path."""
    asked = [(name, value) for name, value in bound.items() if value] or _pairs(url, charset)
    wanted = {(name, value.casefold()) for name, value in asked}
    told = {(name, value.casefold()) for name, value in _pairs(target, charset)}
    return urlsplit(target).path == urlsplit(url).path and bool(wanted) and wanted <= told


def _links(root: HtmlElement, url: str) -> Iterator[tuple[HtmlElement, str, bool]]:
    """Yields the links of a page to its own site, with their addresses, and whether these have the
    path of the page."""
    own = urlsplit(url)
    for element in root.iter("a"):
        try:
            target: str = urljoin(url, (element.get("href") or "").strip())
            parts = urlsplit(target)
        except ValueError:
            continue
        if parts.hostname == own.hostname:
            yield element, target, parts.path == own.path


def _is_of(target: str, records: frozenset[str]) -> bool:
    """Tells whether a link leads to one of the records of its page."""
    try:
        return canonical(target) in records
    except (UrlError, ValueError):
        return False


def _by_rest(
    root: HtmlElement,
    url: str,
    bound: Mapping[str, str],
    number: int,
    charset: str,
    shown: Shown,
) -> str | None:
    """Returns the address of the first link that shows records beyond those shown, where the site
    states more: it repeats what the page's address has of the query and sets one more parameter, to
    the next page's number or offset, or by a link that says "all". None if there is none."""
    if not 0 < shown.so_far < shown.stated:
        return None
    before = set(_pairs(url, charset))
    echoed = {pair for pair in before if pair in bound.items()}
    nexts = {str(place) for place in (number, number + 1, shown.so_far, shown.so_far + 1)}
    for element, target, is_here in _links(root, url):
        pairs = set(_pairs(target, charset))
        added = [pair for pair in pairs - before if pair[1]]
        if not is_here or not echoed <= pairs or len(added) != 1 or _is_of(target, shown.records):
            continue
        (name, value) = added[0]
        least = _number_in(dict(before).get(name, ""))
        text = (element.text_content() or "")[:_LONGEST_WORD]
        if value in nexts and int(value) > least or _WHOLE.search(text):
            return target
    return None


def _number_in(value: str) -> int:
    return int(value) if _DIGITS.fullmatch(value) else 0


def _by_script_button(root: HtmlElement, url: str) -> str | None:
    """Returns the address that a script fetches when a "load more" button is pressed, if an
    attribute of the button contains it; otherwise None."""
    for element in root.iter("button", "a", "div", "span"):
        if (
            page_direction(" ".join((element.text_content() or "").split())[:_LONGEST_WORD])
            != "next"
        ):
            continue
        for name, value in element.attrib.items():
            if (
                _DATA_ADDRESS.match(str(name))
                and value.strip()
                and not value.strip().startswith(("#", "javascript:"))
            ):
                target: str = urljoin(url, value.strip())
                if _same_site(target, url):
                    return target
    return None


def _pairs(url: str, charset: str) -> list[tuple[str, str]]:
    """Returns the (name, value) parameters of an address, decoded with the site's encoding, or as
    UTF-8 if Python does not know it."""
    query = urlsplit(url).query
    try:
        return parse_qsl(query, keep_blank_values=True, encoding=charset, errors="replace")
    except LookupError:
        return parse_qsl(query, keep_blank_values=True)


def _by_button(
    forms: Sequence[Form],
    url: str,
    bound: Mapping[str, str],
    number: int,
    may_post: bool,
    charset: str,
) -> NextPage | None:
    """Returns the submission of a form of the page by its button that says "next" or is labelled
    with the number of the next page; None if there is none. The form must repeat the query
    (`bound`), hold a number or keep the state of its page. Forms sent by POST are only used with
    `may_post`."""
    for wanted in (_says_next, lambda field: _says_number(field) == number + 1):
        for form in forms:
            if form.of_kind(*_UNASKED) or len(form.text_fields) > _MAX_TEXTS:
                continue
            if not any(_keeps_on(field, bound) for field in form.fields):
                continue
            for field in form.fields:
                if field.kind not in BUTTONS or field.disabled or not wanted(field):
                    continue
                pressed = fill(form, {}, charset, field)
                if _same_site(pressed.url, url) and (may_post or pressed.method != "POST"):
                    return NextPage(pressed, "button")
    return None


def _keeps_on(field: FormField, bound: Mapping[str, str]) -> bool:
    """Tells whether a form's field holds a word of the query, the number of a page, or the state of
    an ASP.NET page."""
    value = field.value.strip()
    return (
        field.name == _STATE
        or bool(value)
        and (value in bound.values() or bool(_DIGITS.fullmatch(value)))
    )


def _says_next(field: FormField) -> bool:
    texts = (field.label, field.value, field.placeholder)
    is_next = any(page_direction(text) == "next" for text in texts if text)
    return is_next or field.name.lower() in ("next", "nextpage", "next_page")


def _says_number(field: FormField) -> int | None:
    return next(
        (
            number
            for text in (field.label, field.value)
            if text and (number := page_number(text)) is not None
        ),
        None,
    )


def _by_postback(
    root: HtmlElement,
    forms: Sequence[Form],
    bound: Mapping[str, str],
    number: int,
    charset: str,
) -> NextPage | None:
    """Returns the submission of the page's form that a link to page `number + 1` causes in ASP.NET
    (`__doPostBack` with a target and an argument); None if there is none. Of the form, which often
    is the whole page with a login or a newsletter, no text is sent but that of the query
    (`bound`)."""
    parts = [form for form in forms if any(field.name == _STATE for field in form.fields)]
    if not parts:
        return None
    fields = {(field.name, field.value): field for part in parts for field in part.fields}
    for element in root.iter("a"):
        match = _POSTBACK.search(element.get("href") or "")
        text = " ".join((element.text_content() or "").split())
        if match and (page_direction(text) == "next" or page_number(text) == number + 1):
            kept = [
                f
                for f in fields.values()
                if f.kind not in (*BUTTONS, "button", *_UNASKED)
                and not f.name.startswith("__EVENT")
                and (f.kind not in _TYPED or f.name in bound)
            ]
            sent = [
                FormField("__EVENTTARGET", "hidden", value=match[1]),
                FormField("__EVENTARGUMENT", "hidden", value=match[2]),
            ]
            return NextPage(fill(replace(parts[0], fields=(*kept, *sent)), {}, charset), "postback")
    return None


def _by_number(
    form: Form, bound: Mapping[str, str], number: int, size: int, charset: str
) -> NextPage | None:
    """Returns the query `bound` again, with the next page entered in the search form's own input
    for it: a page number counted from 1 (or from 0, if the input contains 0), or an offset in
    records (`size` per page). None if the form has no such input.
    """
    field = page_field(form)
    if field is None:
        return None
    following = number if field.value.strip() == "0" else number + 1
    value = number * size if _OFFSET.match(field.name) else following
    return NextPage(fill(form, {**bound, field.name: str(value)}, charset), "number")


def page_field(form: Form) -> FormField | None:
    """Returns the field of a search form for the page number, None if it has none."""
    for field in form.fields:
        visible = field.kind in ("text", "number") and field.role is FieldRole.PAGE
        if (
            visible
            or field.kind == "hidden"
            and _NUMBER_NAME.match(field.name)
            and field.value.strip().isdecimal()
        ):
            return field
    return None
