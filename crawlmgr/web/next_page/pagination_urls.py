"""Pagination from addresses alone: finds the number in an address that counts pages, and tells
whether two addresses are pages of the same list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

COUNTERS = re.compile(
    r"page|pages|pg|p|pn|pageno|pagenum|pagenumber|page_number|paged|pagen_\d+|start|st|offset|skip"
    r"|from|begin|first|o|index|idx"
    r"|seite|pagina|strona|sida|sivu|página|list|currentpage|cur_page|curpage|pageindex|pageid"
    r"|thpage|fpage|catlistingoffset"
    r"|startindex|fh_start_index|(?!per_?page)[a-z]{1,12}[-_]?page|startat|pos",
    re.I,
)
CURSORS = re.compile(
    r"after|before|(?:[a-z]{1,8}[-_]?)?cursor|continue|continuation|token|page_?token|next|_next"
    r"|next_?id|last_?id|max_?id|since_?id|lastpost"
    r"|updated-max|until|ts|t|last|marker|key|from_?id",
    re.I,
)
_PATH_COUNTER = re.compile(
    r"(?:page|paged|pages|seite|pagina|strona|sida|index|start|offset|pg|st|list|p|s|o)(?:[-_=.,/]"
    r"|__)?$",
    re.I,
)
# names that some sites use for cursors of paging, but others for the id of the thread or item that
# the page shows
_SHORT_CURSORS = frozenset(("t", "ts", "key", "marker"))
_NOISE = re.compile(
    r"sid|phpsessid|s|session_?id|utm_\w+|sort\w*|order\w*|dir|direction|sk|sd|highlight|hl|extra"
    r"|filter"
    r"|scope|versionfrom|ref|lang|language|pp|perpage|per_page|limit|pagesize|\w*range|ie|mobile"
    r"|mode|view|ajax",
    re.I,
)
_SIZE = re.compile(r"limit|page_?size|pp|per_?page|show|count|num|rows|\w*range|max-results", re.I)
# Usual numbers of threads or posts per page. If only one numbered link is known (page n, number u
# in its address), u is taken to count entries only if u / (n - 1) is one of these.
_STEPS = frozenset(
    (
        5,
        8,
        10,
        12,
        15,
        16,
        18,
        20,
        24,
        25,
        30,
        32,
        35,
        36,
        40,
        45,
        48,
        50,
        60,
        64,
        75,
        80,
        90,
        96,
        100,
        150,
        200,
    )
)
_TAIL = re.compile(r"\d+$")
_ROUTED = re.compile(r"[^=&]*[/\d][^=&]*(?:&|$)")
_NAMED_SEGMENT = re.compile(r"([A-Za-z_]{2,20}):([^:]*)")
_DIGITS = re.compile(r"\d{1,7}")
_INDEX = re.compile(r"/(?:index|default|forum|home)\.(?:php|html?|aspx?|jsp|cgi)$", re.I)


class Slot(NamedTuple):
    """One number of an address that may count pages.

    `template` is the address with a placeholder for the number: host and path on a first line, the
    sorted query parameters on a second. `named` is True if a word before the number says that it
    counts pages or entries (`page=`, `start=`, `/page-`), or if it stands at the end of a longer
    parameter value (`f=garden.20`).
    """

    template: str
    number: int
    named: bool


class Address(NamedTuple):
    """The parts of an address by which lists are distinguished: host, path, and the (name, value)
    pairs of the query in their order, without session parameters."""

    host: str
    path: str
    query: tuple[tuple[str, str], ...]


def address(url: str) -> Address:
    """Parses an absolute URL to an Address: http and https alike, without `www.`, fragment and
    session parameters. A URL that cannot be parsed is returned whole as the path."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return Address("", url, ())
    host = parts.netloc.lower().removeprefix("www.")
    host = host.removesuffix(":80") if parts.scheme == "http" else host.removesuffix(":443")
    query = parts.query.replace(";", "&")
    path = unquote(parts.path)
    if _ROUTED.match(query):  # index.php?forums/name.3/page-2: the query begins with a path
        routed, _, query = query.partition("&")
        path = f"{path}?{unquote(routed)}"
    path, named = _named_segments(path)
    every = (*named, *parse_qsl(query, keep_blank_values=True))
    return Address(
        host, path, tuple((key, value) for key, value in every if not session_like(key, value))
    )


