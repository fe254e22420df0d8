"""Reads the records on a result page. The layout of a site's result list is learned from one page
and used to read the other pages."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from operator import itemgetter
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

from crawlmgr.text.dates_parsing import LONGEST_WHOLE, whole_parts
from crawlmgr.web.next_page.pagination_urls import shows_otherwise
from crawlmgr.web.next_page.pagination_words import page_direction, page_number
from crawlmgr.web.pages.outline import Outline
from crawlmgr.web.pages.records import Record, records_around
from crawlmgr.web.url import UrlError, canonical
from deepweb.answers.record_fields import MAX_COLUMNS, fields_of_rows, with_link_title

_BESIDE = frozenset(("nav", "footer", "aside", "header"))
_ENDS = frozenset(("header", "footer"))
_ITEMS = frozenset(("article", "li", "td", "dd"))
"""Elements that are records: a header or footer inside them belongs to the record, not to the page;
so does one of several with the same tag path."""
_MAX_GROUPS = 8
_MIN_LEARNED = 2
_LONGEST = 200
_SESSION = re.compile(
    r"^(?:s|sid|sess|session|sessid|session_?id|php_?sess_?id|jsessionid|aspsessionid\w*|cfid"
    r"|cftoken|oscsid|zenid)$",
    re.I,
)
_SESSION_LENGTH = 8
_WORDS = re.compile(r"\w+")
_COUNTED = 4
_RANK = re.compile(r"^(?:pos|position|rank|idx|index|i|n|nr|num|order|result|row)$", re.I)
_COUNT = re.compile(r"#?\d[\d.,\s]*[%km]?", re.I)
_COUNT_NAME = re.compile(
    r"(?:^|[^a-z])(?:hits?|score|relevan\w*|rank\w*|pos(?:ition)?|views?|visits|downloads"
    r"|matches|no|nr|#)(?:$|[^a-z])|相关|排名|次数|浏览|点击|下载",
    re.I,
)
_COUNT_WORDS = re.compile(
    r"\d[\d.,]* ?(?:hits?|views?|matches|visits|downloads|次(?:浏览|点击|下载)?)", re.I
)
_ECHOED = 3
_MAX_DETAILS, _NEARLY_ALL = 6, 0.8
"""Links that a record has at the most beside its own, and the share that must lie in records."""
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))


QueryValues = Sequence[tuple[str, str]]
"""The values of a query as (name of the input, value); sites repeat them in their links."""


class FoundRecord(NamedTuple):
    """One record as shown in a result list. `url` is the address of its detail page, "" if it has
    none; `fields` are its values by name."""

    url: str
    fields: Mapping[str, str]

    @property
    def key(self) -> str:
        """Identity of the record across pages: the address of its detail page, or else a digest of
        the words of its stable fields (`is_passing`; of all if none is stable), in which field
        names do not count.
        """
        if self.url:
            return self.url
        stable = [
            value for name, value in self.fields.items() if not is_passing(name, value)
        ] or self.fields.values()
        own_words = "\n".join(sorted(_WORDS.findall("\n".join(stable))))
        return "text:" + hashlib.blake2b(own_words.encode(), digest_size=16).hexdigest()

    @property
    def text(self) -> str:
        """All texts of the record except addresses."""
        return "\n".join(
            value for value in self.fields.values() if not value.startswith(("http://", "https://"))
        )


def is_passing(name: str, value: str) -> bool:
    """Tells whether a field shows when or for which query a record was listed rather than what it
    is: a time counted back from now ("12 minutes ago"), or a number of hits, views, rank or score.
    """
    if len(value) > LONGEST_WHOLE:
        return False
    if _COUNT_NAME.search(name) and _COUNT.fullmatch(value) or _COUNT_WORDS.fullmatch(value):
        return True
    time = whole_parts(value)
    return time is not None and (time.ago_seconds is not None or time.day_offset is not None)


@dataclass(frozen=True, slots=True)
class ListShape:
    """The layout of a site's result list. `top` is the tag path of a record's element, `link` that
    of its link, "" if records have no links.

    `flat`: a record consists of several sibling elements, so that only its link shows where it
    begins. `is_data`: the list is JSON data, and `top` is the path of names that leads to it.
    `ranks` are those parameters of record links that only number the records of a list, or repeat
    words of the query.
    """

    top: str
    link: str = ""
    flat: bool = False
    is_data: bool = False
    ranks: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class PageTemplate(NamedTuple):
    """The page template of a site's result pages, learned from answers to nonsense queries: the
    link addresses and lines of text that pages without any record contain too."""

    links: frozenset[str] = frozenset()
    lines: frozenset[str] = frozenset()


class ResultList(NamedTuple):
    """The distinct records of one page in order, and the layout by which they were read. If nothing
    was found, the layout is the one known before, None if there was none."""

    records: tuple[FoundRecord, ...]
    shape: ListShape | None


class _Anchor(NamedTuple):
    node: int
    url: str
    path: str
    text: str


def learn_page_template(page: Outline, url: str, echo: QueryValues) -> PageTemplate:
    """Returns the links and lines of `page`, which contains no record, as the page template; `echo`
    are the values of the query, which its links may repeat."""
    return PageTemplate(
        frozenset(filter(None, (_address(page, node, url, echo) for node in range(len(page))))),
        frozenset(page_lines(page)),
    )


def page_lines(page: Outline) -> list[str]:
    """Returns the displayed lines of text of a page, in order."""
    lines: dict[int, list[str]] = defaultdict(list)
    for piece in page.pieces:
        lines[piece.line].append(piece.text)
    return [" ".join(parts) for _, parts in sorted(lines.items())]


def read_results(
    page: Outline,
    url: str,
    echo: QueryValues,
    page_template: PageTemplate,
    shape: ListShape | None = None,
) -> ResultList:
    """Returns the records of the page at `url`, the answer to a query with the values `echo`.

    With a `shape` they are read at that layout's position. Without one, or if no record is found
    there, the layout is learned from the page: links that are not in the page template
    (`page_template`) and repeat at one tag path mark records; if there are none, similar sibling
    elements are the records.
    """
    anchors = _anchors(page, url, echo, page_template)
    if shape is not None:
        tops = _by_shape(page, anchors, shape, page_template)
        if tops:
            return _read(page, tops, anchors, shape, echo)
    learned = _learn_by_links(page, anchors) or _learn_by_rows(page, page_template)
    if learned is None:
        return ResultList((), shape)
    tops, found = learned
    return _read(page, tops, anchors, found, echo)


def _read(
    page: Outline,
    tops: Sequence[Record],
    anchors: Sequence[_Anchor],
    shape: ListShape,
    echo: QueryValues,
) -> ResultList:
    found: dict[str, FoundRecord] = {}
    by_node = [anchor for anchor in anchors if anchor.path == shape.link] if shape.link else []
    places = [anchor.node for anchor in by_node]
    ranks = _ranks([anchor.url for anchor in by_node]) | _repeats(page, by_node, echo)
    shape = replace(shape, ranks=tuple(sorted({*shape.ranks, *ranks}))) if ranks else shape
    for record, fields in zip(tops, fields_of_rows(page, tops), strict=True):
        if not fields:
            continue
        firsts = [at for node in record if (at := _first_in(page, places, node)) is not None]
        own = by_node[min(firsts)] if firsts else None
        made = FoundRecord(
            _without(own.url if own else "", shape.ranks),
            with_link_title(fields, own.text if own else ""),
        )
        found.setdefault(made.key, made)
    return ResultList(tuple(found.values()), shape)


def _first_in(page: Outline, places: Sequence[int], node: int) -> int | None:
    """Returns the index in `places` (ascending node numbers) of the first that is inside the
    sub-tree of `node`; None if there is none."""
    at = bisect_left(places, node)
    return at if at < len(places) and page.contains(node, places[at]) else None


def _ranks(urls: Sequence[str]) -> set[str]:
    """Returns the names of the query parameters that only number the addresses `urls` in order (1,
    2, 3 …): without them the addresses still differ."""
    different = list(dict.fromkeys(urls))
    if len(different) < _COUNTED:
        return set()
    pairs = [dict(parse_qsl(urlsplit(url).query)) for url in different]
    found = []
    for name in pairs[0]:
        values = [own.get(name, "") for own in pairs]
        if not all(value.isdecimal() and len(value) < 9 for value in values):
            continue
        if all(
            int(after) - int(before) == 1 for before, after in zip(values, values[1:], strict=False)
        ):
            found.append(name)
    for names in (found, [name for name in found if _RANK.match(name)]):
        if len({_without(url, names) for url in different}) == len(different):
            return set(names)
    return set()


def _repeats(page: Outline, anchors: Sequence[_Anchor], echo: QueryValues) -> set[str]:
    """Returns the names of the query parameters whose value in all these links, two or more, is the
    same one of the query's values, however short: they highlight the word, and without them the
    addresses still differ."""
    hrefs = {anchor.url: page.elements[anchor.node].get("href", "") for anchor in anchors}
    pairs = [dict(parse_qsl(urlsplit(href.strip()).query)) for href in hrefs.values()]
    names = [
        name
        for name, value in (pairs[0] if len(pairs) > 1 else {}).items()
        if value.casefold() in {own.casefold() for _, own in echo if own}
        and all(own.get(name) == value for own in pairs)
    ]
    return set(names) if len({_without(url, names) for url in hrefs}) == len(hrefs) else set()


def _without(url: str, names: Sequence[str]) -> str:
    """Returns an address without its query parameters of these names."""
    parts = urlsplit(url)
    kept = [
        (name, value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
        if name not in names
    ]
    return (
        urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(kept), ""))
        if names and parts.query
        else url
    )


def _path(page: Outline, node: int, columns: bool = True) -> str:
    parts = []
    while node >= 0:
        part = page.shapes[node]
        if columns and page.tags[node] in ("td", "th"):
            part += f"#{_column(page, node)}"
        parts.append(part)
        node = page.parents[node]
    return "/".join(reversed(parts))


def _column(page: Outline, node: int) -> int:
    row = page.parents[node]
    cells = page.children(row, MAX_COLUMNS) if row >= 0 else [node]
    return cells.index(node) if node in cells else MAX_COLUMNS


def _address(page: Outline, node: int, url: str, echo: QueryValues) -> str:
    """Returns the address of a link, without session ids and without parameters that only repeat
    the query (`echo`); "" if the node is not a link to a page."""
    if page.tags[node] != "a":
        return ""
    href = (page.elements[node].get("href") or "").strip()
    if not href or href.startswith(("#", "javascript:", "mailto:", "tel:", "data:")):
        return ""
    try:
        address = canonical(urljoin(url, href))
    except (UrlError, ValueError):
        return ""
    parts = urlsplit(address)
    in_query = {(name, value.casefold()) for name, value in echo}
    words = {
        value.casefold()
        for _, value in echo
        if len(value) >= _ECHOED and not value.isdecimal() or not value.isascii()
    }
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    kept = [
        (name, value)
        for name, value in pairs
        if (name, value.casefold()) not in in_query
        and value.casefold() not in words
        and not _is_session(name, value)
    ]
    return (
        urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(kept), ""))
        if len(kept) < len(pairs)
        else address
    )


def _is_session(name: str, value: str) -> bool:
    """Tells whether an address parameter is a session id, which would give one record a different
    address in each answer."""
    return (
        bool(_SESSION.match(name))
        and len(value) >= _SESSION_LENGTH
        and any(letter.isdigit() for letter in value)
    )


def _anchors(
    page: Outline, url: str, echo: QueryValues, page_template: PageTemplate
) -> list[_Anchor]:
    """Returns the links of a page that may lead to records: links that are neither in the page
    template (`page_template`) nor in navigation, and do not lead to another view or page of this
    list. `echo` are the values of the query.
    """
    own = urlsplit(url)
    asked = frozenset(name for name, value in echo if value.strip())
    beside = _nodes_in(page, _BESIDE)
    found = []
    for node in range(len(page)):
        if page.tags[node] != "a" or beside[node]:
            continue
        address = _address(page, node, url, echo)
        if not address or address in page_template.links:
            continue
        parts = urlsplit(address)
        text = page.text(node)[:_LONGEST]
        if (
            parts.path == own.path
            and parts.netloc == own.netloc
            and _is_same_list(urljoin(url, page.elements[node].get("href").strip()), url, asked)
        ):
            continue
        if page_direction(text) or parts.path == own.path and page_number(text) is not None:
            continue
        found.append(_Anchor(node, address, _path(page, node), text))
    return _without_filters(page, found, own.path)


def _without_filters(page: Outline, anchors: Sequence[_Anchor], path: str) -> list[_Anchor]:
    """Returns the links without those that follow the link of each record in the same element and
    only name what several records share (a genre, a tag): of the links with one tag path, the first
    of each parent is kept if these all differ, while the others repeat or are the only ones that
    lead to the list's own `path`."""
    groups: dict[str, dict[int, list[_Anchor]]] = defaultdict(lambda: defaultdict(list))
    for anchor in anchors:
        groups[anchor.path][page.parents[anchor.node]].append(anchor)
    dropped: set[int] = set()
    for rows in groups.values():
        firsts = {own[0].url for own in rows.values()}
        others = [a for own in rows.values() for a in own[1:] if a.url != own[0].url]
        filters = len({anchor.url for anchor in others}) < len(others) or (
            all(urlsplit(anchor.url).path == path for anchor in others)
            and not any(urlsplit(url).path == path for url in firsts)
        )
        if len(rows) >= _MIN_LEARNED and len(firsts) == len(rows) and filters:
            dropped.update(anchor.node for anchor in others)
    return [anchor for anchor in anchors if anchor.node not in dropped]


