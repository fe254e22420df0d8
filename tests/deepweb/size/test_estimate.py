"""Sizes by the records that two sets of queries returned; methods that contradict each other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from deepweb.answers.retrieved import Term
from deepweb.size import probing
from deepweb.size.estimators import Estimate


def session(ours: range, *probes: range, cut: int = 0) -> Any:
    """A harvest whose queries found the records `ours`, and each probe its own; `cut` further
    probes were truncated."""
    told = [{"overflowed": False, "found": list(found)} for found in probes]
    told += [{"overflowed": True, "found": [0]}] * cut
    entry = SimpleNamespace(found=list(ours), total=None, choice=SimpleNamespace(query=()))
    log = type("Log", (list,), {"listing": lambda self: None})([entry])
    return SimpleNamespace(
        state={"probes": told, "plan": {}},
        log=log,
        known={*ours}.union(*probes),
        harvest=SimpleNamespace(low=None, high=None, unknown=""),
    )


def test_nine_tenths_of_what_probes_return_was_known_so_nine_tenths_of_all_are() -> None:
    probes = (range(n, n + 8, 2) for n in range(0, 1000, 8))
    size = probing._by_returns(session(range(900), *probes))
    assert size is not None and size.low is not None and size.high is not None
    assert 950 < size.low < 1000 < size.high < 1200


def test_all_that_probes_return_was_known() -> None:
    size = probing._by_returns(session(range(400), *(range(n, n + 8) for n in range(0, 400, 8))))
    assert size is not None and size.low == 400 and size.high is not None and size.high < 420


@pytest.mark.parametrize("records", [41, 97, 500, 1234])
def test_a_size_is_a_whole_number_of_records_at_the_least(records: int) -> None:
    probes = (range(n, min(n + 8, records)) for n in range(0, records, 8))
    size = probing._by_returns(session(range(records), *probes))
    assert size is not None and size.low == records


@pytest.mark.parametrize(
    ("probes", "cut"), [((range(29),), 0), ((range(40),), 2), ((range(300, 340),), 0)]
)
def test_too_few_or_truncated_probes_or_too_wide_an_interval_give_no_size(
    probes: tuple[range, ...], cut: int
) -> None:
    assert probing._by_returns(session(range(100), *probes, cut=cut)) is None


@pytest.mark.parametrize(
    ("sized", "told"),
    [
        ((380.0, 450.0), (380.0, 450.0, "")),
        ((900.0, 990.0), (None, None, "below_records_seen")),  # all that probes return is known
    ],
)
def test_methods_that_contradict_each_other_give_no_size(
    sized: tuple[float, float], told: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = session(range(400), *(range(n, n + 8) for n in range(0, 400, 8)))
    monkeypatch.setattr(probing, "_listed", lambda _session: None)
    monkeypatch.setattr(probing, "size_of", lambda _session: Estimate(*sized, "", 50))
    probing.size_up(one)
    assert (one.harvest.low, one.harvest.high, one.harvest.unknown) == told


def listing(entries: list[Any], whole: Any = None, known: range = range(60)) -> Any:
    log = type("Log", (list,), {"listing": lambda self: whole})(entries)
    return SimpleNamespace(log=log, known=set(known))


def answer(found: range, total: int | None, *values: str) -> Any:
    query = tuple(Term("q", value) for value in values)
    return SimpleNamespace(found=list(found), total=total, choice=SimpleNamespace(query=query))


def test_an_answer_that_lists_the_database_is_its_size() -> None:
    whole = answer(range(60), None, "")
    assert probing._listed(listing([whole], whole)) == Estimate(60, 60, "", 0)
    # other queries found records that it lacks
    assert probing._listed(listing([whole], whole, range(80))) is None


@pytest.mark.parametrize(
    ("value", "total", "size"),
    [("", 200, 200), ("river", 200, None), ("", 59, None), ("", None, None)],
)
def test_a_total_stated_for_a_query_without_any_value_is_the_size(
    value: str, total: int | None, size: int | None
) -> None:
    found = probing._listed(listing([answer(range(20), total, value)]))
    assert (found and found.low) == size
    assert found is None or found.high is not None and 200 < found.high <= 210
