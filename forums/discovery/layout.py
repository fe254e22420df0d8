"""Checks whether pages still agree with the site's model, so that a changed layout is noticed;
compares a model learned again with the old one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from statistics import median
from typing import Any

from forums.discovery.model import Layout, SiteModel
from forums.discovery.pages import PageFacts
from forums.discovery.shapes import shape
from forums.reading import PageKind, PageReading, board_key, thread_key
from forums.reading.model import Shapes

_IN_MOST = 0.7


_LOOKS_ALIKE = 0.5


_FEWEST_MARKS = 4


# fields without which a thread, a board or a post cannot be identified
_VITAL = frozenset(("title", "name", "author", "posted", "text"))


@dataclass(frozen=True, slots=True)
class LayoutChange:
    """How the pages of one kind no longer fit the model.

    `reasons` are codes: `marks` (other class names, as of a new theme), `kind` (lists or threads
    are no longer recognised), `rows` (far fewer rows per page), `roles` (fields that were present
    are missing; the attribute `roles` names them), `addresses` (threads or boards have addresses of
    another form).

    `broken`: readings are unreliable, for a reason other than `marks` and `roles`, or because a
    missing field is one that identifies a record.
    """

    kind: str
    reasons: tuple[str, ...]
    roles: tuple[str, ...] = ()

    @property
    def broken(self) -> bool:
        return any(reason not in ("marks", "roles") for reason in self.reasons) or bool(
            _VITAL & set(self.roles)
        )


def roles(reading: PageReading) -> frozenset[str]:
    """Returns the names of the fields that at least 70 % of a page's records have."""
    records = reading.records
    if not records:
        return frozenset()
    names = [field.name for field in fields(records[0])]
    return frozenset(
        name
        for name in names
        if sum(getattr(record, name) not in (None, "", False) for record in records)
        >= _IN_MOST * len(records)
    )


def learn(pages: Iterable[PageFacts]) -> tuple[Layout, ...]:
    """Returns the layout of each kind of page, learned from a sample: the typical number of rows,
    the fields present on most pages, the class names present on all, and the link shapes of its
    lists (see `Shapes`)."""
    by_kind: dict[PageKind, list[PageFacts]] = defaultdict(list)
    for page in pages:
        if page.reading.records:
            by_kind[page.kind].append(page)
    layouts = []
    for kind, group in sorted(by_kind.items()):
        if kind is PageKind.other:
            continue
        counted = [roles(page.reading) for page in group]
        common = {name for found in counted for name in found}
        kept = [
            name
            for name in sorted(common)
            if sum(name in found for found in counted) >= _IN_MOST * len(counted)
        ]
        shared = frozenset.intersection(*(page.marks for page in group))
        rows = round(median(len(page.reading.records) for page in group))
        shapes = _shapes([page.reading.shapes for page in group])
        layouts.append(
            Layout(
                str(kind),
                rows,
                tuple(kept),
                tuple(sorted(shared)),
                *(tuple(sorted(part)) for part in shapes),
            )
        )
    return tuple(layouts)


def _shapes(pages: Sequence[Shapes]) -> Shapes:
    """Combines the link shapes of several lists into one result. If a shape belongs to titles on
    some lists and to other links on others, the more frequent use wins; a tie removes the shape.
    Shapes of other links are kept only if they occur on at least half of the lists."""
    titles = Counter(shape for page in pages for shape in page.titles)
    others = Counter(shape for page in pages for shape in page.others)
    return Shapes(
        frozenset(shape for shape, times in titles.items() if times > others[shape]),
        frozenset(
            shape
            for shape, times in others.items()
            if times > titles[shape] and 2 * times >= len(pages)
        ),
    )


def recheck(model: SiteModel, pages: Sequence[tuple[str, PageFacts]]) -> LayoutChange | None:
    """Returns how the first kind of page that no longer fits the model differs from it; None if
    every kind fits.

    `pages`: pairs of the kind expected and the facts of a page. A single page of a kind is judged
    by its class names, by whether it can be read as that kind, and by the addresses on it; numbers
    of rows and missing fields are judged only on several pages.
    """
    by_kind: dict[str, list[PageFacts]] = defaultdict(list)
    for kind, page in pages:
        if page.status == 200:
            by_kind[kind].append(page)
    for layout in model.layouts:
        change = _compare(layout, by_kind.get(layout.kind, []), model)
        if change is not None:
            return change
    return None


def _compare(layout: Layout, pages: list[PageFacts], model: SiteModel) -> LayoutChange | None:
    if not pages:
        return None
    reasons: list[str] = []
    lost: frozenset[str] = frozenset()
    marks = frozenset(layout.marks)
    if len(marks) >= _FEWEST_MARKS and all(
        len(marks & page.marks) < _LOOKS_ALIKE * len(marks) for page in pages
    ):
        reasons.append("marks")
    readable = [page for page in pages if str(page.kind) == layout.kind and page.reading.records]
    if len(readable) * 2 < len(pages):
        reasons.append("kind")
    elif len(readable) > 1:
        # leaves out last pages, because short threads and small boards have few rows anyway
        full = [page for page in readable if page.reading.next]
        if len(full) > 1 and median(len(page.reading.records) for page in full) * 4 < layout.rows:
            reasons.append("rows")
        lost = frozenset(layout.roles) - frozenset().union(
            *(roles(page.reading) for page in readable)
        )
        lost &= _VITAL | {"replies", "last_reply"}
        if lost:
            reasons.append("roles")
    if readable and _written_otherwise(layout, readable, model):
        reasons.append("addresses")
    return LayoutChange(layout.kind, tuple(reasons), tuple(sorted(lost))) if reasons else None