def _is_same_list(target: str, url: str, asked: frozenset[str]) -> bool:
    """Tells whether an address with the same path as this page (`url`) probably shows the same
    list, or the answer to another query: its query string repeats an input of the query (`asked`),
    one of the two query strings is empty, or it keeps a part of the page's own and changes only
    what counts and orders. A program with one path for everything shows lists and records by the
    values of the same parameters."""
    theirs, mine = (dict(parse_qsl(urlsplit(each).query)) for each in (target, url))
    if not theirs or not mine or asked & theirs.keys():
        return True
    return bool(mine.items() & theirs.items()) and shows_otherwise(mine, theirs)


def _nodes_in(page: Outline, tags: frozenset[str]) -> list[bool]:
    inside = [False] * len(page)
    ends = Counter(_path(page, node) for node in range(len(page)) if page.tags[node] in _ENDS)
    for node in range(len(page)):
        parent = page.parents[node]
        own = page.tags[node] in tags and not (
            page.tags[node] in _ENDS
            and (
                ends[_path(page, node)] >= _MIN_LEARNED
                or any(page.tags[p] in _ITEMS for p in _parents(page, parent))
            )
        )
        inside[node] = own or (parent >= 0 and inside[parent])
    return inside


def _learn_by_links(
    page: Outline, anchors: Sequence[_Anchor]
) -> tuple[list[Record], ListShape] | None:
    """Returns the records and the layout of a page, learned from its links: links with the same tag
    path form a group, and the group that most likely marks the records (`_score`) is taken. None if
    no group has two different addresses.
    """
    groups: dict[str, list[_Anchor]] = defaultdict(list)
    for anchor in anchors:
        groups[anchor.path].append(anchor)
    ranked = sorted(groups.values(), key=lambda group: -len({anchor.url for anchor in group}))[
        :_MAX_GROUPS
    ]
    found: list[_Candidate] = []
    for group in ranked:
        if len({anchor.url for anchor in group}) < _MIN_LEARNED:
            break
        records = [
            record
            for _, record in records_around(page, [(anchor.node, anchor.url) for anchor in group])
        ]
        found.append(_Candidate(_score(page, group, records), group, records))
    if not found:
        return None
    best = max(found, key=itemgetter(0))
    best = next((other for other in found if _holds(page, other, best)), best)
    return best.records, _shape_of(page, best.records, best.group[0].path)


