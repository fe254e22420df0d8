"""Trains the reader's models stage by stage. A later stage uses scores from the earlier one that
are cross-validated: computed by models trained without pages of the same group (forum software or
site)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import numpy as np

from crawlmgr.web.next_page.pagination import find_pages
from forums.reading.jsonform import record_json
from forums.reading.learned.two_readings import KINDS, TwoReadings
from forums.reading.learned.views import urls_of
from forums.reading.learned.weights import Model, Weights
from forums.reading.lists.board_records import BoardRows
from forums.reading.lists.row_sets import RowSet, row_sets
from forums.reading.lists.thread_records import ThreadRows
from forums.reading.model import PageKind
from forums.reading.page import read_as
from tests.training.reader.labels import body_labels, link_labels
from tests.training.reader.pages import Saved, parsed
from tests.training.reader.scoring import ENOUGH, Tally, tally
from tests.training.reader.trees import Examples, Job, Shape, all_trained, averaged

FOLDS = 5
_MAX_CANDIDATES = (
    60,
    90,
)  # largest number of positive and of negative candidates of one page that a model is trained on
_MAX_MORE_CANDIDATES = (20, 30)  # as _MAX_CANDIDATES, for pages that are used only for training
# the same for changed copies of pages: with fewer negative ones, texts and links that are none of a
# record would get higher scores than on the pages themselves
_MAX_VARIANT_CANDIDATES = (20, 60)
_MORE = 0.25  # weight of pages that are used only for training (other pages: 1)
_VARIANT = 0.5  # the same for pages that are changed copies of others
# the first two page kinds (thread lists, board lists) contain a list, chosen by a model among
# candidates
_LISTS = 2
# further factor for pages used only for training when the page's kind is learned: their texts are
# random words
_MORE_KIND = 0.25
_VARIANT_KIND = 0.5  # the same for changed copies of pages
# weight of an index page (other pages: 1) in training of the page's kind, because few pages are
# indexes
_INDEX = 2.0
_NO_FORUM = (
    0.2  # weight of pages that belong to no forum (forum pages: 1) in training of the doubt models
)
_SILENT = 0.04
"""Largest share of pages that may be read incompletely and still be called complete; each forum
software has the same weight.
"""


LINKS = Shape(64, 6, 45)
# rounds of gradient boosting in each boosted model; number of boosted models (random features
# each). Predictions are averaged with those of the extremely randomised trees
ROUNDS, SEEDS = 60, 1
BODIES = Shape(64, 6, 50)
KIND = Shape(600, 3, 0.15)
WORTH = Shape(200, 6, 0.3)
DOUBT = Shape(200, 16, 0.3)
CUT = Shape(200, 12, 0.3)
_FIELDS = 0.25
"""Weight of the share of correct fields, relative to that of the records found, in the quality of a
list (`quality_of`)."""


@dataclass
class Sample:
    """A training page. `saved`: its file and true records. `second`: its readings by the rules and
    by the models. `links`, `bodies`: labels of its candidate links and texts (see the module
    `labels`).

    `group`: its forum software or site; cross-validation keeps a group in one `fold`. `weight`: 1 /
    sqrt(number of pages with the same software), a quarter of that for pages used only for
    training. `given` (scores of links, texts and kinds) and `qualities` (scores of lists) are used
    by `second`; models trained without the page's fold predict them."""

    saved: Saved
    second: TwoReadings
    links: np.ndarray
    bodies: np.ndarray
    group: str
    weight: float = 1.0
    fold: int = 0
    given: dict[str, np.ndarray] = field(default_factory=dict)
    qualities: dict[int, list[float]] = field(default_factory=dict)


def samples_of(pages: Sequence[Saved], now: datetime, leave_out: str) -> list[Sample]:
    """Returns a sample for each page. Pages with the same `leave_out` ("engine", the forum
    software, or "site") form a group, and cross-validation never splits a group. `now` is the time
    to which relative times on the pages refer.
    """
    made = []
    for saved in pages:
        page = parsed(saved, now)
        second = TwoReadings(page, None)
        links = link_labels(second.links.links, saved.truth)
        bodies = body_labels(
            page,
            second.bodies,
            saved.truth,
            second.found.posts if saved.truth["kind"] == "thread" else None,
        )
        group = saved.engine if leave_out == "engine" or not saved.is_forum else saved.site
        made.append(Sample(saved, second, links, bodies, group))
    sizes = Counter((sample.saved.engine, sample.saved.is_variant) for sample in made)
    groups = Counter(sample.group for sample in made if not sample.saved.is_variant)
    order = sorted(groups, key=lambda group: (-groups[group], group))
    folds = {group: at % FOLDS for at, group in enumerate(order)}
    for sample in made:
        saved = sample.saved
        share = _VARIANT if saved.is_variant else 1.0 if saved.measured else _MORE
        sample.weight = share / np.sqrt(sizes[saved.engine, saved.is_variant])
        sample.fold = folds[sample.group]
        sample.second.given, sample.second.qualities = sample.given, sample.qualities
    return made


