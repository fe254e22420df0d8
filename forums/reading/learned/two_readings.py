"""The two readings of a page, by hand-written rules and by trained models, and the choice between
them. The models compute features and scores of candidate elements, choose the page's kind and
records, and estimate how doubtful these are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from lxml.html import HtmlElement

from forums.reading.best_candidates import BestCandidates, best_candidates, best_lists
from forums.reading.document import Link, Page
from forums.reading.kind_scores import KindScores, kind_scores, ruled
from forums.reading.learned.assemble import LearnedPosts, row_set
from forums.reading.learned.bodies import BodyTable, body_table
from forums.reading.learned.choose import COMPLETED, best_of, chosen_bodies, chosen_links
from forums.reading.learned.links import LinkTable, link_table
from forums.reading.learned.marked import MarkedPosts
from forums.reading.learned.signals import Signals
from forums.reading.learned.views import (
    agreement,
    best_inside,
    bodies_view,
    doubt_view,
    links_view,
    list_doubt,
    list_view,
    thread_doubt,
    urls_of,
    words_view,
)
from forums.reading.learned.weights import Weights
from forums.reading.lists.row_groups import loose_pattern, title_shape
from forums.reading.lists.row_sets import RowSet, without_boards
from forums.reading.model import PageKind, PageReading, PostRecord, Shapes
from forums.reading.posts.mail import mail_on
from forums.reading.posts.post_set import PostSet

KINDS = (PageKind.threadlist, PageKind.index, PageKind.thread, PageKind.other)
LITTLE = 500
"""If a page has fewer characters, only the rules decide its kind and records: of the 246 pages used
for training, all but two have more."""
DOUBTED, CERTAIN, LIKELY = 0.5, 0.95, 0.65
"""The models are in doubt if the likeliest kind has a lower probability than DOUBTED; then the
rules decide if their certainty is at least CERTAIN. If the rules find nothing on a page with little
text and no kind is expected, the models decide from the probability LIKELY."""
FEW, WITHIN, MERGED = 1.5, 0.7, 0.25
"""Limits for preferring the models' rows to the rules' rows if they include all of these: there are
more than FEW times as many additional rows; less than the share WITHIN of the additional rows is
inside the rules' rows (as mere parts of them); or the rules merged several rows into one, with at
least MERGED times as many additional rows as the rules have rows."""
HEADED, SEVERAL = 0.8, 1.5
"""The models' rows are headings of the rules' rows, and not used instead of them, if at least the
share HEADED of them contain titles of the rules' rows and the rules found at least SEVERAL times as
many rows."""
ELSEWHERE, MANY = 0.5, 3
"""The rules' texts are rejected if the models find at least MANY times as many posts with authors,
or if no text is in both readings and the mean score of the rules' texts is less than the share
ELSEWHERE of that of the models' texts."""
OF_A_FORUM = 0.6
"""If `other` is the likeliest kind but the three kinds of forum pages together have at least this
probability, the page is read as the likeliest of these three."""
EXPECTED = 4.0
"""Factor for the probability of the kind that the site's model expects at an address."""