class _Candidate(NamedTuple):
    score: float
    group: Sequence[_Anchor]
    records: list[Record]


def _holds(page: Outline, outer: _Candidate, inner: _Candidate) -> bool:
    """Tells whether the links of `inner` are details of the records of `outer`, such as the tags of
    a row: they lie inside these, several in one, and are shorter than the links of `outer`."""
    urls, rows = len({anchor.url for anchor in inner.group}), len(outer.records)
    if not rows < urls <= _MAX_DETAILS * rows:
        return False
    tops = sorted(node for record in outer.records for node in record)
    inside = sum(
        (at := bisect_right(tops, anchor.node) - 1) >= 0 and page.contains(tops[at], anchor.node)
        for anchor in inner.group
    )
    lengths = [
        sum(len(anchor.text) for anchor in each.group) / len(each.group) for each in (inner, outer)
    ]
    return inside >= _NEARLY_ALL * len(inner.group) and lengths[0] < lengths[1]


def _score(page: Outline, group: Sequence[_Anchor], records: Sequence[Record]) -> float:
    """Scores how likely the links `group` are the records' own links: by the number of `records`
    that they delimit, how similar these are in structure, how much text they and the links have,
    and whether the links are in headings.
    """
    urls = len({anchor.url for anchor in group})
    heading = any(
        page.tags[parent] in _HEADINGS
        for anchor in group[:3]
        for parent in _parents(page, anchor.node)
    )
    words = sum(len(anchor.text) for anchor in group) / len(group)
    text = sum(sum(page.text_length(node) for node in record) for record in records) / max(
        1, len(records)
    )
    alike = Counter(tuple(page.shapes[node] for node in record) for record in records).most_common(
        1
    )
    even = alike[0][1] / len(records) if alike else 0.0
    return (
        len(records) * (0.5 + even)
        + 0.3 * min(urls, len(records)) * heading
        + min(words, 80) / 80
        + min(text, 400) / 100
    )