def _candidates(
    tables: Sequence[np.ndarray], labels: Sequence[np.ndarray], samples: Sequence[Sample]
) -> Examples:
    """Returns features, labels and weights of the candidates to train on: of each page all labelled
    ones, or a random subset if there are more positive or negative ones than `_MAX_CANDIDATES`
    allows (`_MAX_MORE_CANDIDATES` for a page used only for training). The results are the same in
    each call."""
    random = np.random.default_rng(0)
    features, wanted, weights = [], [], []
    for table, known, sample in zip(tables, labels, samples, strict=True):
        kept = []
        mosts = _MAX_CANDIDATES if sample.saved.measured else _MAX_MORE_CANDIDATES
        mosts = _MAX_VARIANT_CANDIDATES if sample.saved.is_variant else mosts
        for places, most in zip(
            (np.flatnonzero(known > 0), np.flatnonzero(known == 0)), mosts, strict=True
        ):
            kept.append(
                random.choice(places, most, replace=False) if len(places) > most else places
            )
        chosen = np.sort(np.concatenate(kept))
        if len(chosen):
            features.append(table[chosen])
            wanted.append(known[chosen])
            weights.append(np.full(len(chosen), sample.weight))
    return Examples(np.vstack(features), np.concatenate(wanted), np.concatenate(weights))


def _parts(samples: Sequence[Sample], fold: int) -> tuple[list[Sample], list[Sample]]:
    return [sample for sample in samples if sample.fold != fold], [
        sample for sample in samples if sample.fold == fold
    ]


def _links(samples: Sequence[Sample]) -> Job:
    used = [sample for sample in samples if len(sample.links)]
    return Job(
        _candidates([s.second.links.features for s in used], [s.links for s in used], used),
        3,
        LINKS,
        ROUNDS,
        SEEDS,
    )


def _bodies(samples: Sequence[Sample]) -> Job:
    used = [sample for sample in samples if len(sample.bodies)]
    return Job(
        _candidates([s.second.bodies.features for s in used], [s.bodies for s in used], used),
        2,
        BODIES,
        0,
        0,
    )


def _kinds(samples: Sequence[Sample]) -> Model:
    features = np.vstack([sample.second.kind_features for sample in samples])
    labels = np.asarray([KINDS.index(sample.saved.truth["kind"]) for sample in samples])
    weights = np.asarray(
        [
            sample.weight
            * (
                _VARIANT_KIND
                if sample.saved.is_variant
                else 1.0
                if sample.saved.measured
                else _MORE_KIND
            )
            for sample in samples
        ]
    )
    weights *= np.where(labels == KINDS.index(PageKind.index), _INDEX, 1.0)
    return Model((averaged(Examples(features, labels, weights), len(KINDS), KIND),))


class Listed(NamedTuple):
    """The candidate lists on a page (`sample`) of threads or boards, whichever the page truly
    lists: the features of each list, (lists, features), and its quality in [0, 1] as a reading of
    the page (see `quality_of`)."""

    sample: Sample
    features: np.ndarray
    qualities: np.ndarray


def quality_of(sample: Sample, kind: int, rows: RowSet) -> float:
    """Returns the quality of a list as a reading of the sample's page, in [0, 1]: (2 * correct /
    (true + returned records) + _FIELDS * share of records with all fields correct) / (1 + _FIELDS).
    kind: 0 threads, 1 boards.
    """
    records = (ThreadRows(rows) if kind == 0 else BoardRows(rows)).records()
    offsets = dict(sample.second.page.offsets)
    found = tally(
        sample.saved.truth,
        {"kind": str(KINDS[kind]), "records": [record_json(each, offsets) for each in records]},
    )
    told = 2 * found.found / max(1, found.truth + found.given) + _FIELDS * found.right[
        "all_right"
    ] / max(1, found.truth)
    return told / (1 + _FIELDS)


