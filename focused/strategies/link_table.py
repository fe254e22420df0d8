"""A table of all links of a run, used by the strategies `ant_colony` and `space_evolution`: the
relevance of their anchors and pages, and the known or estimated relevance of their targets (the
URLs they lead to)."""

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
    """Returns the pattern of a URL: host, folder, file type and names of query fields, with numbers
    replaced by 0 and ~names by ~. Pages of one kind share it.
    """
    path, _, query = url.partition("?")
    folder, _, file = path.rpartition("/")
    return folder_template(host_key(url), folder) + file_template(file, query)


def folder_template(host: str, folder: str) -> str:
    """Returns the part of a URL pattern (see `template`) that all addresses of a folder share.
    `folder` is an address up to the folder, with scheme and host, without the last "/".
    """
    way = folder.partition("//")[2].partition("/")[2]
    return f"{host}/{_VARIABLE.sub('0', _PERSON.sub('~', way))}/*"


def file_template(file: str, query: str) -> str:
    """Returns the part of a URL pattern (see `template`) that follows the folder's part: the file's
    type and the sorted names of the query's fields.
    """
    kind = file.rpartition(".")[2] if "." in file else ""
    names = "&".join(sorted(part.partition("=")[0] for part in query.split("&"))) if query else ""
    return f".{kind}?{names}"


