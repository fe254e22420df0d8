"""The structure of a site as values that convert to JSON: shown and corrected on the desk, used for reading in every visit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from forums.reading.model import Shapes

VERSION = 1


@dataclass(frozen=True, slots=True)
class BoardFound:
    """A board: a list of threads with its own address and name.

    `parent_url` is the parent board of a sub-board (not a category that only contains boards). `threads_seen` counts the rows of
    the pages read; `has_last_reply` and `sort` are None if no row shows it. `rows` are the first rows as a preview: title, url,
    author, replies, last_reply, pinned.
    """

    url: str
    name: str
    parent_url: str | None = None
    position: int = 0
    threads_seen: int = 0
    has_last_reply: bool | None = None
    sort: str | None = None
    per_page: int | None = None
    rows: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Flip:
    """How the address of a further page is formed: `pattern`, in which {n} is the number, replaces or follows a part of the first
    page's address; page n has the number first + step * (n - 1). An address with a `cursor` cannot be computed, only followed."""

    pattern: str
    step: int = 1
    first: int = 1
    cursor: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """What pages of one kind have in common: rows per page, fields present on most pages, class names on all of them, and the
    shapes of a list's titles and of the links beside its rows (see `shapes_of`)."""

    kind: str
    rows: int
    roles: tuple[str, ...]
    marks: tuple[str, ...]
    titles: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceFound:
    """An overview source: `kind` is index (a page with figures of boards), newest (a page of all boards' threads, newest first),
    feed (RSS or Atom) or api (a JSON list of the forum software). `boards`: the keys of the boards that it shows; () for a feed
    or JSON list, because only its address is known until it is read."""

    url: str
    kind: str
    boards: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lesson:
    """How often a claim about readings (see `lessons.CLAIMS`) held on related pages: in `kept` of `of` cases. `choice`: the
    reading for which it held best, "" if there was only one."""

    claim: str
    kept: int
    of: int
    choice: str = ""


@dataclass(frozen=True, slots=True)
class BoardUnread:
    """A board that was found but not read, and why: `robots`, `login`, `cut` (the exploration reached its limit), `unreadable`,
    or how its page failed."""

    url: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class SiteModel:
    """What was learned about a site. `patterns`: shapes of addresses by kind (index, list, thread, profile, alias), with # for
    digits and * for changing words. `timezone_evidence` and `confidence`: how the time zone was found (see `ZoneGuess`).
    `counts_posts`: whether lists count posts (True) or replies (False), None if the sample did not show it. `pagers`: for each
    kind of page that offers several next-page links, the position of the right one (see `PageReading.rivals`). `lessons`: what
    related pages showed about the readings; `rules`: the selectors chosen by it (see `SiteRules.to_json`). `unread`: the boards
    found but not read."""

    name: str
    root: str
    engine: str = "unknown"
    timezone: str = "UTC"
    timezone_evidence: str = "none"
    timezone_confidence: float = 0.0
    day_first: bool | None = None
    boards: tuple[BoardFound, ...] = ()
    patterns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    list_flip: Flip | None = None
    thread_flip: Flip | None = None
    posts_per_page: int | None = None
    layouts: tuple[Layout, ...] = ()
    pages_read: int = 0
    counts_posts: bool | None = None
    sources: tuple[SourceFound, ...] = ()
    pagers: tuple[tuple[str, str], ...] = ()
    lessons: tuple[Lesson, ...] = ()
    unread: tuple[BoardUnread, ...] = ()
    rules: Mapping[str, Any] | None = None
    version: int = VERSION

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready form that `from_json` reads back."""
        value = asdict(self)
        value["patterns"] = {kind: list(shapes) for kind, shapes in self.patterns}
        value["boards"] = [{**asdict(board), "rows": [dict(row) for row in board.rows]} for board in self.boards]
        value["layouts"] = [
            {name: list(told) if isinstance(told, tuple) else told for name, told in asdict(layout).items()}
            for layout in self.layouts
        ]
        value["sources"] = [{**asdict(source), "boards": list(source.boards)} for source in self.sources]
        value["pagers"] = dict(self.pagers)
        value["lessons"] = [asdict(lesson) for lesson in self.lessons]
        value["unread"] = [asdict(board) for board in self.unread]
        return value

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> SiteModel:
        """Reads `to_json`'s form; ValueError for another version, KeyError or TypeError for anything else."""
        if value.get("version") != VERSION:
            raise ValueError(f"a site model of version {value.get('version')!r}, not {VERSION}")
        fields = dict(value)
        fields["patterns"] = tuple((kind, tuple(shapes)) for kind, shapes in value["patterns"].items())
        fields["boards"] = tuple(BoardFound(**{**board, "rows": tuple(board["rows"])}) for board in value["boards"])
        fields["layouts"] = tuple(
            Layout(
                one["kind"],
                one["rows"],
                *(tuple(one[name]) for name in ("roles", "marks")),
                *(tuple(one.get(name, ())) for name in ("titles", "others")),
            )
            for one in value["layouts"]
        )
        given = value.get("sources", ())
        fields["sources"] = tuple(SourceFound(one["url"], one["kind"], tuple(one["boards"])) for one in given)
        fields["pagers"] = tuple((kind, source) for kind, source in value.get("pagers", {}).items())
        fields["lessons"] = tuple(Lesson(**one) for one in value.get("lessons", ()))
        fields["unread"] = tuple(BoardUnread(**one) for one in value.get("unread", ()))
        for name in ("list_flip", "thread_flip"):
            fields[name] = Flip(**value[name]) if value[name] else None
        return SiteModel(**fields)

    def pager(self, kind: str) -> str:
        """The position of the right next-page link on pages of a kind; "" if the link that the reader takes is right."""
        return dict(self.pagers).get(kind, "")

    @property
    def known(self) -> Shapes:
        """The shapes of titles and side links on the site's lists of threads."""
        told = [Shapes(frozenset(one.titles), frozenset(one.others)) for one in self.layouts if one.kind == "threadlist"]
        return told[0] if told else Shapes()

    def shapes(self, kind: str) -> tuple[str, ...]:
        """The shapes of the addresses of pages of one kind."""
        return next((shapes for named, shapes in self.patterns if named == kind), ())
