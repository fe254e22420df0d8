"""The process that evaluates users' selectors and patterns: `python -m forums.selectors.child`.

It reads one request as a line of JSON from standard input and forks for each, so that the kernel
can end an evaluation that uses up its CPU time or memory while this process stays as it is. It
writes lines of JSON: {"at": n} before the n-th selector or pattern is evaluated, and then the
answer, {"wrong": why} for an invalid selector or {"failed": true} if the evaluation was ended.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import sys
from functools import lru_cache
from typing import Any

from cssselect import SelectorError
from lxml import etree
from lxml.html import HtmlElement
from parsel.csstranslator import HTMLTranslator

from crawlmgr.web.pages.tree import parse

_ONE_CLASS = etree.ElementDefaultClassLookup(element=HtmlElement)


def parse_xml(text: str) -> HtmlElement:
    """Returns the root element of a tree that was serialised as XML."""
    parser = etree.XMLParser(encoding="utf-8", huge_tree=True, recover=True, resolve_entities=False)
    parser.set_element_class_lookup(_ONE_CLASS)
    return etree.fromstring(text.encode("utf-8", "replace"), parser)


def select(element: HtmlElement, selector: str) -> list[Any]:
    """Returns what a selector finds below an element: elements, or texts for `::text` and
    `::attr(name)`. Raises ValueError if it is neither valid CSS nor valid XPath."""
    try:
        found = _compiled(selector)(element)
    except (SelectorError, etree.XPathError, RecursionError) as error:
        raise ValueError(f"{selector}: {error}") from error
    return found if isinstance(found, list) else [found]


@lru_cache(maxsize=1_024)
def _compiled(selector: str) -> etree.XPath:
    return etree.XPath(
        selector
        if selector.startswith(("/", "./", "("))
        else HTMLTranslator().css_to_xpath(selector, "descendant-or-self::"),
        smart_strings=False,
    )


CPU_SECONDS = 0.3  # for all selectors on one page; usual ones take some milliseconds


MEMORY_BYTES = 768 << 20  # address space of one evaluation


MAX_ANSWER = 16_000_000  # characters


def _say(answer: dict[str, Any]) -> None:
    text = json.dumps(answer)
    line = text.encode() if len(text) <= MAX_ANSWER else b'{"failed": true}'
    with open(sys.stdout.fileno(), "wb", closefd=False) as output:
        output.write(line + b"\n")


def _match(request: dict[str, Any]) -> dict[str, Any]:
    """Returns the index of the first pattern that is found in the text, -1 if there is none."""
    for at, pattern in enumerate(request["patterns"]):
        _say({"at": at})
        if re.search(pattern, request["text"]):
            return {"first": at}
    return {"first": -1}


def _pick(request: dict[str, Any]) -> dict[str, Any]:
    """Returns the numbers of the row elements and what each selector finds first in each row.
    Elements are numbered in document order; {"differs": true} if this tree has another number of
    elements than that of the asking process."""
    elements = [] if request["root"] is None else list(request["root"].iter())
    if len(elements) != request["elements"]:
        return {"differs": True}
    numbers = {element: number for number, element in enumerate(elements)}
    rows = request["rows"]
    if request["records"]:
        _say({"at": 0})
        found = select(request["root"], request["records"])
        rows = [numbers[one] for one in found if isinstance(one, HtmlElement)]
    values = []
    for at, selector in enumerate(request["selectors"], 1):
        _say({"at": at})
        firsts = (select(elements[row], selector)[:1] for row in rows)
        values.append(
            [
                [numbers[one] if isinstance(one, HtmlElement) else str(one) for one in first]
                for first in firsts
            ]
        )
    return {"rows": rows, "values": values}


def _evaluate(request: dict[str, Any]) -> None:
    work = _match if "patterns" in request else _pick
    if work is _pick:
        make = parse_xml if request["xml"] else parse
        request["root"] = make(request.pop("markup"))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process, also within a library call
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        answer = work(request)
    except (ValueError, re.error, RecursionError) as error:
        answer = {"wrong": str(error)}
    signal.setitimer(signal.ITIMER_PROF, 0)
    _say(answer)


def main() -> None:
    """Answers requests until standard input closes."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    while line := sys.stdin.buffer.readline():
        child = os.fork()
        if child == 0:
            code = 1
            try:
                _evaluate(json.loads(line))
                code = 0
            finally:
                os._exit(code)
        if os.waitpid(child, 0)[1]:
            _say({"failed": True})


if __name__ == "__main__":
    main()
