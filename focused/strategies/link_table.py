"""All links of a run in columns: what their anchors promise, what their pages are worth, what to expect of their targets."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crawlmgr.web.url import host_key

Vector = NDArray[np.float64]
Rows = NDArray[np.intp]

_PERSON = re.compile(r"~[^/]+")
_VARIABLE = re.compile(r"\d+")


def template(url: str) -> str:
    """Host, folder and file type of a URL without what varies (numbers, ~names): pages of one program or kind share it."""
    path, _, query = url.partition("?")
    folder, _, file = path.partition("//")[2].partition("/")[2].rpartition("/")
    kind = file.rpartition(".")[2] if "." in file else ""
    names = "&".join(sorted(part.partition("=")[0] for part in query.split("&"))) if query else ""
    folder = _VARIABLE.sub("0", _PERSON.sub("~", folder))
    return f"{host_key(url)}/{folder}/*.{kind}?{names}"


class LinkTable:
    """One row a link. A row is open while its target is neither fetched nor failed.

    Columns: R(anchor), R(page), and what the link's words say of the target (the prior). R(target) is the page's own
    relevance once it is fetched; until then the mean over the fetched pages of the same URL template, drawn towards the
    prior as if `weight` further pages had been just like it: (sum + weight * prior) / (n + weight).
    """

    def __init__(self, weight: float = 5.0) -> None:
        self._weight = weight
        self.urls: list[str] = []
        self.pages: list[str] = []
        self._spans: dict[str, tuple[int, int]] = {}
        self._rows: dict[str, list[int]] = {}
        self._templates: dict[str, int] = {}
        self._sums = np.zeros(64)
        self._counts = np.zeros(64)
        self._columns = np.zeros((4, 256))  # anchor, page, prior, the target's own (NaN until fetched)
        self._kin = np.zeros(256, dtype=np.intp)
        self._open = np.zeros(256, dtype=bool)
        self._done: dict[str, float] = {}
        self._left: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.urls)

    def __contains__(self, page: str) -> bool:
        return page in self._spans

    def add(
        self, page: str, relevance: float, urls: Sequence[str], anchors: Sequence[float], priors: Sequence[float], alias: str
    ) -> None:
        """A page was fetched: its links get rows, and links to it (or to `alias`, where redirects ended) are closed."""
        self.close(page, relevance)
        self.close(alias, relevance)
        kin = self._template(page)
        self._sums[kin] += relevance
        self._counts[kin] += 1
        first, last = len(self.urls), len(self.urls) + len(urls)
        self._reserve(last)
        self._spans[page] = (first, last)
        self.urls.extend(urls)
        self.pages.extend([page] * len(urls))
        self._columns[0, first:last] = anchors
        self._columns[1, first:last] = relevance
        self._columns[2, first:last] = priors
        self._columns[3, first:last] = [self._done.get(url, np.nan) for url in urls]
        self._kin[first:last] = [self._template(url) for url in urls]
        self._open[first:last] = still_open = [url not in self._done for url in urls]
        self._left[page] = sum(still_open)
        for row, url in enumerate(urls, start=first):
            self._rows.setdefault(url, []).append(row)

    def close(self, url: str, relevance: float = 0.0) -> None:
        """A URL was fetched (with what it turned out to be worth) or failed (worth nothing)."""
        self._done[url] = relevance
        rows = self._rows.get(url)
        if rows:
            for row in rows:
                if self._open[row]:
                    self._left[self.pages[row]] -= 1
            self._open[rows] = False
            self._columns[3, rows] = relevance

    def rows(self, page: str) -> Rows:
        """The rows of a page's links."""
        return np.arange(*self._spans[page], dtype=np.intp)

    def row_of(self, page: str, url: str) -> int | None:
        """The row of a link, None where the page has no such link."""
        first, last = self._spans[page]
        return next((row for row in self._rows.get(url, ()) if first <= row < last), None)

    def is_open(self, rows: Rows) -> NDArray[np.bool_]:
        """Which rows are open."""
        return self._open[rows]

    def leads_on(self, page: str) -> bool:
        """Whether a page has open links."""
        return self._left.get(page, 0) > 0

    def open_rows(self) -> Rows:
        """All open rows."""
        return np.flatnonzero(self._open[: len(self)])

    def objectives(self, rows: Rows) -> Vector:
        """n x 3: R(anchor), R(page), R(target) as it is known or expected."""
        anchor, page, prior, own = self._columns[:, rows]
        kin = self._kin[rows]
        expected = (self._sums[kin] + self._weight * prior) / (self._counts[kin] + self._weight)
        return np.column_stack([anchor, page, np.where(np.isnan(own), expected, own)])

    def _template(self, url: str) -> int:
        key = template(url)
        number = self._templates.setdefault(key, len(self._templates))
        if number >= len(self._sums):
            self._sums = np.concatenate([self._sums, np.zeros_like(self._sums)])
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
        return number

    def _reserve(self, size: int) -> None:
        while size > self._columns.shape[1]:
            self._columns = np.concatenate([self._columns, np.zeros_like(self._columns)], axis=1)
            self._kin = np.concatenate([self._kin, np.zeros_like(self._kin)])
            self._open = np.concatenate([self._open, np.zeros_like(self._open)])
