"""`bench selection`: measures policies for choosing queries, and size estimates, on synthetic
hidden databases, compared with a greedy oracle.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from crawlmgr.management.base import say
from crawlmgr.management.base import table as plain_table
from deepweb.answers.retrieved import Choice, Retrieved, Term
from deepweb.choice.chooser import Chooser, Offer
from deepweb.choice.paper_policy import PaperPolicy
from deepweb.choice.words import FrequencyPolicy, FreshPolicy
from deepweb.size.estimators import (
    ProbeAnswer,
    ProbedRecord,
    estimate_size,
    plan_probes,
)
from tests.benches.forms.hidden_database import (
    HiddenDatabase,
    greedy_oracle,
    middling_terms,
    synthetic,
)

CHECKPOINTS = (10, 25, 50, 100, 150)
SIZE_QUERIES = (50, 150, 400)
KINDS = ("ranked and cut", "unranked and cut", "large and uniform")
KIND_QUERIES = 60
_SEEDS = 5
_PAIR = 2


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--databases",
        type=int,
        default=3,
        help="how many databases the figures are the mean of (default 3)",
    )
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--vocabulary", type=int, default=12_000)
    parser.add_argument(
        "--limit",
        type=int,
        default=200,
        help="records an answer is cut at in the second table (default 200)",
    )
    parser.add_argument(
        "--pairs",
        type=int,
        default=10,
        help="pairs of first words on each kind of database (default 10)",
    )
    parser.add_argument(
        "--intervals", type=int, default=50, help="databases whose size is estimated (default 50)"
    )
    parser.add_argument(
        "--random-seed",
        type=int,
        default=1,
        help="another seed gives other databases of the three kinds",
    )
    parser.add_argument(
        "--probes", type=int, default=60, help="random probes for the size estimate (default 60)"
    )


class RandomPolicy:
    """The baseline policy: queries a random word of those seen in records."""

    def __init__(self, rng: np.random.Generator, refused: frozenset[Term]) -> None:
        self._rng, self._refused = rng, refused

    def offers(self, seen: Retrieved) -> list[Offer]:
        """Returns a random seen word not queried yet; empty if none is left."""
        for place in self._rng.permutation(len(seen.frequency)):
            term = seen.term(int(place))
            if term not in self._refused and not seen.was_asked((term,)):
                return [Offer(Choice((term,)))]
        return []


class Captures(NamedTuple):
    """How often records were returned: the number D of distinct records, the number n of returns in
    all, and the numbers of records returned exactly once (f1) and exactly twice (f2)."""

    distinct: int
    returned: int
    once: int
    twice: int

    @property
    def overlap_rate(self) -> float:
        """The overlap rate n / D, how often a distinct record was returned on average; at least 1
        (1 if nothing was returned)."""
        return self.returned / self.distinct if self.distinct else 1.0


def captures(times: Sequence[int]) -> Captures:
    """Computes the counts in `Captures` from `times`, which holds for each distinct record how
    often it was returned."""
    spread = Counter(times)
    return Captures(len(times), sum(times), spread[1], spread[2])


def chao1(seen: Captures) -> float:
    """Returns Chao1, a lower bound of the database size: D + f1 (f1 - 1) / (2 (f2 + 1)), with the
    symbols of `Captures`."""
    return seen.distinct + seen.once * (seen.once - 1) / (2 * (seen.twice + 1))


def lu_li(seen: Captures) -> float | None:
    """Returns Lu and Li's estimate of the database size, D / (1 - OR^-1.1) with OR as in
    `Captures.overlap_rate`, whose exponent was fitted on real collections with uneven records; None
    if no record was returned twice.
    """
    rate = seen.overlap_rate
    return seen.distinct / (1 - rate**-1.1) if rate > 1 else None


def chapman(first: int, second: int, both: int) -> float:
    """Returns Chapman's estimate of the database size from two independent samples of n1 (`first`)
    and n2 (`second`) records that have m (`both`) in common: (n1 + 1)(n2 + 1) / (m + 1) - 1."""
    return (first + 1) * (second + 1) / (both + 1) - 1


def harvest(
    database: HiddenDatabase, policy: Chooser, queries: int, seeds: Sequence[Term]
) -> tuple[Retrieved, list[int]]:
    """Runs `queries` queries on a database: first the words `seeds`, then those chosen by a policy.
    Returns what they found (`Retrieved`) and the number of records after each.
    """
    seen, curve = Retrieved(), []
    for number in range(queries):
        first = [Offer(Choice((term,))) for term in seeds[number : number + 1]]
        offers = first or policy.offers(seen)
        if not offers:
            break
        choice = offers[0].choice
        answer, cut = database.ask(choice.query)
        seen.add(choice, answer, cut)
        curve.append(seen.records)
    return seen, curve


def run(options: dict[str, Any]) -> dict[str, Any]:
    started = time.perf_counter()
    cover: dict[str, dict[str, list[list[float]]]] = {}
    sizes: dict[int, list[dict[str, float]]] = {queries: [] for queries in SIZE_QUERIES}
    intervals = []
    for number in range(options["databases"]):
        rng = np.random.default_rng(number + 1)
        database = synthetic(rng, options["documents"], options["vocabulary"])
        seeds = middling_terms(database, rng, _SEEDS)
        for limit in (None, options["limit"]):
            database.limit = limit
            table_name = "uncut" if limit is None else f"cut at {limit}"
            for name, curve in _curves(database, seeds, number):
                say(
                    f"database {number + 1}, {table_name}: {name} covers"
                    f" {curve[-1] / len(database):.3f}"
                )
                cover.setdefault(table_name, {}).setdefault(name, []).append(
                    [count / len(database) for count in curve]
                )
        database.limit = None
        for queries in SIZE_QUERIES:
            sizes[queries].append(
                _by_random_words(database, np.random.default_rng(100 + number), queries)
            )
    for number in range(options["intervals"]):
        rng = np.random.default_rng([options["random_seed"], number])
        small = synthetic(
            rng, options["documents"] // 4, options["vocabulary"] // 2, limit=options["limit"]
        )
        intervals.append(
            _interval(small, middling_terms(small, rng, _SEEDS), options["probes"], number)
        )
    given = [row for row in intervals if row["low"] is not None]
    return {
        "kinds": _kinds(options),
        "interval": {
            "databases": len(intervals),
            "given": len(given) / max(1, len(intervals)),
            "holds": sum(row["low"] <= 1 <= row["high"] for row in given) / max(1, len(given)),
        },
        "databases": options["databases"],
        "documents": options["documents"],
        "limit": options["limit"],
        "coverage": {
            name: {policy: _at(curves) for policy, curves in rows.items()}
            for name, rows in cover.items()
        },
        "queries_to_90": {
            policy: _to_90(curves) for policy, curves in cover.get("uncut", {}).items()
        },
        "sizes": {
            str(queries): {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
            for queries, rows in sizes.items()
        },
        "intervals": intervals,
        "seconds": time.perf_counter() - started,
    }


def _kinds(options: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Returns for each kind of database a dictionary: the mean over pairs of seed words, by policy,
    of the number of records found in KIND_QUERIES queries, divided by that of the greedy oracle;
    for the policy `fresh` also the lowest and highest value ("fresh_low", "fresh_high")."""
    found: dict[str, dict[str, float]] = {}
    size, words = options["documents"], options["vocabulary"]
    for place, name in enumerate(KINDS):
        rng = np.random.default_rng([options["random_seed"], place])
        if name == "large and uniform":
            database = synthetic(rng, size, words, topics=1, limit=options["limit"], own_share=0.0)
        else:
            database = synthetic(
                rng, size // 4, words // 2, limit=options["limit"] // 2, mean_length=60.0
            )
        database.ranked = name != "unranked and cut"
        bar = greedy_oracle(database, KIND_QUERIES)[-1]
        shares: dict[str, list[float]] = {}
        for pair in range(options["pairs"]):
            seeds = middling_terms(
                database, np.random.default_rng([options["random_seed"], place, pair]), _PAIR
            )
            policies: dict[str, Chooser] = {
                "fresh": FreshPolicy(database.limit, database.refused),
                "frequency": FrequencyPolicy(database.refused),
            }
            for policy, chooser in policies.items():
                shares.setdefault(policy, []).append(
                    harvest(database, chooser, KIND_QUERIES, seeds)[0].records / bar
                )
        found[name] = {policy: float(np.mean(values)) for policy, values in shares.items()}
        found[name] |= (
            {"fresh_low": min(shares["fresh"]), "fresh_high": max(shares["fresh"])}
            if shares
            else {}
        )
        say(f"{name}: {found[name]}")
    return found