def _parents(page: Outline, node: int) -> Iterable[int]:
    while node >= 0:
        yield node
        node = page.parents[node]


def _shape_of(page: Outline, records: Sequence[Record], link: str) -> ListShape:
    paths = Counter(_path(page, record[0], columns=False) for record in records)
    return ListShape(paths.most_common(1)[0][0], link, any(len(record) > 1 for record in records))


def _learn_by_rows(
    page: Outline, page_template: PageTemplate
) -> tuple[list[Record], ListShape] | None:
    """Returns the records and the layout of a page without links to records: the set of similar
    sibling elements with most text that is not in the page template; of sets with about as much
    text, the outermost. None if there is none.
    """
    beside = _nodes_in(page, _BESIDE | {"form"})
    old = _old_lines(page, page_template)
    new = [0] * len(page)
    for piece in page.pieces:
        if piece.line not in old and not beside[piece.node]:
            for node in _parents(page, piece.node):
                new[node] += len(piece.text)
    best: tuple[int, list[int]] | None = None
    for parent in range(len(page)):
        if new[parent] == 0 or best is not None and new[parent] < 0.8 * best[0]:
            continue
        groups: dict[str, list[int]] = defaultdict(list)
        for child in page.children(parent):
            if new[child] and page.tags[child] not in ("thead", "td", "th", "option", "p", "br"):
                groups[page.shapes[child]].append(child)
        for shape_nodes in groups.values():
            lines = sum(new[node] for node in shape_nodes)
            if (
                len(shape_nodes) >= _MIN_LEARNED
                and _are_alike(page, shape_nodes)
                and (best is None or lines > 1.25 * best[0])
            ):
                best = lines, shape_nodes
    if best is None:
        return None
    records: list[Record] = [(node,) for node in best[1] if not _is_header(page, node)]
    return (records, _shape_of(page, records, "")) if records else None


