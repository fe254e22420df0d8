"""What an address tells by its spelling: its host, its template and its words; worked out once for all addresses of a folder."""

from __future__ import annotations

from typing import NamedTuple

from crawlmgr.web.url import host_key
from focused.relevance import url_tokens, words_in
from focused.strategies.link_table import file_template, folder_template

MOST_FOLDERS = 20_000
"""Folders that are remembered; after that they are worked out anew."""


class Address(NamedTuple):
    """`words` as `url_tokens` gives them, `template` as `link_table.template` does."""

    host: str
    template: str
    words: tuple[str, ...]


class Addresses:
    """Reads addresses, most of which differ from an earlier one in their last part only."""

    def __init__(self) -> None:
        self._folders: dict[str, Address] = {}

    def __call__(self, url: str) -> Address:
        """An address in its canonical form (without fragment)."""
        path, _, query = url.partition("?")
        folder, _, file = path.rpartition("/")
        known = self._folders.get(folder)
        if known is None:
            if len(self._folders) >= MOST_FOLDERS:
                self._folders.clear()
            host = host_key(url)
            known = self._folders[folder] = Address(host, folder_template(host, folder), tuple(url_tokens(f"{folder}/")))
        words = (*known.words, *words_in(f"{file} {query}"))
        return Address(known.host, known.template + file_template(file, query), words)