def _listed(samples: Sequence[Sample]) -> list[Listed]:
    """Collects the candidate lists of the pages that are lists of threads or boards: those that the
    page reader chooses from, and all others that the rules found."""
    made = []
    for sample in samples:
        kind = KINDS.index(sample.saved.truth["kind"])
        if kind < _LISTS:
            found = [*sample.second.offered(kind), *row_sets(sample.second.page)]
            lists = list({frozenset(urls_of(rows)): rows for rows in reversed(found)}.values())
            if lists:
                qualities = np.asarray([quality_of(sample, kind, rows) for rows in lists])
                made.append(Listed(sample, sample.second.list_features(kind, lists), qualities))
    return made


def _quality_model(listed: Sequence[Listed]) -> Model:
    """Trains the model of a list's quality q. Each list is used as two examples: a positive one
    with weight q and a negative one with weight 1 - q. All lists of a page together have the same
    weight, however many they are.
    """
    features = np.vstack([each.features for each in listed])
    qualities = np.concatenate([each.qualities for each in listed])
    weights = np.concatenate(
        [np.full(len(each.qualities), each.sample.weight / len(each.qualities)) for each in listed]
    )
    labels = np.repeat([1, 0], len(qualities))
    examples = Examples(
        np.vstack([features, features]),
        labels,
        np.concatenate([weights * qualities, weights * (1 - qualities)]),
    )
    return Model((averaged(examples, 2, WORTH),))


@dataclass
class Outcome:
    """The result of a page read by models that were trained without its group: the reading as a
    JSON document, its comparison with the truth, the features from which its reliability is
    predicted, and the predicted probabilities that it is perfect (`sure`) and incomplete (`cut`).
    """

    document: dict[str, object]
    tally: Tally
    features: np.ndarray
    sure: float = 0.0
    cut: float = 0.0

    @property
    def is_cut(self) -> bool:
        """Tells whether the reading has less than the share ENOUGH of the true records."""
        return self.tally.found < ENOUGH * self.tally.truth


def _interpret(sample: Sample) -> Outcome:
    """Computes the reading of a page from its cross-validated scores, and compares it with the
    truth."""
    shares = sample.second.kind_shares(None)
    kind = sample.second.final_kind(shares, None)
    reading = read_as(sample.second, kind).reading
    offsets = dict(sample.second.page.offsets)
    document: dict[str, object] = {
        "kind": str(kind),
        "records": [record_json(record, offsets) for record in reading.records],
        "next": find_pages(sample.second.page.root, sample.saved.url).next,
    }
    named = sum(bool(getattr(record, "author", None)) for record in reading.records) / max(
        1, len(reading.records)
    )
    features = sample.second.doubt_features(
        shares, kind, len(reading.records), named if kind is KINDS[2] else 0.0
    )
    return Outcome(document, tally(sample.saved.truth, document), features)


def _doubts(samples: Sequence[Sample], outcomes: Sequence[Outcome]) -> tuple[Model, Model]:
    """Trains two models, for the probability that a reading is perfect and that it is incomplete.

    In the first, all forum pages have the same weight, so that it is calibrated to the share of
    perfect pages; in the second, pages have the weight of their sample. Pages that belong to no
    forum have a small weight in both: they have no records to miss.
    """
    features = np.vstack([outcome.features for outcome in outcomes])
    is_forum = np.asarray([sample.saved.is_forum for sample in samples])
    pages = np.where(is_forum, 1.0, _NO_FORUM)
    engines = np.where(is_forum, [sample.weight for sample in samples], _NO_FORUM)
    perfect = np.asarray([int(outcome.tally.is_perfect) for outcome in outcomes])
    cut = np.asarray([int(outcome.is_cut) for outcome in outcomes])
    first = averaged(Examples(features, perfect, pages), 2, DOUBT)
    second = averaged(Examples(features, cut, engines), 2, CUT)
    return Model((first,)), Model((second,))


def counts(sample: Sample) -> bool:
    """Tells whether a page counts in the accuracy figures: it belongs to a forum and is not used
    only for training."""
    return sample.saved.is_forum and sample.saved.measured


def measured(samples: Sequence[Sample]) -> list[Sample]:
    """Returns the samples that have an `Outcome`: those that are not used only for training."""
    return [sample for sample in samples if sample.saved.measured]