def _old_lines(page: Outline, page_template: PageTemplate) -> frozenset[int]:
    """Returns the numbers of the lines of `page` that belong to the page template
    (`page_template`)."""
    lines: dict[int, list[str]] = defaultdict(list)
    for piece in page.pieces:
        lines[piece.line].append(piece.text)
    return frozenset(
        number for number, parts in lines.items() if " ".join(parts) in page_template.lines
    )


def _are_alike(page: Outline, nodes: Sequence[int]) -> bool:
    """Tells whether sibling elements have similar structure: of the first twelve, consecutive ones
    share on average at least half of their inner elements' tags and classes."""
    sets = [frozenset(page.shapes[node + 1 : page.ends[node]]) for node in nodes[:12]]
    shared = [
        len(a & b) / max(1, len(a | b)) if a or b else 1.0
        for a, b in zip(sets, sets[1:], strict=False)
    ]
    return sum(shared) >= 0.5 * len(shared)


def _is_header(page: Outline, node: int) -> bool:
    cells = page.children(node)
    return (
        page.tags[node] == "tr" and bool(cells) and all(page.tags[cell] == "th" for cell in cells)
    )


def _by_shape(
    page: Outline, anchors: Sequence[_Anchor], shape: ListShape, page_template: PageTemplate
) -> list[Record]:
    if shape.flat:
        own = [(anchor.node, anchor.url) for anchor in anchors if anchor.path == shape.link]
        return [
            record
            for _, record in records_around(
                page, own, lambda node: _path(page, node, False) == shape.top
            )
        ]
    last = shape.top.rpartition("/")[2]
    old = _old_lines(page, page_template)
    linked = sorted(anchor.node for anchor in anchors if anchor.path == shape.link)
    found: list[Record] = []
    for node in range(len(page)):
        if (
            page.shapes[node] != last
            or _path(page, node, columns=False) != shape.top
            or _is_header(page, node)
        ):
            continue
        inside = page.pieces[page.piece_from[node] : page.piece_to[node]]
        if (
            _first_in(page, linked, node) is not None
            or not shape.link
            and any(piece.line not in old for piece in inside)
        ):
            found.append((node,))
    return found