@dataclass
class TwoReadings:
    """A page with its two readings, one by the rules and one by the models. Each step is computed
    when first used.

    Kinds of lists are numbered as in `KINDS`: 0 for threads, 1 for boards. `weights` are the
    models; None in training. Then `given` (scores by name) and `qualities` (predicted quality of
    each list, by kind) come from models trained without pages of this forum software or site.
    `known`: link shapes seen on other thread lists of the site.
    """

    page: Page
    weights: Weights | None
    given: dict[str, np.ndarray] = field(default_factory=dict)
    qualities: dict[int, list[float]] = field(default_factory=dict)
    known: Shapes = Shapes()
    _chosen_rows: dict[int, RowSet | None] = field(default_factory=dict)

    @cached_property
    def lists(self) -> BestCandidates:
        """The best list of threads and the best list of boards that the rules find on the page,
        without regard to posts."""
        return best_lists(self.page)

    @cached_property
    def found(self) -> BestCandidates:
        """The best posts that the rules find, and the best lists outside these posts."""
        return best_candidates(self.page)

    @cached_property
    def signals(self) -> Signals:
        """Counts of texts, links, times and the like on the page, from which the features of any
        element are computed."""
        return Signals(self.page)

    @cached_property
    def links(self) -> LinkTable:
        """The candidates for titles of threads and names of boards, with their features."""
        return link_table(self.page, self.signals)

    @cached_property
    def bodies(self) -> BodyTable:
        """The candidates for the texts of posts, with their features."""
        return body_table(self.page, self.signals)

    @cached_property
    def link_scores(self) -> np.ndarray:
        """For each link in `links`, the probabilities that it leads to a thread, to a board, or to
        neither, (links, 3)."""
        if self.weights is None:
            return self.given["links"]
        return self.weights.links.predict(self.links.features)

    @cached_property
    def body_scores(self) -> np.ndarray:
        """The probability of each candidate in `bodies` to be the text of a post, (candidates,)."""
        if self.weights is None:
            return self.given["bodies"]
        return self.weights.bodies.predict(self.bodies.features)[:, 1]

    @cached_property
    def chosen(self) -> list[int]:
        """The positions in `bodies` of the candidates chosen as texts of posts."""
        return chosen_bodies(
            self.page.outline, self.bodies.nodes, self.body_scores, self.signals.chains
        )

    @cached_property
    def threads(self) -> RowSet | None:
        """The list of threads; None if there is none.

        Normally it is the list with the highest predicted quality (see `_better`). It is doubted if
        title shapes are known from the site's other lists and none of its titles has one, or most
        of its addresses have another form. Then the list is built from all links of the page with
        such a shape. Without such links the first list is returned after all, or None if its rows
        look like links that are not titles on the other lists."""
        found = self._better(0)
        chosen = without_boards(found, self.lists.boards) if found else None
        if not self.known.titles or (chosen and self._fits([row.title for row in chosen.rows])):
            return chosen
        known = [link for link in self.links.links if self._is_known(link)]
        return (row_set(self.page, known) if known else None) or (
            None if self.has_only_others else chosen
        )

    def _fits(self, titles: Sequence[Link]) -> bool:
        addresses = {shape.partition(" ")[0] for shape in self.known.titles}
        alike = sum(loose_pattern(link.pattern) in addresses for link in titles)
        return 2 * alike >= len(titles) and any(map(self._is_known, titles))

    def _is_known(self, link: Link) -> bool:
        return title_shape(self.page, link) in self.known.titles

    @cached_property
    def has_known_titles(self) -> bool:
        """Tells whether at least one title of the chosen list of threads has the shape of titles on
        the site's other lists."""
        rows = self.threads.rows if self.known.titles and self.threads else []
        return any(self._is_known(row.title) for row in rows)

    @cached_property
    def has_only_others(self) -> bool:
        """Tells whether the page seems to have no titles, only other links: no link has the shape
        of a title on the site's other lists, and at least half of the rows chosen by `_better` have
        the shape of other links there. False if no title shapes are known."""
        if not self.known.titles or any(map(self._is_known, self.links.links)):
            return False
        chosen = self._better(0)
        if not chosen:
            return False
        others = sum(title_shape(self.page, row.title) in self.known.others for row in chosen.rows)
        return 2 * others >= len(chosen.rows)

    @cached_property
    def boards(self) -> RowSet | None:
        """The better of the two indexes of boards read on the page; None if neither reading has
        one."""
        return self._better(1)

    def both_readings(self, kind: int) -> tuple[RowSet | None, RowSet | None]:
        """Returns two readings of the page's list of one kind (0 threads, 1 boards): by the rules
        and by the models. Each is None if missing; that of the models also if it differs too little
        from that of the rules (see `_are_rivals`).
        """
        rules, learned = (self.lists.threads, self.lists.boards)[kind], self._rows(kind + 1)
        if rules and learned and not self._are_rivals(rules, learned):
            learned = None
        return rules, learned

    def _are_rivals(self, rules: RowSet, learned: RowSet) -> bool:
        """Tells whether the models' list `learned` competes with the list `rules`. It does not if
        the page has too little text (`is_little`), or if it has the same addresses or consists of
        headings above the rows of `rules`. Nor does it if it only leaves out siblings of its own
        rows, or only adds a few links to `rules`, most of them inside its rows; but it does if
        these links show that the rules merged several rows into one (`_are_merged`)."""
        urls = urls_of(rules)
        if self.is_little or urls == urls_of(learned) or _are_headings(learned, rules):
            return False
        added = [row.title.node for row in learned.rows if row.title.url not in urls]
        within = sum(any(start <= node < end for start, end in rules.group.spans) for node in added)
        if not added:
            return not _are_siblings(rules, urls - urls_of(learned))
        if len(learned.rows) - len(added) < len(urls):
            return True
        return (
            len(added) > FEW * len(urls)
            or within < WITHIN * len(added)
            or _are_merged(rules, added)
        )

    def offered(self, kind: int) -> list[RowSet]:
        """Returns the different lists of a kind (0 threads, 1 boards) to choose from, none to two:
        the rules' list first, then the models' list."""
        return [rows for rows in self.both_readings(kind) if rows]

    def list_features(self, kind: int, lists: Sequence[RowSet]) -> np.ndarray:
        """Returns the features (see `list_view`) of each of `lists`, from which the model predicts
        a list's quality: (lists, features). kind: 0 threads, 1 boards."""
        scores = self.link_scores[:, kind + 1] if len(self.link_scores) else np.zeros(0)
        return np.asarray(
            [list_view(self.links, scores, rows, kind) for rows in lists], dtype=np.float32
        )

    def qualities_of(self, kind: int) -> list[float]:
        """Returns the predicted quality of each list in `offered(kind)`, in [0, 1]; 1 means all
        records with all fields, and nothing else."""
        if kind not in self.qualities:
            lists = self.offered(kind)
            self.qualities[kind] = []
            if self.weights and lists:
                self.qualities[kind] = self.weights.worth.predict(self.list_features(kind, lists))[
                    :, 1
                ].tolist()
        return self.qualities[kind]

    def _better(self, kind: int) -> RowSet | None:
        """Returns the list with the highest predicted quality of those that the rules and the
        models have found on the page (see `offered`); None if there is none. kind: 0 for lists of
        threads, 1 for lists of boards."""
        lists = self.offered(kind)
        if len(lists) < 2:
            return lists[0] if lists else None
        qualities = self.qualities_of(kind)
        return lists[qualities.index(max(qualities))]

    def _rows(self, label: int) -> RowSet | None:
        if label not in self._chosen_rows:
            scores = self.link_scores[:, label] if len(self.link_scores) else np.zeros(0)
            places = chosen_links(self.links.links, self.links.clusters, scores)
            self._chosen_rows[label] = row_set(self.page, [self.links.links[at] for at in places])
        return self._chosen_rows[label]

    @cached_property
    def posts(self) -> LearnedPosts | None:
        """The posts around the texts that the models chose; None if no text was chosen or the page
        has too little text for the models (`is_little`)."""
        nodes = [int(self.bodies.nodes[at]) for at in self.chosen]
        return LearnedPosts(self.page, nodes) if nodes and not self.is_little else None

    @cached_property
    def marked(self) -> MarkedPosts:
        """The posts that the page marks by the vocabulary of schema.org."""
        return MarkedPosts(self.page)

    @cached_property
    def mail(self) -> tuple[HtmlElement, PostRecord] | None:
        """The only mail of a page of a mailing list's archive, with the element of its header."""
        return mail_on(self.page)

    @property
    def told_thread(self) -> str:
        """The code of what says that the page is a thread beside its structure: "marked" or "mail";
        "" if nothing does."""
        return "marked" if self.marked.is_thread else "mail" if self.mail else ""

    @cached_property
    def are_posts_elsewhere(self) -> bool:
        """Tells whether the models' posts replace those of the rules: those with authors are at
        least MANY times as many (the rules find only posts with times), or the two readings have no
        text in common, and the mean score of the rules' texts is less than half of that of the
        models' texts."""
        found, nodes = self.found.posts, [int(self.bodies.nodes[at]) for at in self.chosen]
        known = [body for body in found.bodies if body is not None] if found else []
        if self.posts is None or found is None or not known:
            return False
        if len(nodes) >= MANY * len(found.spans):
            named = sum(record.author is not None for _, record in self.posts.records())
            if named >= MANY * len(found.spans):
                return True
        if agreement(self.page.outline, nodes, found):
            return False
        own = best_inside(self.bodies, self.body_scores, self.page.outline, known)
        return float(np.mean(own)) < ELSEWHERE * float(self.body_scores[self.chosen].mean())

    def with_texts(self, posts: PostSet) -> PostSet:
        """Returns the posts of the rules with texts for those that have none: the only text that
        the models chose between such a post and the next one."""
        outline, bodies, spans = self.page.outline, list(posts.bodies), list(posts.spans)
        nodes = [] if self.is_little else [int(self.bodies.nodes[at]) for at in self.chosen]
        for at, span in enumerate(spans):
            end = spans[at + 1].start if at + 1 < len(spans) else span.end
            between = [node for node in nodes if span.end <= node < end]
            if bodies[at] is None and len(between) == 1:
                bodies[at] = between[0]
                spans[at] = replace(span, end=outline.ends[between[0]])
        if bodies == posts.bodies:
            return posts
        whole = PostSet(self.page, spans)
        whole.__dict__["bodies"] = bodies
        return whole

    @cached_property
    def kind_features(self) -> np.ndarray:
        """The features from which the model predicts the page's kind, (1, features): those of the
        whole page, its links, its texts and its words (see `links_view`, `bodies_view`,
        `words_view`)."""
        named = links_view(self.page, self.links, self.link_scores)
        written = bodies_view(self.page, self.bodies, self.body_scores, self.chosen)
        apart = [written[1] - named[1], written[1] - named[9]]
        return np.asarray(
            [[*self.signals.of_page, *named, *written, *apart, *words_view(self.page)]],
            dtype=np.float32,
        )

    def kind_shares(self, expect: PageKind | None) -> np.ndarray:
        """Returns the probability of each kind in `KINDS`, in that order, raised for the kind
        `expect` that the site's model expects at the address (None: no kind)."""
        shares = (
            self.given["kind"].copy()
            if self.weights is None
            else self.weights.kind.predict(self.kind_features)[0]
        )
        if expect in KINDS:
            shares[KINDS.index(expect)] *= EXPECTED
        made: np.ndarray = shares / shares.sum()
        return made

    @cached_property
    def scores(self) -> KindScores:
        """The scores that the rules give the page for each kind of page."""
        return kind_scores(self.page, self.found)

    @property
    def is_little(self) -> bool:
        """Tells whether the page has too little text for the models (fewer than LITTLE characters),
        so that the rules decide."""
        return self.page.text_total < LITTLE

    def final_kind(self, shares: np.ndarray, expect: PageKind | None) -> PageKind:
        """Returns the page's kind: the likeliest by the models (`shares`, probabilities of
        `KINDS`). The rules decide if the page has too little text, or if the likeliest kind has a
        probability below DOUBTED and the rules' certainty is at least CERTAIN. `expect`: the kind
        that the site's model expects."""
        likeliest = KINDS[int(shares.argmax())]
        if likeliest is PageKind.other and shares[:-1].sum() >= OF_A_FORUM:
            likeliest = KINDS[int(shares[:-1].argmax())]
        if not self.is_little and shares.max() >= DOUBTED:
            return likeliest
        kind, sure = ruled(self.page, self.scores, expect)
        if self.is_little:
            is_open = kind is PageKind.other and expect is None
            return (
                likeliest
                if is_open and shares.max() >= LIKELY and self._has_records(likeliest)
                else kind
            )
        return kind if sure >= CERTAIN else likeliest

    def agreed(self, expect: PageKind | None) -> PageKind | None:
        """Returns `expect`, the kind of page that the site's model expects, if it is confirmed;
        otherwise None. It is confirmed if the rules find the same kind with a certainty of at least
        CERTAIN, or if it is a list of threads and the page's links look like those of the site's
        other lists. The trained models are then not asked: they may mistake the last page of a
        list, with only two rows, for a list of boards."""
        if expect is PageKind.threadlist and (self.has_known_titles or self.has_only_others):
            return expect
        kind, sure = ruled(self.page, self.scores, expect) if expect is not None else (None, 0.0)
        return kind if kind is expect and sure >= CERTAIN else None

    def _has_records(self, kind: PageKind) -> bool:
        """Tells whether a page with little text may be of this kind: a thread must have posts, and
        an index must not contain a link to the page itself among its boards, since it would then be
        a menu of boards on another kind of page. True for other kinds."""
        if kind is PageKind.thread:
            return self.found.posts is not None
        boards = self.boards if kind is PageKind.index else None
        return boards is None or not any(row.title.key == self.page.key for row in boards.rows)

    def doubt_features(
        self, shares: np.ndarray, kind: PageKind, records: int, named: float
    ) -> np.ndarray:
        """Returns the features (see `doubt_view`) that predict how reliable a reading is, (1,
        features). kind, records: kind and number of records read; shares: probability of each kind
        in `KINDS`; named: share of posts with an author.
        """
        place = KINDS.index(kind)
        rest: list[float] = []
        if kind in (PageKind.threadlist, PageKind.index) and records and len(self.link_scores):
            rows = self.threads if kind is PageKind.threadlist else self.boards
            other = self.lists.threads if kind is PageKind.threadlist else self.lists.boards
            rest = list_doubt(
                self.links, self.link_scores[:, place + 1], urls_of(rows), urls_of(other)
            )
            rest = [*rest, max(self.qualities_of(place), default=0.0)]
        elif kind is PageKind.thread and records and len(self.body_scores):
            learned = [int(self.bodies.nodes[at]) for at in self.chosen]
            known = self.found.posts if not self.are_posts_elsewhere else None
            own = [body for body in known.bodies if body is not None] if known else learned
            same = agreement(self.page.outline, learned, self.found.posts)
            rest = thread_doubt(self.bodies, self.body_scores, self.page.outline, own, same, named)
        return np.asarray([doubt_view(shares, place, records, rest)], dtype=np.float32)

    def sure(self, features: np.ndarray) -> float:
        """Returns the probability that a reading with these `doubt_features` has exactly the right
        records; 0 if untrained."""
        return float(self.weights.doubt.predict(features)[0, 1]) if self.weights else 0.0

    def is_whole(self, features: np.ndarray) -> bool:
        """Tells whether a reading with these `doubt_features` is unlikely to have left out records;
        False if untrained."""
        return bool(self.weights and self.weights.cut.predict(features)[0, 1] <= self.weights.whole)


