"""The learned reading of a page: candidates > features > scores > kind and records > doubt."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from forums.reading.document import Page
from forums.reading.kinds import Choice, weigh, weigh_lists
from forums.reading.learned.assemble import row_set
from forums.reading.learned.assemble_posts import LearnedPosts
from forums.reading.learned.bodies import BodyTable, body_table
from forums.reading.learned.choose import chosen_bodies, chosen_links
from forums.reading.learned.links import LinkTable, link_table, page_features
from forums.reading.learned.signals import Signals
from forums.reading.learned.views import (
    agreement,
    bodies_view,
    doubt_view,
    links_view,
    list_doubt,
    rivals_view,
    thread_doubt,
    urls_of,
)
from forums.reading.learned.weights import Weights
from forums.reading.lists import RowSet
from forums.reading.model import PageKind
from forums.reading.verdict import Verdict, ruled, verdict_of

KINDS = (PageKind.threadlist, PageKind.index, PageKind.thread, PageKind.other)
FEWEST = 6
"""Learned rows below which they never stand against the rules'."""
LITTLE = 500
"""Characters of a page below which the rules alone settle its kind and its records: of the 246 saved pages that the models
learned from all but two show more."""
DOUBTED, CERTAIN, LIKELY = 0.5, 0.95, 0.65
"""Share of the likeliest kind below which the models doubt, how sure the rules must be to decide then, and the share from which
the models have a say where the rules find nothing on a little page of which nothing is expected."""
FEW, WITHIN, MERGED = 1.0, 0.7, 0.25
"""How many more rows than the rules', all of which they hold too, the learned ones are at the most, and how many of those
stand in rows of the rules, where they are only parts of rows; how many more they are at the least where the rules took several
rows for one, and not an advertisement for a part of one."""
EXPECTED = 4.0
"""How many times more likely a kind is that the site's model expects at an address."""


