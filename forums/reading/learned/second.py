"""The learned reading of a page: candidates > features > scores > kind and records > doubt."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from forums.reading.document import Page
from forums.reading.kinds import Choice, Verdict, ruled
from forums.reading.learned.assemble import row_set
from forums.reading.learned.assemble_posts import LearnedPosts
from forums.reading.learned.bodies import BodyTable, body_table
from forums.reading.learned.choose import best_of, chosen_bodies, chosen_links
from forums.reading.learned.links import LinkTable, link_table, page_features
from forums.reading.learned.rules_view import rules_view
from forums.reading.learned.signals import Signals
from forums.reading.learned.views import agreement, bodies_view, doubt_view, links_view, list_doubt, thread_doubt
from forums.reading.learned.weights import Weights
from forums.reading.lists import RowSet
from forums.reading.model import PageKind

KINDS = (PageKind.threadlist, PageKind.index, PageKind.thread, PageKind.other)
LEAST = 0.25
"""Mean of the page's three best scores below which nothing on it is a record."""
MORE, APART = 0.8, 0.3
"""Share of the rules' rows that the learned ones hold, to be the same and more; share in common below which both differ."""
FEWEST = 6
"""Learned rows below which they never stand against the rules'."""
RULED, UNLIKELY, LIKELY = 0.2, 0.03, 0.6
"""How sure the rules must be of a kind, how unlikely the models must find it to be overruled, and how likely one that the
rules find none in."""
# evidence of the rules that a page is no forum's, which the models do not overrule
_AGAINST = frozenset({"no-forum-words", "announcements", "articles", "profile", "registration"})
EXPECTED = 4.0
"""How many times more likely a kind is that the site's model expects at an address."""


@dataclass
class Second:
    """A page with both readings, from candidates to doubt; each step is worked out when first asked for.

    `link_scores` and `body_scores` can be given, as training does with those of models that never saw the page's engine.
    """

    page: Page
    found: Choice
    verdict: Verdict
    weights: Weights | None
    given: dict[str, np.ndarray] = field(default_factory=dict)

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
        return self._between(self._rows(1), self.found.threads)

    @cached_property
    def boards(self) -> RowSet | None:
        """The index of boards."""
        return self._between(self._rows(2), self.found.boards)

    def _between(self, learned: RowSet | None, rules: RowSet | None) -> RowSet | None:
        """The rules' rows; the learned ones where there are no others, where they are the same and more, or where both
        have hardly one in common: the learned find more on engines that nobody has seen."""
        if learned is None or rules is None or len(learned.rows) < FEWEST:
            return rules or learned
        one, other = ({row.title.url for row in rows.rows} for rows in (learned, rules))
        both = len(one & other)
        added = [row.title.node for row in learned.rows if row.title.url not in other]
        within = sum(any(start <= node < end for start, end in rules.group.spans) for node in added)
        more = both >= MORE * len(other) and len(one) > len(other) and within < APART * len(added)
        timed = learned.group.share("times") >= MORE * rules.group.share("times")  # rows, not parts of them
        return learned if timed and (more or both < APART * len(one | other)) else rules

    def _rows(self, kind: int) -> RowSet | None:
        if not len(self.link_scores) or best_of(self.link_scores[:, kind]) < LEAST:
            return None
        places = chosen_links(self.links.links, self.links.clusters, self.link_scores[:, kind])
        return row_set(self.page, [self.links.links[at] for at in places])

    @cached_property
    def posts(self) -> LearnedPosts | None:
        """The posts around the chosen texts, for pages where the rules find none."""
        nodes = [int(self.bodies.nodes[at]) for at in self.chosen]
        return LearnedPosts(self.page, nodes) if nodes and best_of(self.body_scores) >= LEAST else None

    @cached_property
    def kind_features(self) -> tuple[np.ndarray, int]:
        """Features of the page for its kind, and how many of the first are the rules'."""
        rules = rules_view(self.page, self.found, self.verdict)
        named = links_view(self.page, self.links, self.link_scores, self.found)
        written = bodies_view(self.page, self.bodies, self.body_scores, self.chosen, self.found.posts)
        apart = [written[1] - named[1], written[1] - named[10]]
        made = [*rules, *page_features(self.page, self.signals), *named, *written, *apart]
        return np.asarray([made], dtype=np.float32), len(rules)

    def kind_shares(self, expect: PageKind | None) -> np.ndarray:
        """How likely the page is of each of `KINDS`."""
        if self.weights is None:
            shares = self.given["kind"].copy()
        else:
            features, rules = self.kind_features
            shares = (self.weights.kind.predict(features)[0] + self.weights.kind_scores.predict(features[:, rules:])[0]) / 2
        if expect in KINDS:
            shares[KINDS.index(expect)] *= EXPECTED
        made: np.ndarray = shares / shares.sum()
        return made

    def settled(self, shares: np.ndarray, expect: PageKind | None) -> PageKind:
        """The kind that both readers settle on: the rules' where they are sure and the models do not deny it, else the
        models'."""
        kind, sure = ruled(self.page, self.verdict, expect)
        if kind is PageKind.other:
            is_denied = bool(_AGAINST & set(self.verdict.evidence))
            return kind if is_denied or shares[:-1].max() < LIKELY or self._is_menu(shares) else KINDS[int(shares.argmax())]
        is_held = sure >= RULED and shares[KINDS.index(kind)] >= UNLIKELY
        return kind if is_held else KINDS[int(shares.argmax())]

    def _is_menu(self, shares: np.ndarray) -> bool:
        """Whether supposed boards name the page itself among them, as a site's menu of its boards does."""
        if KINDS[int(shares.argmax())] is not PageKind.index or self.boards is None:
            return False
        return any(row.title.key == self.page.key for row in self.boards.rows)

    def doubt_features(self, shares: np.ndarray, kind: PageKind, records: int, named: float) -> np.ndarray:
        """Features of the doubt about a reading of `records` records; `named` is the share of posts with an author."""
        place = KINDS.index(kind)
        rest: list[float] = []
        if kind in (PageKind.threadlist, PageKind.index) and records and len(self.link_scores):
            rows = self.threads if kind is PageKind.threadlist else self.boards
            other = self.found.threads if kind is PageKind.threadlist else self.found.boards
            urls = [{row.title.url for row in each.rows} if each else set() for each in (rows, other)]
            rest = list_doubt(self.links, self.link_scores[:, place + 1], urls[0], urls[1])
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