def _named_segments(path: str) -> tuple[str, list[tuple[str, str]]]:
    """Splits a path at its last segments of the form name:value, as in /questions/sort:age/page:2/.
    Returns the path before them, and their (name, value) pairs."""
    segments, named = path.rstrip("/").split("/"), []
    while len(segments) > 1 and (found := _NAMED_SEGMENT.fullmatch(segments[-1])):
        named.append((found[1], found[2]))
        segments.pop()
    return ("/".join(segments) + "/" if named else path), named[::-1]


def session_like(key: str, value: str) -> bool:
    """Tells whether a query parameter only identifies a visitor's session."""
    return key.lower() in ("sid", "phpsessid", "session_id", "sessionid") or (
        key == "s" and re.fullmatch(r"[0-9a-fA-F]{32}", value) is not None
    )


def slots(target: Address) -> Iterator[Slot]:
    """Yields a slot for every number of an address that may be a page number: first those of the
    path, then those of the query. A number that occurs several times yields one more slot at the
    end, in which a placeholder replaces all its occurrences.
    """
    single = list(_single_slots(target))
    yield from (slot for slot, _ in single)
    for number in {slot.number for slot, _ in single}:
        together = [(slot, hole) for slot, hole in single if slot.number == number]
        if len(together) > 1:
            path = target.path
            query = list(target.query)
            for _, (start, end) in sorted(together, key=lambda pair: pair[1], reverse=True):
                if end:
                    path = f"{path[:start]}{{}}{path[end:]}"
                else:
                    query[-start - 1] = (
                        query[-start - 1][0],
                        _TAIL.sub("{}", query[-start - 1][1]),
                    )
            yield Slot(
                _write(target, path=path, query=query),
                number,
                any(slot.named for slot, _ in together),
            )


def _single_slots(target: Address) -> Iterator[tuple[Slot, tuple[int, int]]]:
    """Yields (slot, position) for every number that may count pages. The position is the number's
    (start, end) in the path, or (-1 - i, 0) for the query parameter with index i."""
    for found in _DIGITS.finditer(target.path):
        before, after = target.path[: found.start()], target.path[found.end() :]
        if before[-1:].isdigit() or after[:1].isdigit():
            continue
        named = _PATH_COUNTER.search(before) is not None
        yield (
            Slot(_write(target, path=f"{before}{{}}{after}"), int(found.group()), named),
            found.span(),
        )
    for position, (key, value) in enumerate(target.query):
        tail = re.fullmatch(r"(.*?)(\d{1,7})", value)
        if tail is None or _SIZE.fullmatch(key):
            continue
        query = list(target.query)
        query[position] = (key, tail[1] + "{}")
        named = COUNTERS.fullmatch(key) is not None or tail[1] != ""
        yield Slot(_write(target, query=query), int(tail[2]), named), (-1 - position, 0)


def _write(
    target: Address,
    path: str | None = None,
    query: list[tuple[str, str]] | tuple[tuple[str, str], ...] | None = None,
) -> str:
    """Returns an address in the format of `Slot.template`; `path` and `query`, if given, replace
    those of `target`."""
    pairs = sorted(target.query if query is None else query)
    return "\n".join(
        (
            target.host + (target.path if path is None else path),
            "&".join(f"{k}={v}" for k, v in pairs),
        )
    )


def fits(n: int, u: int, step: int) -> bool:
    """Tells whether the address of page n may contain the number u if the numbers in addresses grow
    by `step` from page to page: for step 1, u is n or n - 1; for larger steps it is (n - 1) * step,
    n * step or (n - 1) * step + 1.
    """
    return u in ((n, n - 1) if step == 1 else ((n - 1) * step, n * step, (n - 1) * step + 1))


def page_of(u: int, step: int, base: int) -> int | None:
    """Returns the page number that belongs to the number u in an address, if page 1 has the number
    `base` there and each further page `step` more; None if no page has u."""
    if (u - base) % step:
        return None
    n = (u - base) // step + 1
    return n if n >= 1 else None