def _curves(
    database: HiddenDatabase, seeds: list[Term], number: int
) -> list[tuple[str, list[int]]]:
    refused = database.refused
    makers: dict[str, Callable[[], Chooser]] = {
        "random": lambda: RandomPolicy(np.random.default_rng(number), refused),
        "paper": lambda: PaperPolicy(stop_rule=False, refused=refused),
        "frequency": lambda: FrequencyPolicy(refused),
        "fresh": lambda: FreshPolicy(database.limit, refused),
    }
    curves = [
        (name, harvest(database, make(), CHECKPOINTS[-1], seeds)[1])
        for name, make in makers.items()
    ]
    return [*curves, ("oracle", greedy_oracle(database, CHECKPOINTS[-1]))]


def _at(curves: list[list[float]]) -> dict[str, float]:
    return {
        str(point): float(np.mean([curve[min(point, len(curve)) - 1] for curve in curves]))
        for point in CHECKPOINTS
    }


def _to_90(curves: list[list[float]]) -> float | None:
    reached = [
        next((place + 1 for place, share in enumerate(curve) if share >= 0.9), None)
        for curve in curves
    ]
    known = [place for place in reached if place is not None]
    return float(np.mean(known)) if len(known) == len(reached) else None


def _by_random_words(
    database: HiddenDatabase, rng: np.random.Generator, queries: int
) -> dict[str, float]:
    """Returns estimates of the database's size, divided by the true size, from complete answers to
    random words of middle frequency: those named "chapman", "chao1" and "lu_li" (NaN if not
    available), and the "overlap_rate".
    """
    terms = middling_terms(database, rng, queries)
    answers = [database.matches((term,)) for term in terms]
    times = np.bincount(
        np.concatenate([np.array(answer, dtype=np.int64) for answer in answers]),
        minlength=len(database),
    )
    seen = captures(times[times > 0].tolist())
    odd, even = (set().union(*answers[part::2]) for part in (0, 1))
    upper = lu_li(seen)
    found = {
        "chapman": chapman(len(odd), len(even), len(odd & even)),
        "chao1": chao1(seen),
        "lu_li": upper or float("nan"),
    }
    return {"overlap_rate": seen.overlap_rate} | {
        name: value / len(database) for name, value in found.items()
    }