def _written_otherwise(layout: Layout, pages: list[PageFacts], model: SiteModel) -> bool:
    kind = {"index": "list", "threadlist": "thread"}.get(layout.kind)
    known = frozenset(model.shapes(kind)) if kind else frozenset()
    forms = [
        shape(record.url)
        for page in pages
        for record in page.reading.records
        if getattr(record, "url", None)
    ]
    return bool(known and forms) and sum(form in known for form in forms) * 2 < len(forms)


BOARDS_FOUND = 0.8


THREADS_KNOWN = 0.5


POSTS_KNOWN = 0.5


_CORE = {
    "threadlist": frozenset(("url", "title", "replies", "last_reply")),
    "thread": frozenset(("author", "posted", "text")),
}


@dataclass(frozen=True, slots=True)
class Stored:
    """The stored data of a site that a sample of its pages can be compared with.

    `boards` maps the keys of the boards in use to their names; `visited` does so for boards with at
    least one completed visit. `threads` are the keys of those threads listed in the sample that are
    stored (a thread stored under another address counts if it is certainly the same). `posts_known`
    is the share of the sample's posts that are stored, counted over threads that have stored posts;
    None if there are none.
    """

    boards: Mapping[str, str]
    visited: Mapping[str, str]
    threads: Collection[str]
    posts_known: float | None


def listed_threads(model: SiteModel, visited: Mapping[str, str]) -> set[str]:
    """Returns the keys of the threads in the first rows of a model's boards. Only boards whose key
    or name is in `visited` (names of boards by key) are included, because the threads of others
    need not be stored."""
    names = {name.casefold() for name in visited.values()}
    boards = [
        board
        for board in model.boards
        if board_key(board.url) in visited or board.name.casefold() in names
    ]
    return {thread_key(str(row["url"])) for board in boards for row in board.rows if row.get("url")}


def disagreements(old: SiteModel, new: SiteModel, stored: Stored) -> tuple[str, ...]:
    """Returns codes of reasons against the new model; empty if it agrees with the old model and the
    stored data.

    `nothing_read`: no list of threads could be read. `boards_lost`: less than 80 % of the stored
    boards were found, by the site's own id or by name. `threads_unknown`: fewer than half of the
    listed threads are stored. `posts_differ`: fewer than half of the posts are stored.
    `roles_lost`: a field that is needed to detect changes or to identify threads is no longer read.
    """
    if not new.boards or not any(layout.kind == "threadlist" for layout in new.layouts):
        return ("nothing_read",)
    found = {board_key(board.url) for board in new.boards}
    names = {board.name.casefold() for board in new.boards}
    kept = sum(key in found or name.casefold() in names for key, name in stored.boards.items())
    codes = []
    if kept < BOARDS_FOUND * len(stored.boards):
        codes.append("boards_lost")
    rows = listed_threads(new, stored.visited)
    if rows and len(rows & set(stored.threads)) < THREADS_KNOWN * len(rows):
        codes.append("threads_unknown")
    if stored.posts_known is not None and stored.posts_known < POSTS_KNOWN:
        codes.append("posts_differ")
    layouts = {layout.kind: frozenset(layout.roles) for layout in new.layouts}
    for layout in old.layouts:
        needed = frozenset(layout.roles) & _CORE.get(layout.kind, frozenset())
        if layout.kind in layouts and needed - layouts[layout.kind]:
            codes.append("roles_lost")
            break
    return tuple(codes)


def merged(old: SiteModel, new: SiteModel) -> SiteModel:
    """Returns the new model, completed from the old one where a small sample of pages need not show
    it: the time zone and its evidence, the name, the order of dates, and kinds of addresses and
    pagination that are missing in the new one.
    """
    kinds = {kind for kind, _shapes in new.patterns}
    kept: dict[str, Any] = {
        name: getattr(old, name)
        for name in ("day_first", "list_flip", "thread_flip", "posts_per_page", "counts_posts")
        if hasattr(old, name) and getattr(new, name) is None
    }
    layouts = {layout.kind for layout in new.layouts}
    return replace(
        new,
        name=old.name,
        engine=old.engine if new.engine == "unknown" else new.engine,
        timezone=old.timezone,
        timezone_evidence=old.timezone_evidence,
        timezone_confidence=old.timezone_confidence,
        patterns=(*new.patterns, *(pair for pair in old.patterns if pair[0] not in kinds)),
        layouts=(*new.layouts, *(layout for layout in old.layouts if layout.kind not in layouts)),
        pagers=new.pagers or old.pagers,
        former_hosts=tuple(dict.fromkeys((*old.former_hosts, *new.former_hosts))),
        **kept,
    )
