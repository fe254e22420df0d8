"""Accuracy of readings: compares a reading with the checked records of the page, and averages over
pages so that each forum software has the same weight."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, unquote, urljoin, urlsplit

Truth = Mapping[str, Any]
Document = Mapping[str, Any]
_BLANKS = re.compile(r"[\s\u200b\u200e\u200f\ufeff]+")
_SESSION = re.compile(r"[0-9a-fA-F]{32}")
_OFFSET = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?)([+-]\d\d:?\d\d)")
# A true and a predicted post match by the key, the first _KEY characters of the true text. The
# predicted text begins with it, or has it (at least _SHORTEST characters) within its first _INSIDE
# characters, or its first _KEY characters are part of the key (predicted text of at least
# _SHORT_TEXT characters).
_KEY, _INSIDE, _SHORTEST, _SHORT_TEXT = 30, 400, 8, 15
ENOUGH = 0.9
"""A reading is incomplete if it has less than this share of the page's true records."""


def bare(text: str | None) -> str:
    """Returns a text without white space and direction marks, in Unicode normal form C; "" for
    None."""
    return unicodedata.normalize("NFC", _BLANKS.sub("", text or ""))


def name_key(text: str | None) -> str:
    """Returns a key that is equal for names or titles that differ only in white space, direction
    marks and case."""
    return bare(text).casefold()


