"""The learned structure of a site (its model) as values that convert to JSON: shown and corrected
in the web interface, used for reading pages in every visit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from forums.reading.model import Shapes

VERSION = 1


@dataclass(frozen=True, slots=True)
class BoardFound:
    """A board: a list of threads with its own address and name.

    `parent_url` is the parent board of a sub-board (not a category that only contains boards).
    `position` is its order of discovery. `threads_seen` counts the rows of the pages read;
    `has_last_reply` (whether rows show the time of the last reply) and `sort` ("last_reply" or
    "created") are None if not known. `per_page`: rows per page, None if the list has one page only.
    `rows` are the first rows as a preview: title, url, author, replies, last_reply, pinned.
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
class PageNumbering:
    """How the address of a further page of a list or thread is formed: `pattern`, in which {n} is
    the number, replaces or follows a part of the first page's address; page n has the number first
    + step * (n - 1). An address with a `cursor` cannot be computed, only taken from a link."""

    pattern: str
    step: int = 1
    first: int = 1
    cursor: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """What the sampled pages of one kind have in common.

    rows: typical number of records per page. roles: fields that most pages fill. marks: class names
    on all pages. Only for lists, shapes of links (address pattern and markup, see `shapes_of`):
    `titles` of threads, `others` in and beside the rows.
    """

    kind: str
    rows: int
    roles: tuple[str, ...]
    marks: tuple[str, ...]
    titles: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceFound:
    """An overview source: a page or feed that shows new threads or posts of several boards at once.

    `kind` is index (a page with figures of boards), newest (a page of all boards' threads, newest
    first), feed (RSS or Atom) or api (a JSON list of the forum software). `boards`: keys of the
    boards that it shows; () for a feed or JSON list, which has not been read yet.
    """

    url: str
    kind: str
    boards: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """How often a claim about readings (see `teacher.claims.CLAIMS`) held on related pages of the
    sample. `of`: number of cases; `kept`: cases in which it held; `choice`: the reading or selector
    for which it held best, "" if there was only one.
    """

    claim: str
    kept: int
    of: int
    choice: str = ""


@dataclass(frozen=True, slots=True)
class BoardUnread:
    """A board that was found but not read. reason: `robots` (disallowed), `login` (needs one),
    `cut` (the exploration reached its limit of pages), `unreadable` (read as another kind of page),
    or the code of how its request failed.
    """

    url: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class SiteModel:
    """What was learned about a site.

    `patterns`: address shapes by kind of page (index, list, thread; alias: other addresses of
    threads), with # for digits and * for changing words. `timezone_evidence`,
    `timezone_confidence`: see `ZoneGuess`. `counts_posts`: whether lists count posts (True) or
    replies (False), None if unknown. `list_flip`, `thread_flip`: how addresses of further pages are
    formed. `pagers`: by kind of page, which of several next-page links is right (a source of
    `PageReading.next_links`, such as "head"). `lessons`: how often readings of related pages
    agreed; `rules`: selectors chosen from this (see `SiteCorrections.to_json`). `unread`: boards
    not read. `former_hosts`: hosts (without "www.") whose pages redirect to this site.
    """

    name: str
    root: str
    engine: str = "unknown"
    timezone: str = "UTC"
    timezone_evidence: str = "none"
    timezone_confidence: float = 0.0
    day_first: bool | None = None
    boards: tuple[BoardFound, ...] = ()
    patterns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    list_flip: PageNumbering | None = None
    thread_flip: PageNumbering | None = None
    posts_per_page: int | None = None
    layouts: tuple[Layout, ...] = ()
    pages_read: int = 0
    counts_posts: bool | None = None
    sources: tuple[SourceFound, ...] = ()
    pagers: tuple[tuple[str, str], ...] = ()
    lessons: tuple[ClaimResult, ...] = ()
    unread: tuple[BoardUnread, ...] = ()
    rules: Mapping[str, Any] | None = None
    former_hosts: tuple[str, ...] = ()
    version: int = VERSION

    def to_json(self) -> dict[str, Any]:
        """Returns the model as a JSON-ready dictionary, which `from_json` reads back."""
        value = asdict(self)
        value["patterns"] = {kind: list(shapes) for kind, shapes in self.patterns}
        value["boards"] = [
            {**asdict(board), "rows": [dict(row) for row in board.rows]} for board in self.boards
        ]
        value["layouts"] = [
            {
                name: list(told) if isinstance(told, tuple) else told
                for name, told in asdict(layout).items()
            }
            for layout in self.layouts
        ]
        value["sources"] = [
            {**asdict(source), "boards": list(source.boards)} for source in self.sources
        ]
        value["pagers"] = dict(self.pagers)
        value["lessons"] = [asdict(lesson) for lesson in self.lessons]
        value["unread"] = [asdict(board) for board in self.unread]
        value["former_hosts"] = list(self.former_hosts)
        return value

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> SiteModel:
        """Restores a model from the dictionary that `to_json` returned. Raises ValueError if it has
        a different version, KeyError or TypeError if it is not such a dictionary."""
        if value.get("version") != VERSION:
            raise ValueError(f"a site model of version {value.get('version')!r}, not {VERSION}")
        fields = dict(value)
        fields["patterns"] = tuple(
            (kind, tuple(shapes)) for kind, shapes in value["patterns"].items()
        )
        fields["boards"] = tuple(
            BoardFound(**{**board, "rows": tuple(board["rows"])}) for board in value["boards"]
        )
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
        fields["sources"] = tuple(
            SourceFound(one["url"], one["kind"], tuple(one["boards"])) for one in given
        )
        fields["pagers"] = tuple((kind, source) for kind, source in value.get("pagers", {}).items())
        fields["lessons"] = tuple(ClaimResult(**one) for one in value.get("lessons", ()))
        fields["former_hosts"] = tuple(value.get("former_hosts", ()))
        fields["unread"] = tuple(BoardUnread(**one) for one in value.get("unread", ()))
        for name in ("list_flip", "thread_flip"):
            fields[name] = PageNumbering(**value[name]) if value[name] else None
        return SiteModel(**fields)

    def pager(self, kind: str) -> str:
        """Returns where the right next-page link is on pages of a kind (a source of
        `PageReading.next_links`, such as "head"); "" if the link that the page reader takes by
        default is right."""
        return dict(self.pagers).get(kind, "")

    @property
    def known(self) -> Shapes:
        """The address patterns of links on the site's thread lists, of titles and of other links;
        empty if no list was read."""
        told = [
            Shapes(frozenset(one.titles), frozenset(one.others))
            for one in self.layouts
            if one.kind == "threadlist"
        ]
        return told[0] if told else Shapes()

    def shapes(self, kind: str) -> tuple[str, ...]:
        """Returns the address shapes of pages of one kind, () if none are known."""
        return next((shapes for named, shapes in self.patterns if named == kind), ())