def _whole(samples: Sequence[Sample], outcomes: Sequence[Outcome]) -> float:
    """Returns the threshold up to which a reading's predicted probability of being incomplete
    counts as "complete": the largest multiple of 0.01 with which at most the share `_SILENT` of the
    pages is incomplete but not reported, each forum software weighted equally. 0 if there is none.
    """
    asked = [
        (s.saved.engine, o)
        for s, o in zip(samples, outcomes, strict=True)
        if counts(s) and o.tally.truth
    ]
    sizes = Counter(engine for engine, _ in asked)
    share = [1 / sizes[engine] / len(sizes) for engine, _ in asked]
    for step in range(60, 0, -1):
        pairs = zip(share, asked, strict=True)
        silent = sum(
            part
            for part, (_, outcome) in pairs
            if outcome.cut <= step / 100 and outcome.sure >= 0.5 and outcome.is_cut
        )
        if silent <= _SILENT:
            return step / 100
    return 0.0


def recipe() -> str:
    """Returns a line with the settings by which the models of the first stage (links and texts) are
    trained; stored scores are valid only for the same line."""
    return (
        f"{LINKS} {ROUNDS} {SEEDS} {BODIES} {FOLDS} {_MAX_CANDIDATES}"
        f" {_MAX_MORE_CANDIDATES} {_MAX_VARIANT_CANDIDATES}"
    )


def first_stage(samples: Sequence[Sample], workers: int = 1) -> None:
    """Sets the scores of the links and texts of every page (`Sample.given`), computed by models
    that were trained without the page's group. workers: number of processes."""
    parts = [_parts(samples, fold)[0] for fold in range(FOLDS)]
    models = all_trained(
        [*(_links(part) for part in parts), *(_bodies(part) for part in parts)], workers
    )
    for fold, (links, bodies) in enumerate(zip(models[:FOLDS], models[FOLDS:], strict=True)):
        for sample in _parts(samples, fold)[1]:
            sample.given["links"] = (
                links.predict(sample.second.links.features)
                if len(sample.links)
                else np.zeros((0, 3))
            )
            sample.given["bodies"] = (
                bodies.predict(sample.second.bodies.features)[:, -1]
                if len(sample.bodies)
                else np.zeros(0)
            )


def fit(samples: Sequence[Sample], workers: int = 1) -> tuple[Weights, list[Outcome]]:
    """Trains all models. Returns the weights trained on all pages, and for each measured page its
    result under models trained without its group. Scores of the first stage that are already set
    are kept. workers: number of processes.
    """
    if any("links" not in sample.given for sample in samples):
        first_stage(samples, workers)
    judged = judge(samples)
    links, bodies = all_trained([_links(samples), _bodies(samples)], workers)
    doubts = _doubts(measured(samples), judged.outcomes)
    return (
        Weights(
            links, bodies, _kinds(samples), _quality_model(judged.listed), *doubts, judged.whole
        ),
        judged.outcomes,
    )


class Judged(NamedTuple):
    """Cross-validated results of the measured pages (`outcomes`), the candidate lists on all pages
    (`listed`), and the largest predicted probability of being incomplete with which a reading still
    counts as complete (`whole`, see `_whole`).
    """

    outcomes: list[Outcome]
    listed: list[Listed]
    whole: float


def judge(samples: Sequence[Sample]) -> Judged:
    """Runs the stages after the scores of links and texts: kind of page, choice of the list,
    reading, reliability. Each uses models trained without the page's group. The samples must have
    scores of links and texts (`Sample.given`); the scores of the later stages are added to them."""
    listed = _listed(samples)
    for fold in range(FOLDS):
        known, kept = _parts(samples, fold)
        kinds, quality = (
            _kinds(known),
            _quality_model([each for each in listed if each.sample.fold != fold]),
        )
        for sample in kept:
            for kind in range(_LISTS):
                lists = sample.second.offered(kind)
                features = sample.second.list_features(kind, lists) if lists else None
                sample.qualities[kind] = (
                    [] if features is None else quality.predict(features)[:, 1].tolist()
                )
            sample.given["kind"] = kinds.predict(sample.second.kind_features)[0]
    asked = measured(samples)
    outcomes = [_interpret(sample) for sample in asked]
    for fold in range(FOLDS):
        places = [at for at, sample in enumerate(asked) if sample.fold != fold]
        doubt, cut = _doubts([asked[at] for at in places], [outcomes[at] for at in places])
        for at, sample in enumerate(asked):
            if sample.fold == fold:
                outcomes[at].sure = float(doubt.predict(outcomes[at].features)[0, 1])
                outcomes[at].cut = float(cut.predict(outcomes[at].features)[0, 1])
    whole = _whole(asked, outcomes)
    for outcome, sample in zip(outcomes, asked, strict=True):
        outcome.document |= {"confidence": outcome.sure, "complete": outcome.cut <= whole}
        outcome.tally = tally(sample.saved.truth, outcome.document)
    return Judged(outcomes, listed, whole)