def relation(points: list[tuple[int, int]], named: bool = True) -> tuple[int, int] | None:
    """Finds how a number u in addresses depends on the page number n in the texts of the links,
    given (n, u) pairs. Returns (step, base) with u = base + step * (n - 1); None if u does not
    count pages.

    `named` tells whether a word before the number says that it counts pages; without such a word a
    single pair with n = 1 is no evidence.

    >>> relation([(2, 25), (3, 50)]), relation([(2, 2), (3, 3)]), relation([(2, 871), (3, 452)])
    ((25, 0), (1, 1), None)
    """
    distinct = sorted(set(points))
    if len(distinct) == 1:
        n, u = distinct[0]
        if n == 1 and not named:
            return None  # a parameter with one known value may be an id, for example of the board
        if u in (n, n - 1):
            return 1, u - n + 1
        if named and n > 1 and u % (n - 1) == 0 and u // (n - 1) in _STEPS:
            return u // (n - 1), 0
        return None
    slopes: dict[int, int] = {}
    for (n1, u1), (n2, u2) in zip(distinct, distinct[1:], strict=False):
        if n2 > n1 and u2 > u1 and (u2 - u1) % (n2 - n1) == 0:
            step = (u2 - u1) // (n2 - n1)
            slopes[step] = slopes.get(step, 0) + 1
    if not slopes:
        return None
    step = max(slopes, key=lambda s: slopes[s])
    bases = [u - step * (n - 1) for n, u in distinct if fits(n, u, step)]
    if len(bases) < 2 or len(bases) * 2 < len(distinct):
        return None
    return step, max(set(bases), key=bases.count)


def similarity(template: str, page: Address) -> float:
    """Returns how likely, in [0, 1], addresses of the form `template` (see `Slot.template`) are
    pages of the list to which the address `page` belongs.

    1 if `page` matches the template or only lacks the part with the placeholder; less for an
    address with the same path and fewer of the template's parameters; 0 for another host or another
    value of a shared parameter.
    """
    host_path, _, query = template.partition("\n")
    host, slash, path = host_path.partition("/")
    pairs = dict(pair.partition("=")[::2] for pair in query.split("&") if pair)
    if host != page.host:
        return 0.0
    own = dict(page.query)
    path_score = _path_similarity(slash + path, page.path)
    counted = {key for key, value in pairs.items() if "{}" in value}
    ids = {
        key: value
        for key, value in pairs.items()
        if key not in counted and not _NOISE.fullmatch(key)
    }
    own_ids = {
        key: value
        for key, value in own.items()
        if not _NOISE.fullmatch(key)
        and not (COUNTERS.fullmatch(key) and key not in ids)
        and key not in counted
    }
    for key in counted:
        prefix = pairs[key].replace("{}", "")
        if (
            key in own
            and prefix
            and not own[key].startswith(prefix)
            and own[key] != prefix.rstrip("/.,")
        ):
            # another list: board=18.20 belongs to board 18, a template with board=7.{} to board 7
            return 0.0
    shared = sum(own_ids.get(key) == value for key, value in ids.items())
    if any(key in own_ids and own_ids[key] != value for key, value in ids.items()):
        return 0.0
    total = len(ids.keys() | own_ids.keys())
    return path_score * (1.0 if total == 0 else 0.3 + 0.7 * shared / total)


_ADDED = re.compile(
    r"[-_/.,=a-z]{0,12}(?:[-_a-z]{0,12}\d{1,7}[-_]{1,2}(?:[a-z]{1,6}_{1,2})?)?\{\}/?(?:\.[a-z]{2,5}"
    r")?",
    re.I,
)
_FILLED = re.compile(r"[-_/.,=a-z]{0,12}\d{0,7}/?(?:\.[a-z]{2,5})?", re.I)


def _path_similarity(template: str, path: str) -> float:
    """Returns in [0, 1] how well a path fits a template's path: 1 if the path matches with a number
    in place of the placeholder, or equals the template without the part that contains it; otherwise
    at most 0.5."""
    plain, page = _INDEX.sub("/", template), _INDEX.sub("/", path)
    if "{}" not in template:
        return 1.0 if plain.rstrip("/") == page.rstrip("/") else 0.0
    before, after = template.split("{}", 1)
    if re.fullmatch(re.escape(before) + r"\d{1,7}" + re.escape(after), path):
        return 1.0
    start = 0
    limit = min(len(template), len(page))
    while start < limit and template[start] == page[start]:
        start += 1
    while start and (page[start - 1].isalnum() and page[start : start + 1].isalnum()):
        start -= 1  # moves the point of difference back to the beginning of a word or number
    left, right = template[start:], page[start:]
    if _ADDED.fullmatch(left) and _FILLED.fullmatch(right) and (start > 1 or not right):
        return 1.0
    words, own = set(re.findall(r"[^\W_]+", before)), set(re.findall(r"[^\W_]+", page))
    return 0.5 * len(words & own) / max(1, len(words | own))


