"""Seeded faults: measures how many small faults in the code the tests detect.

`python -m tests.seeded_faults` (or `make faults`) draws faults at random from the parts below,
inserts each into a copy of the project, and runs the tests of that part until one fails. A fault is
a changed comparison, operator, number, condition or statement. The same seed draws the same faults
as long as the files stay unchanged. Some faults have no observable effect, so compare the share of
detected faults between two versions of the tests, not with 100 %.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SECONDS = (
    600  # time limit for the tests of one fault; a program that no longer ends counts as detected
)
PARTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "engine": (
        ("crawlmgr/engine.py",),
        (
            *(
                "tests/crawlmgr/test_engine.py",
                "tests/crawlmgr/frontier/test_in_flight_pool.py",
                "tests/crawlmgr/frontier/test_in_flight_again.py",
            ),
            *("tests/focused/test_crawl.py", "tests/test_cursors.py"),
        ),
    ),
    "guard": (("crawlmgr/web/http/guard.py",), ("tests/crawlmgr/web",)),
    "incremental": (
        ("forums/visits/incremental.py",),
        (
            "tests/forums/test_incremental.py",
            "tests/forums/test_crawl.py",
            "tests/forums/test_delay_simulation.py",
        ),
    ),
    "schedule": (
        (
            "forums/schedule/paper.py",
            "forums/schedule/optimal.py",
            "forums/schedule/adaptive.py",
            "forums/schedule/pacing.py",
        ),
        (
            "tests/forums/test_paper.py",
            "tests/forums/test_optimal.py",
            "tests/forums/test_adaptive.py",
            "tests/forums/test_equations.py",
            "tests/forums/test_allocation.py",
            "tests/forums/test_plans.py",
            "tests/forums/test_delay_simulation.py",
        ),
    ),
    "strategies": (
        (
            "focused/strategies/ant_colony.py",
            "focused/strategies/tunnel.py",
            "focused/strategies/dolphin.py",
            "focused/strategies/adaptive.py",
        ),
        (
            "tests/focused/test_strategies.py",
            "tests/focused/test_colony.py",
            "tests/focused/test_tunnels.py",
            "tests/focused/test_adaptive.py",
            "tests/focused/test_endings.py",
            "tests/focused/test_ontology.py",
            "tests/focused/test_link_parts.py",
            "tests/focused/test_repeatable.py",
        ),
    ),
    "selection": (
        (
            "deepweb/choice/words.py",
            "deepweb/answers/retrieved.py",
            "deepweb/choice/range_cells.py",
            "deepweb/size/estimators.py",
        ),
        (
            "tests/deepweb/choice/test_words.py",
            "tests/deepweb/choice/test_range_cells.py",
            "tests/deepweb/size/test_coverage.py",
            "tests/deepweb/choice/test_word_yield.py",
            "tests/deepweb/choice/test_combinations.py",
            "tests/deepweb/test_harvest.py",
        ),
    ),
    "reading": (
        (
            "forums/reading/addresses.py",
            "forums/reading/page_times.py",
            "forums/reading/lists/rows.py",
            "forums/reading/lists/thread_columns.py",
            "forums/reading/posts/post_records.py",
            "forums/reading/lists/board_records.py",
        ),
        tuple(
            sorted(
                str(path.relative_to(ROOT)) for path in ROOT.glob("tests/forums/test_reading*.py")
            )
        ),
    ),
}
"""By part: the files into which faults are inserted, and the tests that should detect them."""

COMPARES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}


class Fault(NamedTuple):
    """One fault: the part of the code, the file relative to the project root, the line, the byte
    offsets in the file at which the text is replaced, the original text and its replacement."""

    part: str
    file: str
    line: int
    start: int
    end: int
    old: str
    new: str


class Outcome(NamedTuple):
    """Whether the tests detected a fault, and the first test that failed ("" for none)."""

    fault: Fault
    caught: bool
    by: str


def changed(node: ast.AST) -> ast.AST | None:
    """The node with a fault inserted; None if no fault is possible.

    >>> ast.unparse(changed(ast.parse("a < b", mode="eval").body))
    'a <= b'
    """
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=right) if (
            type(operator) in COMPARES
        ):
            return ast.Compare(left, [COMPARES[type(operator)]()], right)
        case ast.BinOp(left=left, op=op, right=right) if (
            type(op) in OPERATORS and not _is_text(left) and not _is_text(right)
        ):
            return ast.BinOp(left, OPERATORS[type(op)](), right)
        case ast.BoolOp(op=ast.And(), values=values):
            return ast.BoolOp(ast.Or(), values)
        case ast.BoolOp(op=ast.Or(), values=values):
            return ast.BoolOp(ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.Constant(value=value) if isinstance(value, int | float) and not isinstance(
            value, bool
        ):
            return ast.Constant(value + 1 if isinstance(value, int) else value * 2 + 1)
        case ast.Continue():
            return ast.Break()
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            return ast.Pass()
    return None


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def faults_of(part: str, file: str, source: str) -> list[Fault]:
    """Every fault that can be inserted into a file, inside functions, in the order of the text."""
    raw = source.encode()
    offsets = [0]
    for row in raw.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(row))
    found = {}
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        for statement in function.body:
            for node in ast.walk(statement):
                new = changed(node)
                if new is None:
                    continue
                assert (
                    isinstance(node, ast.expr | ast.stmt)
                    and node.end_lineno is not None
                    and node.end_col_offset is not None
                )
                start, end = (
                    offsets[node.lineno - 1] + node.col_offset,
                    offsets[node.end_lineno - 1] + node.end_col_offset,
                )
                text = ast.unparse(ast.fix_missing_locations(new))
                text = (
                    f"({text})"
                    if isinstance(new, ast.expr) and not isinstance(new, ast.Constant)
                    else text
                )
                found[start, end] = Fault(
                    part, file, node.lineno, start, end, raw[start:end].decode(), text
                )
    return [found[key] for key in sorted(found)]


def drawn(number: int, seed: int) -> list[Fault]:
    """Draws `number` random faults, spread evenly over the parts of the code in PARTS."""
    draw = random.Random(seed)
    found: list[Fault] = []
    for index, (part, (files, _tests)) in enumerate(PARTS.items()):
        wanted = number * (index + 1) // len(PARTS) - number * index // len(PARTS)
        all_of_part = [
            one
            for file in files
            for one in faults_of(part, file, (ROOT / file).read_text(encoding="utf-8"))
        ]
        found += draw.sample(all_of_part, min(wanted, len(all_of_part)))
    return found


def noticed(fault: Fault, copy: Path, selection: str) -> Outcome:
    """Inserts a fault into a copy of the project, runs the tests of its part, and removes the fault
    again."""
    file = copy / fault.file
    good = file.read_bytes()
    file.write_bytes(good[: fault.start] + fault.new.encode() + good[fault.end :])
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "-m",
        selection,
        *PARTS[fault.part][1],
    ]
    try:
        process = subprocess.Popen(
            command,
            cwd=copy,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        try:
            told, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return Outcome(fault, caught=True, by=f"no end within {SECONDS} s")
    finally:
        file.write_bytes(good)
    failing = [
        line for line in told.splitlines() if line.startswith(("FAILED tests/", "ERROR tests/"))
    ]
    return Outcome(
        fault,
        process.returncode == 1 or bool(failing),
        failing[0].split(" - ")[0] if failing else "",
    )


def keep_rewritten(copy: Path) -> None:
    """Collects the tests of all parts once, so that pytest keeps its rewritten test modules.

    The runs with faults write no compiled files: one of a faulty module could outlive the fault.
    """
    tests = sorted({test for _files, tests in PARTS.values() for test in tests})
    subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", *tests],
        cwd=copy,
        stdout=subprocess.DEVNULL,
        env={key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"},
        check=True,
    )


@contextlib.contextmanager
def copies(number: int) -> Iterator[Queue[Path]]:
    """Copies of the project's files, each for one test run at a time."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
    ).stdout.decode()
    free: Queue[Path] = Queue()
    with tempfile.TemporaryDirectory(prefix="seeded-faults-") as folder:
        for index in range(number):
            copy = Path(folder) / str(index) / "project"
            for name in filter(None, listed.split("\0")):
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, copy / name)
            keep_rewritten(copy)
            free.put(copy)
        yield free