def _are_siblings(rows: RowSet, urls: set[str]) -> bool:
    """Tells whether the rows with the addresses `urls` differ in nothing from the other rows of
    their list: the same parent element, tags around the title, and form of address."""
    outline = rows.page.outline
    kinds: dict[bool, set[tuple[int, int, str]]] = {True: set(), False: set()}
    for row in rows.rows:
        title = row.title
        place = outline.parents[row.start], outline.paths[title.node], loose_pattern(title.pattern)
        kinds[title.url in urls].add(place)
    return kinds[True] <= kinds[False]


def _are_headings(rows: RowSet, below: RowSet) -> bool:
    """Tells whether the rows of one list are headings above groups of rows of the list `below`:
    titles of that list are inside the range of elements that belongs to nearly each of them."""
    if len(below.rows) < SEVERAL * len(rows.rows):
        return False
    nodes = sorted(row.title.node for row in below.rows)
    held = sum(
        bisect_left(nodes, row.end) > bisect_left(nodes, row.title.node + 1) for row in rows.rows
    )
    return held >= HEADED * len(rows.rows)


def _are_merged(rules: RowSet, nodes: list[int]) -> bool:
    """Tells whether the rules merged several rows into one: whether most links that only the models
    found (`nodes`) are in the second or a later of a row's sibling elements, at a position that
    titles have in the first one.
    """
    if len(nodes) < MERGED * len(rules.rows):
        return False
    titles = {row.column(row.title.node).partition(":")[2] for row in rules.rows}
    alike = 0
    for row in rules.rows:
        columns = [row.column(node).partition(":") for node in nodes if row.start <= node < row.end]
        alike += sum(at != "0" and place in titles for at, _, place in columns)
    return 2 * alike > len(nodes)


