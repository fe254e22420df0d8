"""Writes the forms of the shared saved pages, with types assigned by hand, as training data for
`deepweb train --more`: `python -m tests.deepweb.labelled_pages DATA FILE.jsonl`. DATA is the folder
with nonforum, pagination and forum_corpus.
"""

from __future__ import annotations

import functools
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import lxml.html

from crawlmgr.web.url import registered_domain
from deepweb.search_forms import parse_page

LABELS = Path(__file__).with_suffix(".txt")


def labels() -> list[tuple[str, int, str]]:
    """Returns a (page, number of the form, type of the form) per label; a page is a file, or
    `file:line` of JSON lines."""
    lines = [
        line.split()
        for line in LABELS.read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]
    return [(page, int(number), kind) for page, number, kind in lines]


class Pages:
    """The saved pages: address, domain and HTML of each."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._addresses = {
            f"{part}/{row['file']}": row["base_url"]
            for part in ("nonforum", "forum_corpus")
            for row in map(
                json.loads, (data / part / "list.jsonl").read_text(encoding="utf-8").splitlines()
            )
        }

    @functools.cache  # noqa: B019 - one object lives as long as the script
    def _lines(self, file: str) -> list[dict[str, Any]]:
        with gzip.open(self._data / file, "rt", encoding="utf-8") as stream:
            return [json.loads(line) for line in stream]

    def read(self, page: str) -> tuple[str, str, str | bytes]:
        file, _, line = page.partition(":")
        if line:
            row = self._lines(file)[int(line) - 1]
            return row["page"], registered_domain(row["domain"]) or row["domain"], row["html"]
        address = self._addresses[page]
        return (
            address,
            registered_domain(urlsplit(address).hostname or ""),
            (self._data / file).read_bytes(),
        )


def labelled(data: Path) -> Iterator[dict[str, Any]]:
    """Yields a record of the training data for each labelled form: its HTML, its type and the HTML
    of its page."""
    pages = Pages(data)
    for page, number, kind in labels():
        address, domain, html = pages.read(page)
        root = parse_page(html)
        assert root is not None, page
        form = list(root.iter("form"))[number]
        yield {
            "id": f"{page}#{number}",
            "page_id": f"{page}#{number}",
            "url": address,
            "domain": domain,
            "type": kind,
            "html": lxml.html.tostring(form, encoding="unicode", with_tail=False),
            "page_html": lxml.html.tostring(root, encoding="unicode"),
            "form_index": number,
        }


def main(data: str, file: str) -> None:
    """Writes the labelled forms of the pages in the folder `data` to a file of JSON lines."""
    with Path(file).open("w", encoding="utf-8") as out:
        for row in labelled(Path(data)):
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