@dataclass
class Second:
    """A page with both readings, from candidates to doubt; each step is worked out when first asked for.

    Scores (`given`) and choices between lists (`choice`) can be given, as training does with those of models that never saw
    the page's engine.
    """

    page: Page
    weights: Weights | None
    given: dict[str, np.ndarray] = field(default_factory=dict)
    choice: dict[int, float] = field(default_factory=dict)
    _chosen_rows: dict[int, RowSet | None] = field(default_factory=dict)

    @cached_property
    def lists(self) -> Choice:
        """The lists of the page by the rules."""
        return weigh_lists(self.page)

    @cached_property
    def found(self) -> Choice:
        """The posts of the page by the rules."""
        return weigh(self.page)

    @cached_property
    def signals(self) -> Signals:
        """What the page shows where."""
        return Signals(self.page)

    @cached_property
    def links(self) -> LinkTable:
        """Candidates for titles and names, with their features."""
        return link_table(self.page, self.signals)

    @cached_property
    def bodies(self) -> BodyTable:
        """Candidates for the texts of posts, with their features."""
        return body_table(self.page, self.signals)

    @cached_property
    def link_scores(self) -> np.ndarray:
        """Shares of none, title and board for each link."""
        if self.weights is None:
            return self.given["links"]
        return self.weights.links.predict(self.links.features)

    @cached_property
    def body_scores(self) -> np.ndarray:
        """How much each element looks like the text of a post."""
        if self.weights is None:
            return self.given["bodies"]
        return self.weights.bodies.predict(self.bodies.features)[:, 1]

    @cached_property
    def chosen(self) -> list[int]:
        """Places of the chosen texts."""
        return chosen_bodies(self.page.outline, self.bodies.nodes, self.body_scores)

    @cached_property
    def threads(self) -> RowSet | None:
        """The list of threads."""
        return self._better(0)

    @cached_property
    def boards(self) -> RowSet | None:
        """The index of boards."""
        return self._better(1)

    def rivals(self, kind: int) -> tuple[RowSet | None, RowSet | None]:
        """The rows of a kind (its number in `KINDS`) by the rules, and the learned ones where they are others."""
        rules, learned = (self.lists.threads, self.lists.boards)[kind], self._rows(kind + 1)
        if rules and learned and not self._are_rivals(rules, learned):
            learned = None
        return rules, learned

    def _are_rivals(self, rules: RowSet, learned: RowSet) -> bool:
        """Whether learned rows are enough to go by, and others than the rules': not the same, nor the same with parts of them."""
        urls = urls_of(rules)
        if self.is_little or len(learned.rows) < FEWEST or urls == urls_of(learned):
            return False
        added = [row.title.node for row in learned.rows if row.title.url not in urls]
        within = sum(any(start <= node < end for start, end in rules.group.spans) for node in added)
        if not added or len(learned.rows) - len(added) < len(urls):
            return True
        return len(added) > FEW * len(urls) or within < WITHIN * len(added) or _are_merged(rules, added)

    def contest(self, kind: int) -> np.ndarray | None:
        """Features of the choice between the rows of both readings; None where there is nothing to choose."""
        rules, learned = self.rivals(kind)
        if rules is None or learned is None:
            return None
        scores = self.link_scores[:, kind + 1]
        return np.asarray([[float(kind), *rivals_view(self.links, scores, rules, learned)]], dtype=np.float32)

    def _better(self, kind: int) -> RowSet | None:
        """The rows of the reading that is likely the better one."""
        rules, learned = self.rivals(kind)
        features = self.contest(kind)
        if features is None:
            return rules or learned
        share = self.choice[kind] if self.weights is None else self.weights.choice.predict(features)[0, 1]
        return learned if share > 0.5 else rules

    def _rows(self, label: int) -> RowSet | None:
        if label not in self._chosen_rows:
            scores = self.link_scores[:, label] if len(self.link_scores) else np.zeros(0)
            places = chosen_links(self.links.links, self.links.clusters, scores)
            self._chosen_rows[label] = row_set(self.page, [self.links.links[at] for at in places])
        return self._chosen_rows[label]

    @cached_property
    def posts(self) -> LearnedPosts | None:
        """The posts around the chosen texts, for pages where the rules find none."""
        nodes = [int(self.bodies.nodes[at]) for at in self.chosen]
        return LearnedPosts(self.page, nodes) if nodes and not self.is_little else None

    @cached_property
    def kind_features(self) -> np.ndarray:
        """Features of the page for its kind."""
        named = links_view(self.page, self.links, self.link_scores)
        written = bodies_view(self.page, self.bodies, self.body_scores, self.chosen)
        apart = [written[1] - named[1], written[1] - named[9]]
        return np.asarray([[*page_features(self.page, self.signals), *named, *written, *apart]], dtype=np.float32)

    def kind_shares(self, expect: PageKind | None) -> np.ndarray:
        """How likely the page is of each of `KINDS`."""
        shares = self.given["kind"].copy() if self.weights is None else self.weights.kind.predict(self.kind_features)[0]
        if expect in KINDS:
            shares[KINDS.index(expect)] *= EXPECTED
        made: np.ndarray = shares / shares.sum()
        return made

    @cached_property
    def verdict(self) -> Verdict:
        """What the rules say of the page's kind."""
        return verdict_of(self.page, self.found)

    @property
    def is_little(self) -> bool:
        """Whether the page shows too little for the models to go by."""
        return self.page.text_total < LITTLE

    def settled(self, shares: np.ndarray, expect: PageKind | None) -> PageKind:
        """The likeliest kind; the rules' where the page shows too little, and where the models doubt and the rules do not."""
        likeliest = KINDS[int(shares.argmax())]
        if not self.is_little and shares.max() >= DOUBTED:
            return likeliest
        kind, sure = ruled(self.page, self.verdict, expect)
        if self.is_little:
            is_open = kind is PageKind.other and expect is None
            return likeliest if is_open and shares.max() >= LIKELY and self._has_records(likeliest) else kind
        return kind if sure >= CERTAIN else likeliest

    def _has_records(self, kind: PageKind) -> bool:
        """Whether a little page has any records of a kind. Supposed boards that name the page itself among them are none: a
        site's menu of its boards does."""
        if kind is PageKind.thread:
            return self.found.posts is not None
        boards = self.boards if kind is PageKind.index else None
        return boards is None or not any(row.title.key == self.page.key for row in boards.rows)

    def doubt_features(self, shares: np.ndarray, kind: PageKind, records: int, named: float) -> np.ndarray:
        """Features of the doubt about a reading of `records` records; `named` is the share of posts with an author."""
        place = KINDS.index(kind)
        rest: list[float] = []
        if kind in (PageKind.threadlist, PageKind.index) and records and len(self.link_scores):
            rows = self.threads if kind is PageKind.threadlist else self.boards
            other = self.lists.threads if kind is PageKind.threadlist else self.lists.boards
            rest = list_doubt(self.links, self.link_scores[:, place + 1], urls_of(rows), urls_of(other))
        elif kind is PageKind.thread and records and len(self.body_scores):
            learned = [int(self.bodies.nodes[at]) for at in self.chosen]
            own = [body for body in self.found.posts.bodies if body is not None] if self.found.posts else learned
            same = agreement(self.page.outline, learned, self.found.posts)
            rest = thread_doubt(self.bodies, self.body_scores, self.page.outline, own, same, named)
        return np.asarray([doubt_view(shares, place, records, rest)], dtype=np.float32)

    def sure(self, features: np.ndarray) -> float:
        """How likely a reading has every record and no other, in [0, 1]."""
        return float(self.weights.doubt.predict(features)[0, 1]) if self.weights else 0.0

    def is_whole(self, features: np.ndarray) -> bool:
        """Whether a reading may be called complete."""
        return bool(self.weights and self.weights.cut.predict(features)[0, 1] <= self.weights.whole)


def _are_merged(rules: RowSet, nodes: list[int]) -> bool:
    """Whether most of some links stand in further elements of the rules' rows as the titles do in the first: several rows that
    were taken for one, no parts of rows."""
    if len(nodes) < MERGED * len(rules.rows):
        return False
    titles = {row.column(row.title.node).partition(":")[2] for row in rules.rows}
    alike = 0
    for row in rules.rows:
        columns = [row.column(node).partition(":") for node in nodes if row.start <= node < row.end]
        alike += sum(at != "0" and place in titles for at, _, place in columns)
    return 2 * alike > len(nodes)