def same_list(page: Address, target: Address) -> bool:
    """Tells, by the addresses alone, whether `target` may be a further page of the list at `page`:
    it differs only in parameters, or in one part of the path, that count pages."""
    if page.host != target.host:
        return False
    if page.path.rstrip("/") == target.path.rstrip("/") or (
        _INDEX.sub("/", page.path).rstrip("/") == _INDEX.sub("/", target.path).rstrip("/")
    ):
        return _query_counts(
            dict(page.query), dict(target.query), flags=any(char.isdigit() for char in page.path)
        )
    if any(
        dict(page.query).get(key, value) != value
        for key, value in target.query
        if not _NOISE.fullmatch(key)
    ):
        return False
    return any(slot.named and similarity(slot.template, page) >= 0.99 for slot in slots(target))


_FLAG = re.compile(r"[01]?|true|false|yes|no|on|off", re.I)


def _query_counts(own: dict[str, str], other: dict[str, str], flags: bool) -> bool:
    """Tells whether the query `other` differs from `own` only in parameters that count pages; both
    map names to values.

    With `flags`, `other` may also add a yes-or-no parameter together with the page number, as in
    /topic/10/?page=2&v=0. Set it only if the path identifies the thread: after a path such as
    index.php, such a parameter may select another topic.
    """
    if flags and any(COUNTERS.fullmatch(key) and key not in own for key in other):
        other = {
            key: value
            for key, value in other.items()
            if key in own or COUNTERS.fullmatch(key) or not _FLAG.fullmatch(value)
        }
    changed = {
        key
        for key in own.keys() | other.keys()
        if own.get(key) != other.get(key)
        and not _NOISE.fullmatch(key)
        and not _SIZE.fullmatch(key)
        and key in other
    }
    missing = {
        key
        for key in own
        if key not in other and not _NOISE.fullmatch(key) and not COUNTERS.fullmatch(key)
    }
    if not changed or any(not CURSORS.fullmatch(key) for key in missing):
        return False
    return all(
        COUNTERS.fullmatch(key)
        or CURSORS.fullmatch(key)
        or (key in own and _tail_counts(own[key], other[key]))
        for key in changed
    ) and any(key not in own or own[key] != other.get(key) for key in changed)


def shows_otherwise(own: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Tells whether the query `other` adds or changes only parameters that choose the part, the
    order or the look of the list that `own` shows; both map names to values.

    >>> shows_otherwise({"do": "find"}, {"do": "find", "@sort": "name", "p": "2"})
    True
    >>> shows_otherwise({"do": "find"}, {"do": "show", "p": "2"})
    False
    """
    changed = [name.strip("@:_") for name, value in other.items() if own.get(name) != value]
    return all(
        any(names.fullmatch(name) for names in (COUNTERS, _NOISE, _SIZE)) for name in changed
    )


def moves_cursor(page: Address, target: Address) -> bool:
    """Tells whether `target` differs from `page` only in the value of a cursor and in numbers that
    are larger or new, as in ?next=47296143&n=31. This is enough evidence for a link with
    `rel=next`, but not for a link that only says "next".

    >>> moves_cursor(address("http://news.example/newest?next=9&n=31"), \
address("http://news.example/newest?next=4&n=61"))
    True
    >>> moves_cursor(address("http://forum.example/topic?id=9"), \
address("http://forum.example/topic?id=10"))
    False
    """
    own, other = dict(page.query), dict(target.query)
    changed = {
        key
        for key in own.keys() | other.keys()
        if own.get(key) != other.get(key) and not _NOISE.fullmatch(key)
    }
    cursors = {
        key
        for key in changed
        if CURSORS.fullmatch(key) and key not in _SHORT_CURSORS and key in other
    }
    if (page.host, page.path.rstrip("/")) != (target.host, target.path.rstrip("/")) or not cursors:
        return False
    pairs = [(own.get(key, "0"), other.get(key, "")) for key in changed - cursors]
    return all(
        before.isdecimal() and after.isdecimal() and int(after) > int(before)
        for before, after in pairs
    )


def _tail_counts(own: str, other: str) -> bool:
    """Tells whether two parameter values consist of the same id and differ only in a number after
    it: 18.0 and 18.20, or garden and garden/20."""
    if re.fullmatch(re.escape(own) + r"[/.,]\d{1,7}", other):
        return True
    found, further = re.fullmatch(r"(.+\D)(\d+)", own), re.fullmatch(r"(.+\D)(\d+)", other)
    return found is not None and further is not None and found[1] == further[1]
