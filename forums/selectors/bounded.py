"""Asks the child process to evaluate users' selectors and patterns, and tells which one used up the
limit of time or memory."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree
from lxml.html import HtmlElement

WAIT_SECONDS = 1.0  # longest wait for the evaluation of another thread
ANSWER_SECONDS = 20.0  # by the clock: the child is killed if it was stopped or never ran
MAX_REMEMBERED = 200
BUSY = "other selectors are being evaluated; try again"
TOO_COSTLY = ": takes too long or too much memory"  # follows the selector in the error's text
NOTHING_FOUND = ": finds nothing on a page with rows"
_ROOT = Path(__file__).resolve().parents[2]


class TooCostly(ValueError):
    """A selector or pattern (`selector`) took more time or memory than allowed; it found
    nothing."""

    def __init__(self, selector: str) -> None:
        super().__init__(f"{selector}{TOO_COSTLY}")
        self.selector = selector


class Picked(NamedTuple):
    """The elements of the rows and, by selector, what it finds first in each row: a list of one
    element or text, or an empty one."""

    rows: list[HtmlElement]
    found: dict[str, list[list[Any]]]


def first_match(patterns: Sequence[str], text: str) -> int | None:
    """Returns the index of the first regular expression that is found in a text; None if there is
    none. Raises ValueError for an invalid one, TooCostly for one that takes too long."""
    if not patterns:
        return None
    first: int = _evaluator.ask({"patterns": list(patterns), "text": text}, patterns)["first"]
    return first if first >= 0 else None


def pick(
    root: HtmlElement,
    markup: str,
    records: str,
    selectors: Sequence[str],
    rows: Sequence[HtmlElement] = (),
) -> Picked:
    """Evaluates `selectors` in each of `rows` or, if `records` is given, in each element that this
    selector finds in the page. `root` is the page's tree, `markup` the HTML from which `parse` made
    it. Raises ValueError for an invalid selector, TooCostly for one that takes too long."""
    elements = list(root.iter())
    numbers = {element: number for number, element in enumerate(elements)}
    request = {
        "markup": markup,
        "xml": False,
        "elements": len(elements),
        "records": records,
        "selectors": list(selectors),
        "rows": [numbers[row] for row in rows],
    }
    named = [records, *selectors]
    answer = _evaluator.ask(request, named)
    if "differs" in answer:  # the reader has put elements of its own around lines of text
        told = etree.tostring(root, encoding="unicode")
        answer = _evaluator.ask({**request, "markup": told, "xml": True}, named)
    if "differs" in answer:
        raise ValueError(f"{named[0] or named[-1]}: the page has a structure that cannot be copied")
    found = {
        selector: [[_found(elements, one) for one in first] for first in firsts]
        for selector, firsts in zip(selectors, answer["values"], strict=True)
    }
    return Picked([elements[number] for number in answer["rows"]], found)


def _found(elements: Sequence[HtmlElement], one: int | str) -> Any:
    return elements[one] if isinstance(one, int) else one


class _Evaluator:
    """The child process of this process, started when first needed. Requests that failed are
    remembered, so that a page that is shown again does not cost the time again."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.failed: dict[bytes, str] = {}

    def ask(self, request: dict[str, Any], named: Sequence[str]) -> dict[str, Any]:
        """Returns the child's answer. `named` are the selectors in the order in which the child
        evaluates them."""
        line = json.dumps(request).encode() + b"\n"
        key = sha256(line).digest()
        if not self.lock.acquire(timeout=WAIT_SECONDS):
            raise ValueError(BUSY)
        try:
            if key in self.failed:
                raise TooCostly(self.failed[key])
            answer, at = self._answer(line)
            slow = next(filter(None, named[at:]), "")
            if answer.get("failed"):
                if len(self.failed) >= MAX_REMEMBERED:
                    self.failed.clear()
                self.failed[key] = slow
            if "failed" in answer:
                raise TooCostly(slow)
        finally:
            self.lock.release()
        if "wrong" in answer:
            raise ValueError(f"{slow}: {answer['wrong'].removeprefix(f'{slow}: ')}")
        return answer

    def _answer(self, line: bytes) -> tuple[dict[str, Any], int]:
        """Returns the child's answer and the index of the last selector that it evaluated."""
        process, at = self._running(), 0
        assert process.stdin and process.stdout  # noqa: S101 - both are pipes
        timer = threading.Timer(ANSWER_SECONDS, process.kill)
        timer.daemon = True
        timer.start()
        try:
            process.stdin.write(line)
            process.stdin.flush()
            while "at" in (answer := json.loads(process.stdout.readline())):
                at = answer["at"]
            return answer, at
        except (OSError, ValueError):  # the child was killed from outside
            self.end()
            return {"failed": False}, at
        except (
            BaseException
        ):  # an exception of a signal handler: the rest of the answer is not read
            self.end()
            raise
        finally:
            timer.cancel()

    def _running(self) -> subprocess.Popen[bytes]:
        if self.process is None or self.process.poll() is not None:
            self.end()
            # in a session of its own, so that signals for this process's group do not reach it
            self.process = subprocess.Popen(
                [sys.executable, "-m", "forums.selectors.child"],
                cwd=_ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        return self.process

    def end(self) -> None:
        """Ends the child process; the next request starts another one."""
        if self.process is not None:
            process, self.process = self.process, None
            process.kill()
            with contextlib.suppress(OSError), process:
                pass


_evaluator = _Evaluator()
_of_parents: list[
    _Evaluator
] = []  # kept, because deleting them would end the parent's child process


def _forget() -> None:
    """Called in every forked process: it starts a child process of its own when it needs one."""
    global _evaluator
    _of_parents.append(_evaluator)
    _evaluator = _Evaluator()


os.register_at_fork(after_in_child=_forget)
atexit.register(lambda: _evaluator.end())