def main(words: Sequence[str] | None = None) -> None:
    """Draws faults at random, tests them in parallel, and prints each result and the number
    detected in each part of PARTS."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--faults", type=int, default=42, help="number of faults (default 42)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the draw (default 1)")
    parser.add_argument(
        "--tests",
        default="not slow and not browser",
        help="marks of the tests that are run, as for pytest's -m",
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="faults tried side by side"
    )
    asked = parser.parse_args(words)
    outcomes: list[Outcome] = []
    with copies(asked.jobs) as free, ThreadPoolExecutor(asked.jobs) as pool:

        def tried(fault: Fault) -> Outcome:
            copy = free.get()
            try:
                return noticed(fault, copy, asked.tests)
            finally:
                free.put(copy)

        for outcome in pool.map(tried, drawn(asked.faults, asked.seed)):
            outcomes.append(outcome)
            fault = outcome.fault
            old, new = (" ".join(text.split())[:60] for text in (fault.old, fault.new))
            say(
                f"{fault.part:12} {fault.file}:{fault.line}: {old} -> {new}:"
                f" {outcome.by if outcome.caught else 'NOT CAUGHT'}"
            )
    for part in PARTS:
        of_part = [one.caught for one in outcomes if one.fault.part == part]
        say(f"{part}: {sum(of_part)} of {len(of_part)}")
    say(f"caught: {sum(one.caught for one in outcomes)} of {len(outcomes)}")


def say(line: str) -> None:
    """Prints a line without buffering."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