def _interval(
    database: HiddenDatabase, seeds: list[Term], probes: int, number: int
) -> dict[str, Any]:
    """Estimates the size of a database with truncated answers from `probes` random probes, after
    100 queries of the policy `fresh`. Returns the bounds of its confidence interval ("low",
    "high"), divided by the true size; if a bound is unknown, it is None, with a "reason". `number`:
    seed of the random numbers."""
    policy = FreshPolicy(database.limit, database.refused)
    seen, _ = harvest(database, policy, 100, seeds)
    plan = plan_probes(
        seen,
        policy.scales(seen)[seen.kind_numbers],
        database.limit,
        np.random.default_rng(number),
        probes,
    )
    if plan is None:
        return {"low": None, "high": None, "reason": "too_few_words"}
    answers = []
    for term in plan.drawn:
        shown, cut = database.ask((term,))
        answers.append(
            ProbeAnswer(
                term, [ProbedRecord(key, frozenset(terms), "") for key, terms in shown], cut
            )
        )
    size = estimate_size(plan, answers, seen.records)
    scaled = [None if end is None else end / len(database) for end in (size.low, size.high)]
    return {"low": scaled[0], "high": scaled[1], "reason": size.reason}


def table(result: dict[str, Any]) -> str:
    names = ("fresh", "fresh_low", "fresh_high", "frequency")
    kinds = [(kind, *(row.get(name) for name in names)) for kind, row in result["kinds"].items()]
    parts = [plain_table(("share of the oracle", *names), kinds)]
    for name, rows in result["coverage"].items():
        header = (
            f"coverage, {name}",
            *(f"@{point}" for point in CHECKPOINTS),
            *(("to 90 %",) if name == "uncut" else ()),
        )
        body = [
            (
                policy,
                *shares.values(),
                *((result["queries_to_90"].get(policy),) if name == "uncut" else ()),
            )
            for policy, shares in rows.items()
        ]
        parts.append(plain_table(header, body))
    names = ("overlap_rate", "chapman", "chao1", "lu_li")
    parts.append(
        plain_table(
            ("random words", *names),
            [(queries, *(row[name] for name in names)) for queries, row in result["sizes"].items()],
        )
    )
    told = result["interval"]
    parts.append(
        f"size: interval given for {told['given']:.2f} of {told['databases']} databases,"
        f" {told['holds']:.2f} hold it"
    )
    return "\n\n".join(parts)
