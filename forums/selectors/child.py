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


_NAMES_BODY = re.compile(r"\btbody\b", re.IGNORECASE)


def _insert_bodies(root: HtmlElement) -> dict[HtmlElement, HtmlElement]:
    """Puts rows that stand in a table itself into `tbody` elements, as the HTML standard does and
    our parser does not; returns the table of each new element."""
    made = {}
    for table in list(root.iter("table")):
        body = None
        for child in list(table):
            if child.tag != "tr":
                body = None
                continue
            if body is None:
                body = etree.SubElement(table, "tbody")
                table.insert(table.index(child), body)
                made[body] = table
            body.append(child)
    return made


def _remove_bodies(made: dict[HtmlElement, HtmlElement]) -> None:
    for body, table in made.items():
        at = table.index(body)
        table[at : at + 1] = list(body)


def _pick(request: dict[str, Any]) -> dict[str, Any]:
    """Returns the numbers of the row elements and what each selector finds first in each row.
    Elements are numbered in document order; {"differs": true} if this tree has another number of
    elements than that of the asking process."""
    elements = [] if request["root"] is None else list(request["root"].iter())
    if len(elements) != request["elements"]:
        return {"differs": True}
    numbers = {element: number for number, element in enumerate(elements)}
    rows = request["rows"]

    def found(selector: str, below: list[HtmlElement], most: int | None) -> list[list[int | str]]:
        """Returns what a selector finds in each element, at most `most`. Selectors that name
        `tbody` were made in a browser, where every table has one."""
        made = _insert_bodies(request["root"]) if _NAMES_BODY.search(selector) else {}
        firsts = [select(element, selector)[:most] for element in below]
        _remove_bodies(made)
        return [
            [numbers[made.get(e, e)] if isinstance(e, HtmlElement) else str(e) for e in some]
            for some in firsts
        ]

    if request["records"]:
        _say({"at": 0})
        (some,) = found(request["records"], [request["root"]], None)
        rows = [one for one in some if isinstance(one, int)]
    values = []
    for at, selector in enumerate(request["selectors"], 1):
        _say({"at": at})
        values.append(found(selector, [elements[row] for row in rows], 1))
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