_UNLIKELY = (
    0.6  # if the chosen kind has less than this probability, a doubt about the kind is reported
)
_DIFFERENT = (
    0.5  # if the readings of rules and models agree less than this (0 to 1), a doubt is reported
)


class Doubt(NamedTuple):
    """How reliable a reading is. `confidence` is the probability that it has exactly the right
    records; `complete` is False if records may be missing; `doubts` are the reasons in words."""

    confidence: float
    complete: bool
    doubts: tuple[str, ...]


def doubt_of(
    second: TwoReadings, shares: np.ndarray, reading: PageReading, is_stated: bool
) -> Doubt:
    """Returns how reliable the result for a page, `reading`, is. second: the page as read by the
    rules and by the trained models. shares: the probability of each kind of page in `KINDS`.
    is_stated: whether the kind is certain, because the operator or known link shapes of the site
    decided it."""
    if is_stated:
        shares = np.asarray([float(kind is reading.kind) for kind in KINDS])
    records = reading.records
    named = sum(bool(isinstance(record, PostRecord) and record.author) for record in records) / max(
        1, len(records)
    )
    features = second.doubt_features(shares, reading.kind, len(records), named)
    sure = second.sure(features)
    complete = second.is_whole(features)
    return Doubt(
        round(sure, 3), complete, tuple(_words(second, shares, reading, features[0], complete))
    )