def address_key(url: str | None, truth: Truth) -> str | None:
    """Returns an address in the form in which truth and reading are compared: absolute, without
    scheme, fragment, trailing slash and session; None for an empty one. truth: gives the page's
    address."""
    if not url:
        return None
    base = (
        urljoin(truth["base_url"], truth["base_href"])
        if truth.get("base_href")
        else truth["base_url"]
    )
    url = urljoin(base, str(url).strip())
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port and parts.port not in (80, 443) else ""
    except ValueError:
        return url
    query = sorted(
        (name, value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
        if name.lower() not in ("sid", "phpsessid")
        and not (name == "s" and _SESSION.fullmatch(value))
    )
    tail = "?" + "&".join(f"{name}={value}" for name, value in query) if query else ""
    return f"{(parts.hostname or '').lower()}{port}{unquote(parts.path).rstrip('/')}{tail}"


def _minutes(value: Any) -> list[str]:
    """Returns a predicted time to the minute ("2026-11-06T13:03"), without its offset: as written
    and, if it has an offset, also converted to UTC; empty for no time."""
    if not value:
        return []
    text = str(value).strip().replace(" ", "T", 1)
    made = [text[:16]]
    if offset := _OFFSET.fullmatch(text):
        made.append(
            datetime.fromisoformat(text[:16] + offset[2]).astimezone(UTC).strftime("%Y-%m-%dT%H:%M")
        )
    return made


def same_time(truth: str, others: Iterable[str], predicted: Any) -> bool:
    """Tells whether a predicted time equals the true one, or one of the `others` that are also
    accepted, to the minute, or to the day if the accepted time is only a date."""
    for wanted in (truth, *others):
        length = 10 if len(wanted) == 10 else 16
        if any(
            len(found) >= length and found[:length] == wanted[:length]
            for found in _minutes(predicted)
        ):
            return True
    return False


@dataclass
class Tally:
    """The comparison of a page's reading with its truth. `kind`: whether the kind is right.
    `truth`, `given` and `found` are numbers of records: true ones, returned ones, and true ones
    that were returned; records that the truth lists as optional (a reading may contain or lack
    them) are not counted. `asked` and `right` are the numbers of expected and of correct fields, by
    kind of field, such as "titles". `silent`: whether the reading is incomplete but reports no
    doubt; None for pages without records.
    """

    kind: bool = False
    truth: int = 0
    found: int = 0
    given: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    silent: bool | None = None

    @property
    def is_perfect(self) -> bool:
        """Tells whether the kind is right and exactly the true records were found."""
        return self.kind and self.found == self.truth == self.given


def _pair_posts(truth: Truth, records: Sequence[Document]) -> tuple[dict[int, int], int]:
    """Pairs the true posts of `truth` with the predicted `records` by the beginnings of their texts
    and by authors. Returns {true post: predicted post} (positions), and the number of predicted
    posts that match neither a true nor an optional post.
    """
    posts = truth["records"]
    texts = [bare(record.get("text")) for record in records]
    people = [name_key(record.get("author")) for record in records]
    starts = [(post.get("text_start"), *(post.get("text_alts") or [])) for post in posts]
    keys = [[bare(text)[:_KEY] for text in each if text is not None] for each in starts]
    later = [[bare(text)[:_KEY] for text in post.get("text_later") or []] for post in posts]
    authors = [
        {name_key(name) for name in (post.get("author"), *(post.get("author_alt") or [])) if name}
        for post in posts
    ]
    pairs: dict[int, int] = {}
    taken: set[int] = set()

    def equal(post: int, at: int) -> bool:
        return any(texts[at][:_KEY] == key for key in keys[post])

    def inside(post: int, at: int) -> bool:
        return any(
            (len(key) >= _SHORTEST and key in texts[at][:_INSIDE])
            or (len(texts[at]) >= _SHORT_TEXT and texts[at][:_KEY] in key)
            for key in keys[post]
        )

    def by_same(test: Callable[[int, int], bool]) -> Callable[[int, int], bool]:
        return lambda post, at: people[at] in authors[post] and test(post, at)

    for test in (
        by_same(equal),
        equal,
        by_same(inside),
        inside,
        by_same(lambda post, at: texts[at][:_KEY] in later[post]),
    ):
        for post in range(len(posts)):
            if post not in pairs:
                at = next(
                    (at for at in range(len(records)) if at not in taken and test(post, at)), None
                )
                if at is not None:
                    pairs[post] = at
                    taken.add(at)
    optional = Counter(
        name_key(record.get("author")) for record in truth.get("optional_records", [])
    )
    wrong = 0
    for at in range(len(records)):
        if at not in taken:
            if optional[people[at]]:
                optional[people[at]] -= 1
            else:
                wrong += 1
    return pairs, wrong


def _pair_rows(truth: Truth, records: Sequence[Document]) -> tuple[dict[int, int], int]:
    """Pairs the true rows of `truth` with the predicted `records` by their addresses. Returns {true
    row: predicted row} (positions), and the number of predicted rows that are wrong: not paired,
    and not optional."""
    places: dict[str | None, int] = {}
    for at, record in enumerate(truth["records"]):
        places.setdefault(address_key(record["url"], truth), at)
    optional = {address_key(url, truth) for url in truth.get("optional_urls", [])}
    pairs: dict[int, int] = {}
    wrong = 0
    for at, record in enumerate(records):
        key = address_key(record.get("url"), truth)
        row = places.get(key)
        if row is not None and row not in pairs:
            pairs[row] = at
        elif row is not None or key not in optional:
            wrong += 1
    return pairs, wrong


_COUNTS = {"threadlist": ("replies",), "index": ("threads", "posts"), "thread": ()}


def _fields(kind: str, wanted: Document, got: Document | None) -> Iterable[tuple[str, bool]]:
    """Yields (figure, whether it is correct) for each field that the true record `wanted` has; the
    figures are "replies", "times", "authors" and "titles". kind: the kind of the page; got: the
    predicted record, None if it is missing.
    """
    for name in _COUNTS.get(kind, ()):
        if wanted.get(name) is not None:
            yield (
                "replies",
                got is not None
                and got.get(name)
                in [
                    wanted[name],
                    *(wanted.get(f"{name}_alt") or []),
                ],
            )
    name = "posted" if kind == "thread" else "last_reply"
    if wanted.get(f"{name}_iso"):
        yield (
            "times",
            got is not None
            and same_time(
                wanted[f"{name}_iso"], wanted.get(f"{name}_iso_alt") or [], got.get(name)
            ),
        )
    if wanted.get("author") and kind != "index":
        names = [name_key(text) for text in (wanted["author"], *(wanted.get("author_alt") or []))]
        yield "authors", got is not None and name_key(got.get("author")) in names
    title = wanted.get("title") or wanted.get("name")
    if title and kind != "thread":
        yield (
            "titles",
            got is not None and name_key(got.get("title") or got.get("name")) == name_key(title),
        )


def tally(truth: Truth, document: Document | None) -> Tally:
    """Compares a page's reading (JSON document) with its truth. A page without a reading (None)
    counts as all wrong."""
    read = document or {}
    records = read.get("records") or []
    kind = truth["kind"]
    pairs, wrong = (_pair_posts if kind == "thread" else _pair_rows)(truth, records)
    made = Tally(
        bool(document) and read.get("kind") == kind,
        len(truth["records"]),
        len(pairs),
        len(pairs) + wrong,
    )
    if "next" in truth:
        made.asked["next"] += 1
        made.right["next"] += bool(document) and address_key(
            read.get("next"), truth
        ) == address_key(truth["next"], truth)
    for at, wanted in enumerate(truth["records"]):
        got = records[pairs[at]] if at in pairs else None
        whole = got is not None
        for figure, right in _fields(kind, wanted, got):
            made.asked[figure] += 1
            made.right[figure] += right
            whole = whole and right
        made.right["all_right"] += whole
    made.asked["all_right"] = made.truth
    if made.truth:
        confidence = read.get("confidence")
        doubted = read.get("complete") is False or (
            isinstance(confidence, int | float) and confidence < 0.5
        )
        made.silent = made.found < ENOUGH * made.truth and not doubted
    return made


FIGURES = (
    "kind",
    "recall",
    "precision",
    "all_right",
    "replies",
    "times",
    "authors",
    "titles",
    "next",
    "silent",
)


def pooled(tallies: Sequence[Tally]) -> dict[str, float | None]:
    """Returns measures over several pages as shares in [0, 1], None where there is nothing to
    count. "kind" is the share of pages whose kind is right; "recall" and "precision" concern
    records; "titles" and the like are shares of correct fields; "silent" is the share of pages read
    incompletely without reporting a doubt."""

    def share(right: float, asked: float) -> float | None:
        return right / asked if asked else None

    asked_silent = [tally.silent for tally in tallies if tally.silent is not None]
    made = {
        "kind": share(sum(tally.kind for tally in tallies), len(tallies)),
        "recall": share(
            sum(tally.found for tally in tallies), sum(tally.truth for tally in tallies)
        ),
        "precision": share(
            sum(tally.found for tally in tallies), sum(tally.given for tally in tallies)
        ),
    }
    for name in FIGURES[3:-1]:
        made[name] = share(
            sum(tally.right[name] for tally in tallies), sum(tally.asked[name] for tally in tallies)
        )
    made["silent"] = share(sum(asked_silent), len(asked_silent))
    return made


def by_group(pairs: Iterable[tuple[str, Tally]]) -> dict[str, dict[str, float | None]]:
    """Returns the pooled figures of each group (see `pooled`), and as "macro" their means over the
    groups, in which every group has the same weight. A figure is None if there is nothing to count.
    pairs: (group, tally of a page).
    """
    groups: dict[str, list[Tally]] = defaultdict(list)
    for group, one in pairs:
        groups[group].append(one)
    made = {group: pooled(found) for group, found in sorted(groups.items())}
    macro: dict[str, float | None] = {}
    for name in FIGURES:
        values = [value for row in made.values() if (value := row[name]) is not None]
        macro[name] = sum(values) / len(values) if values else None
    return {"macro": macro, **made}
