"""Parses addresses (URLs) for link features: host, address pattern and words. The parts that depend
only on the folder are cached and reused for all addresses in that folder."""

from __future__ import annotations

from typing import NamedTuple

from crawlmgr.web.url import host_key
from focused.relevance import url_tokens, words_in
from focused.strategies.link_table import file_template, folder_template

MAX_FOLDERS = 20_000
"""Number of folders whose parts are cached; the cache is emptied when full."""


class Address(NamedTuple):
    """The parts of an address. `template` is its pattern: host, folder and file type with numbers
    replaced, as from `link_table.template`; `words` are those of path and query, as from
    `url_tokens`.
    """

    host: str
    template: str
    words: tuple[str, ...]


class Addresses:
    """Parses addresses. The result for a folder is cached, because most addresses differ from an
    earlier one only in the last path segment.
    """

    def __init__(self) -> None:
        self._folders: dict[str, Address] = {}

    def __call__(self, url: str) -> Address:
        """Returns the parts of a canonical address (without fragment)."""
        path, _, query = url.partition("?")
        folder, _, file = path.rpartition("/")
        known = self._folders.get(folder)
        if known is None:
            if len(self._folders) >= MAX_FOLDERS:
                self._folders.clear()
            host = host_key(url)
            known = self._folders[folder] = Address(
                host, folder_template(host, folder), tuple(url_tokens(f"{folder}/"))
            )
        words = (*known.words, *words_in(f"{file} {query}"))
        return Address(known.host, known.template + file_template(file, query), words)