class LinkTable:
    """Stores all links of a run, a row for each: R(anchor), R(page) and R(target), where R is
    relevance to the topic. A row is open until the link's target is fetched or its fetch fails.

    As long as a target is not fetched, its R is estimated: the mean over the n fetched pages whose
    URLs have the same pattern (`template`) is shrunk towards a prior from the link's words, (sum +
    weight * prior) / (n + weight). With `siblings`, the mean over the closed links of the link's
    page is in turn shrunk towards this estimate, because entries of a list predict each other.
    """

    def __init__(self, weight: float = 5.0, *, siblings: bool = False) -> None:
        self._weight = weight
        self._siblings = siblings
        self.urls: list[str] = []
        self._spans: dict[str, tuple[int, int]] = {}
        self._rows: dict[str, list[int]] = {}
        self._templates: dict[str, int] = {}
        self._sums = np.zeros(64)
        self._counts = np.zeros(64)
        # array rows: R(anchor), R(page), prior of R(target), relevance of the fetched target (NaN
        # until then); see the class
        self._columns = np.zeros((4, 256))
        self._template_of_row = np.zeros(256, dtype=np.intp)
        self._open = np.zeros(256, dtype=bool)
        self._target = np.full(256, -1, dtype=np.intp)
        """For each row, the number of the fetched page that the link leads to, -1 for none."""
        self._page = np.zeros(256, dtype=np.intp)
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._own = np.zeros((3, 64))
        """By page number: the number of the page's open links, of its closed links, and the sum of
        the relevance of the closed links' targets."""
        self._done: dict[str, tuple[float, int]] = {}

    def __len__(self) -> int:
        return len(self.urls)

    def __contains__(self, page: str) -> bool:
        return page in self._spans

    def add(
        self,
        page: str,
        relevance: float,
        urls: Sequence[str],
        anchors: Sequence[float],
        priors: Sequence[float],
        alias: str,
    ) -> None:
        """Adds the links of the fetched page `page`, whose relevance is `relevance`, and closes the
        links that lead to the page, under this URL or under `alias`, the address at the end of its
        redirects. `urls`, `anchors` (R(anchor)) and `priors` are parallel, one value for each link.
        """
        number = self._number(page)
        self.close(page, relevance, page)
        self.close(alias, relevance, page)
        template = self._template(page)
        self._sums[template] += relevance
        self._counts[template] += 1
        first, last = len(self.urls), len(self.urls) + len(urls)
        self._reserve(last)
        self._spans[page] = (first, last)
        self.urls.extend(urls)
        self._page[first:last] = number
        known = [self._done.get(url, (np.nan, -1)) for url in urls]
        own = np.array([reward for reward, _ in known], dtype=float)
        self._columns[0, first:last] = anchors
        self._columns[1, first:last] = relevance
        self._columns[2, first:last] = priors
        self._columns[3, first:last] = own
        self._target[first:last] = [target for _, target in known]
        self._template_of_row[first:last] = [self._template(url) for url in urls]
        self._open[first:last] = np.isnan(own)
        self._own[:, number] = (np.isnan(own).sum(), (~np.isnan(own)).sum(), np.nansum(own))
        for row, url in enumerate(urls, start=first):
            self._rows.setdefault(url, []).append(row)

    def close(self, url: str, relevance: float = 0.0, page: str | None = None) -> None:
        """Closes the links to `url`: marks them as no longer waiting for a fetch. The URL was
        fetched as page `page` with the relevance `relevance` to the topic, in [0, 1], or could not
        be fetched (page None, relevance 0).
        """
        target = -1 if page is None else self._number(page)
        self._done[url] = (relevance, target)
        rows = self._rows.get(url)
        if rows:
            for row in rows:
                if self._open[row]:
                    self._own[:, self._page[row]] += (-1.0, 1.0, relevance)
            self._open[rows] = False
            self._columns[3, rows] = relevance
            self._target[rows] = target

    def rows(self, page: str) -> Rows:
        """Returns the row numbers of the links on a page."""
        return np.arange(*self._spans[page], dtype=np.intp)

    def row_of(self, page: str, url: str) -> int | None:
        """Returns the number of the row for the link from page `page` to `url`; None if the page
        has no such link."""
        first, last = self._spans[page]
        return next((row for row in self._rows.get(url, ()) if first <= row < last), None)

    def is_open(self, rows: Rows) -> NDArray[np.bool_]:
        """Tells for each of these row numbers whether the row is open: its link still waits to be
        fetched."""
        return self._open[rows]

    def page_of(self, row: int) -> str:
        """Returns the URL of the page that contains the link of row number `row`."""
        page: str = self._names[self._page[row]]
        return page

    def page_numbers(self, rows: Rows) -> Rows:
        """Returns for each of these row numbers the number of the page that contains the link;
        pages are numbered from 0 in the order of arrival.
        """
        return self._page[rows]

    def targets(self, rows: Rows) -> Rows:
        """Returns for each of these row numbers the number of the fetched page that the link leads
        to, -1 if it was not fetched.
        """
        return self._target[rows]

    def number(self, page: str) -> int:
        """Returns the number of a page whose links are in the table."""
        return self._numbers[page]

    def name(self, number: int) -> str:
        """Returns the URL of the page with this number."""
        return self._names[number]

    def open_of(self, numbers: Rows) -> Vector:
        """Returns for each page with one of these numbers how many of its links are open (neither
        fetched nor failed)."""
        counts: Vector = self._own[0, numbers]
        return counts

    def leads_on(self, page: str) -> bool:
        """Tells whether the page with this URL contains an open link: one that was neither fetched
        nor failed."""
        number = self._numbers.get(page)
        return number is not None and bool(self._own[0, number] > 0)

    def open_rows(self) -> Rows:
        """Returns the numbers of all rows whose link target is neither fetched nor failed yet."""
        return np.flatnonzero(self._open[: len(self)])

    def objectives(self, rows: Rows) -> Vector:
        """Returns a matrix with a row for each of the row numbers `rows`. Its three columns are
        relevances R to the topic: of the link's anchor text, of the page that contains the link,
        and of its target (estimated if the target is not fetched).
        """
        anchor, page, prior, own = self._columns[:, rows]
        template = self._template_of_row[rows]
        expected = (self._sums[template] + self._weight * prior) / (
            self._counts[template] + self._weight
        )
        if self._siblings:
            _, closed, reward = self._own[:, self._page[rows]]
            expected = (reward + self._weight * expected) / (closed + self._weight)
        return np.column_stack([anchor, page, np.where(np.isnan(own), expected, own)])

    def _number(self, page: str) -> int:
        number = self._numbers.setdefault(page, len(self._names))
        if number == len(self._names):
            self._names.append(page)
            if number >= self._own.shape[1]:
                self._own = np.concatenate([self._own, np.zeros_like(self._own)], axis=1)
        return number

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
            self._template_of_row = np.concatenate(
                [self._template_of_row, np.zeros_like(self._template_of_row)]
            )
            self._open = np.concatenate([self._open, np.zeros_like(self._open)])
            self._page = np.concatenate([self._page, np.zeros_like(self._page)])
            self._target = np.concatenate([self._target, np.full_like(self._target, -1)])