def _words(
    second: TwoReadings,
    shares: np.ndarray,
    reading: PageReading,
    features: np.ndarray,
    complete: bool,
) -> list[str]:
    made = []
    rivals = {
        kind: share for kind, share in zip(KINDS, shares, strict=True) if kind is not reading.kind
    }
    if shares[KINDS.index(reading.kind)] < _UNLIKELY:
        made.append(
            f"The page may also be of the kind {max(rivals, key=lambda kind: rivals[kind])}."
        )
    if complete:
        return made
    if reading.kind in (PageKind.threadlist, PageKind.index):
        left = _left_out(second, reading)
        if left:
            made.append(f"{left} rows that look like the others were left out.")
    if reading.records and features[9] < _DIFFERENT:
        made.append("Two ways of reading found different records.")
    if not reading.records and reading.kind is not PageKind.other:
        made.append("No records were found.")
    return made or ["Records may be missing."]


def _left_out(second: TwoReadings, reading: PageReading) -> int:
    """Returns how many records `reading` may lack: the number of different addresses of links that
    are no record's title, but belong to a cluster with titles and have a score of at least
    COMPLETED times the mean of the page's three best scores.
    """
    scores = (
        second.link_scores[:, 1 if reading.kind is PageKind.threadlist else 2]
        if len(second.link_scores)
        else np.zeros(0)
    )
    urls = {getattr(record, "url", None) for record in reading.records}
    table = second.links
    taken = np.asarray([link.url in urls for link in table.links], dtype=bool)
    if not taken.any():
        return 0
    alike = np.isin(table.clusters[:, 1], np.unique(table.clusters[taken, 1])) & ~taken
    left = alike & (scores >= COMPLETED * best_of(scores))
    return len({table.links[at].url for at in np.flatnonzero(left)})
