"""`bench hostile`: how the CPU time of reading a hostile page, file or text grows with its size."""

from __future__ import annotations

import gc
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from crawlmgr.management.base import table as plain_table
from tests.benches.hostile.pages import CASES, Case
from tests.benches.hostile.readers import READERS, Reader

PACKAGES = ("crawlmgr", "forums", "focused", "deepweb")
SMALLEST, LARGEST = 4_096, 4_194_304
# caches of at most this size are not cleared: they hold loaded resources, not results of reading
FEW = 32
# if the time grows by more than this factor when the size doubles, both sizes are measured again
ENOUGH = 2.3
AGAIN = 6  # maximum number of repeated measurements of a case whose time seems to grow too fast
FLOOR_SECONDS = (
    0.02  # shorter times count as this in ratios, because they are mostly noise of the machine
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--largest",
        type=int,
        default=LARGEST,
        metavar="BYTES",
        help="the largest size (default 4 MiB)",
    )
    parser.add_argument(
        "--only",
        default="",
        metavar="TEXT",
        help="only parsers and cases whose name contains this text",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=1,
        help="repetitions per input, of which the fastest counts (default 1)",
    )


def run(options: Mapping[str, Any]) -> dict[str, Any]:
    """Measures each parser on each case; returns `cases`, a row for each: sizes, CPU seconds per
    size, and the greatest factor by which the time grows when the size doubles (`growth`)."""
    rows = []
    for name, reader, case in _pairs():
        label = f"{name}: {case.name}"
        if options["only"] not in label:
            continue
        rows.append(
            {"case": label, **measured(reader, case, options["largest"], options["rounds"])}
        )
        sys.stderr.write(f"{label}: {rows[-1]['seconds'][-1]} s, growth {rows[-1]['growth']}\n")
    return {"cases": rows}


def _pairs() -> Iterator[tuple[str, Reader, Case]]:
    for name, (kind, reader) in READERS.items():
        yield from ((name, reader, case) for case in CASES if case.kind == kind)


@cache
def _memories() -> list[Any]:
    """Returns those caches of the project (functions with lru_cache) that can hold more than FEW
    results; they are cleared before each measurement."""
    known = {
        id(found): found
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in PACKAGES
        for found in vars(module).values()
        if hasattr(found, "cache_clear") and hasattr(found, "cache_info")
    }
    return [found for found in known.values() if (found.cache_info().maxsize or 0) > FEW]


def measured(reader: Reader, case: Case, largest: int, rounds: int) -> dict[str, Any]:
    """Measures one parser on one case, for input sizes that double from SMALLEST up to at most
    `largest`; the fastest of `rounds` measurements counts. If the time grows by more than ENOUGH at
    a doubling, both sizes are measured again, to rule out noise. Returns `sizes`, `seconds` (CPU,
    for each), `growth` (see there) and `read_otherwise_from` (sizes from which the input is read as
    another kind of page)."""
    sizes = [SMALLEST]
    while sizes[-1] * 2 <= largest:
        sizes.append(sizes[-1] * 2)
    reader(case.make(SMALLEST))  # makes the parser load resources that it loads only once
    gc.collect()
    # later garbage collections skip all objects that exist now: checking them is no cost of a page
    gc.freeze()
    kinds = [_verdict(reader(case.make(size))) for size in sizes]
    seconds = [
        min(_cost(reader, text) for _ in range(max(1, rounds))) for text in map(case.make, sizes)
    ]
    for _ in range(AGAIN):
        steep = {
            at + near
            for at in range(1, len(sizes))
            if _factor(seconds, kinds, at) > ENOUGH
            for near in (-1, 0)
        }
        if not steep:
            break
        for at in sorted(steep):
            seconds[at] = min(seconds[at], _cost(reader, case.make(sizes[at])))
    steps = [sizes[at] for at in range(1, len(sizes)) if kinds[at] != kinds[at - 1]]
    figures = {
        "sizes": sizes,
        "seconds": [round(each, 4) for each in seconds],
        "growth": growth(seconds, kinds),
    }
    return {**figures, "read_otherwise_from": steps}


def _verdict(result: object) -> tuple[object, bool]:
    """Returns the kind that a page was read as (None for readers without kinds), and whether
    records were extracted from it."""
    return getattr(result, "kind", None), bool(getattr(result, "records", ()))


def growth(seconds: Sequence[float], kinds: Sequence[object] = ()) -> float:
    """Returns the greatest factor by which the time grows when the size doubles (see `_factor`); 1
    for a single size. `seconds` are the times for sizes that double from one to the next, `kinds`
    the results of `_verdict` for them.
    """
    return round(
        max((_factor(seconds, kinds, at) for at in range(1, len(seconds))), default=1.0), 2
    )


def _factor(seconds: Sequence[float], kinds: Sequence[object], at: int) -> float:
    """Returns the time for the size with index `at`, divided by that for half the size. If the two
    were read as different kinds of page, by different code, returns instead the mean factor over
    the last two doublings, which still shows growth above linear."""
    back = 2 if at > 1 and kinds and kinds[at] != kinds[at - 1] else 1
    return float(
        (max(seconds[at], FLOOR_SECONDS) / max(seconds[at - back], FLOOR_SECONDS)) ** (1 / back)
    )


def _cost(reader: Reader, text: str) -> float:
    """Returns the CPU seconds that parsing a text takes. Garbage is collected and caches are
    cleared first, since results cached from smaller sizes would distort the figures."""
    gc.collect()
    for memory in _memories():
        memory.cache_clear()
    begun = time.process_time()
    reader(text)
    return time.process_time() - begun


def table(result: dict[str, Any]) -> str:
    """Formats the result as a text table with a row for each case, slowest first."""
    rows = sorted(result["cases"], key=lambda row: -max(row["seconds"]))
    cells = [
        (
            row["case"],
            row["sizes"][-1],
            f"{row['seconds'][-1]:.3f}",
            f"{max(row['seconds']):.3f}",
            row["growth"],
        )
        for row in rows
    ]
    return plain_table(("case", "largest bytes", "its CPU s", "highest CPU s", "growth"), cells)
