"""Checks whether pages still agree with the site's model, so that a changed layout is noticed
before data is lost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from statistics import median

from forums.discovery.model import Layout, SiteModel
from forums.discovery.pages import PageFacts
from forums.discovery.shapes import shape
from forums.reading import PageKind, PageReading
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
