"""The definition of a topic as a value: seeds, samples, keywords, lexicons; and parsing of seeds
and keywords from text. Parts of a topic are read from plain files too."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

from crawlmgr.web.encoding import decode
from crawlmgr.web.sitemap import parse_sitemap
from crawlmgr.web.url import canonical
from focused.judge.ontology import Ontology, read_csv, read_turtle


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as every strategy sees it, without relevance labels for evaluation.

    `documents` are the texts of samples. `keywords` map words to weights in (0, 1], and so does
    `near` for words on pages that lead to relevant ones. `negative` words lower a page's score,
    `url_words` are searched for in URLs, tokenisation keeps `user_words` whole. A page is relevant
    from the similarity `threshold`; None: computed from the samples. `ontology` is as from
    `Ontology.as_json`, {} for none. `ontology_weight`, in [0, 1], is the weight of words that it
    relates to the topic's words. `marked` are pages that the operator marked in earlier runs:
    (words separated by spaces, whether on topic).
    """

    name: str
    seeds: tuple[str, ...]
    documents: tuple[str, ...] = ()
    keywords: Mapping[str, float] = field(default_factory=dict)
    near: Mapping[str, float] = field(default_factory=dict)
    negative: tuple[str, ...] = ()
    url_words: tuple[str, ...] = ()
    user_words: tuple[str, ...] = ()
    threshold: float | None = None
    ontology: Mapping[str, Any] = field(default_factory=dict)
    ontology_weight: float = 0.0
    marked: tuple[tuple[str, bool], ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Returns the topic as plain values, from which `from_json` restores it."""
        return {one.name: _plain(getattr(self, one.name)) for one in fields(self)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Topic:
        """Makes a topic from the values that `as_json` returned."""
        known: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.items()
        }
        return cls(**known)


def _plain(value: Any) -> Any:
    return (
        list(value)
        if isinstance(value, tuple)
        else dict(value)
        if isinstance(value, Mapping)
        else value
    )


class BadLine(NamedTuple):
    """A line of a list of seeds that cannot be taken: its number, from 1, its text, and why."""

    number: int
    text: str
    reason: str = "no URL"


_HEADS = frozenset("url urls address link href website site seed loc 网址 链接 地址 連結".split())
_OUTLINE = re.compile(r"<opml[\s>]", re.I)
_OUTLINES = re.compile(r"\b(?:htmlUrl|xmlUrl)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.I)
# what separates an address from something else, and no address of a browser contains as it is
_JOINED = re.compile(r"\s|;\s|,(?=https?://)|/[,;]|[,;]$|[|\"<>\\^`{}，。；、]", re.I)
_IN_BRACKETS = re.compile(r"<\s*(?=https?://)", re.I)
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff"


def read_seeds(lines: Iterable[str]) -> tuple[list[str], list[BadLine]]:
    """Reads seed URLs from the lines of a list, with `#` for comments. Returns the distinct
    canonical URLs in order, and the lines that cannot be taken.

    The list may also be a table (CSV, or separated by tabs or semicolons) with a column headed
    "url" or the like, an OPML file of feeds, or a sitemap. A line with several addresses gives all
    of them; a line that has something else beside an address is not taken, because a part of a note
    or name would become part of the address.
    """
    texts = list(lines)
    begin = next((text for text in texts if text.strip()), "").lstrip("\ufeff").lstrip()
    if begin.startswith("<") and not _IN_BRACKETS.match(begin):
        return _from_markup("\n".join(texts), begin)
    delimiter, column = _table(begin)
    found = _cells(texts, delimiter, column) if delimiter else enumerate(texts, start=1)
    seeds: dict[str, None] = {}
    bad: list[BadLine] = []
    for number, line in found:
        text = line.strip(_INVISIBLE).partition(" #")[0].strip().strip(_INVISIBLE)
        if not text or text.startswith("#"):
            continue
        try:
            seeds.update(dict.fromkeys(_addresses(text)))
        except ValueError:
            lacking = "://" not in text and "." in text and _is_address(f"http://{text}")
            bad.append(BadLine(number, text, *(["no http:// before it"] if lacking else [])))
    return list(seeds), bad


def _is_address(text: str) -> bool:
    try:
        return bool(_addresses(text))
    except ValueError:
        return False


def _addresses(text: str) -> list[str]:
    """Returns the canonical addresses of a line. Raises ValueError if it has anything else."""
    plain = text[1:-1].strip() if text[:1] + text[-1:] in ('""', "<>") else text
    parts = plain.split()
    if len(parts) > 1 and any("://" not in part for part in parts):
        raise ValueError("text beside an address")
    if any(_JOINED.search(part) for part in parts):
        raise ValueError("several things in one word")
    return [canonical(part) for part in parts]


def _table(head: str) -> tuple[str, int]:
    """Returns the delimiter of a table and the number of its column of addresses, from its first
    line; ("", 0) if that line is not the head of such a table."""
    for delimiter in "\t;,":
        names = [name.strip().strip('"').lower() for name in head.split(delimiter)]
        if len(names) > 1 and (wanted := [at for at, name in enumerate(names) if name in _HEADS]):
            return delimiter, wanted[0]
    return "", 0


def _cells(lines: list[str], delimiter: str, column: int) -> Iterator[tuple[int, str]]:
    """Yields number and cell of the column of each line after the head of a table; the whole line,
    which is no address, if it has no such cell."""
    rows = csv.reader(lines, delimiter=delimiter)
    for row in rows:
        if rows.line_num > 1 and any(row):
            cell = row[column] if column < len(row) else ""
            yield rows.line_num, cell if cell.strip() else delimiter.join(row)


def _from_markup(text: str, begin: str) -> tuple[list[str], list[BadLine]]:
    """Returns the addresses in an OPML file or a sitemap; its first line as one that cannot be
    taken if it is neither, or has none."""
    if _OUTLINE.search(text):
        found = [unescape(one or other) for one, other in _OUTLINES.findall(text)]
    else:
        sitemap = parse_sitemap(text.encode(), "http://list.invalid/")
        found = [entry.url for entry in sitemap.entries if "//list.invalid/" not in entry.url]
    seeds: dict[str, None] = {}
    for address in found:
        with suppress(ValueError):
            seeds[canonical(address)] = None
    return list(seeds), [] if seeds else [BadLine(1, begin.strip()[:80])]


def read_keywords(text: str) -> dict[str, float]:
    """Reads keywords separated by commas or lines, each with an optional weight in (0, 1], as in
    "网页, crawler=0.5". Returns the weights by word, 1 by default. Raises ValueError if a weight is
    invalid.
    """
    found: dict[str, float] = {}
    for entry in text.replace("，", ",").replace("\n", ",").split(","):
        word, _, weight = entry.partition("=")
        if word.strip():
            value = float(weight) if weight.strip() else 1.0
            if not 0 < value <= 1:
                raise ValueError(f"weight of {word.strip()} is {value:g}, not in (0, 1]")
            found[word.strip()] = value
    return found


DOCUMENT_SUFFIXES = frozenset((".txt", ".md", ""))
ONTOLOGY_SUFFIXES = frozenset((".ttl", ".csv"))


def read_text(path: Path) -> str:
    """Returns the text of a file in any character encoding that web pages use, with NUL characters
    removed."""
    return decode(path.read_bytes())[0].replace("\0", "")


def read_named_documents(path: Path) -> list[tuple[str, str]]:
    """Reads samples from a file, or from each text file in a folder, sorted by name. Returns pairs
    of file name and text; empty files are left out.
    """
    if path.is_dir():
        files = sorted(
            file
            for file in path.iterdir()
            if file.is_file() and file.suffix.lower() in DOCUMENT_SUFFIXES
        )
    else:
        files = [path]
    return [(file.name, text) for file in files if (text := read_text(file)).strip()]


def read_documents(path: Path) -> list[str]:
    """Returns the texts of the samples in a file or folder."""
    return [text for _, text in read_named_documents(path)]


def read_ontology(path: Path) -> Ontology:
    """Reads an ontology from a Turtle (.ttl) or CSV file, by its file extension. Raises ValueError
    with a one-line message."""
    try:
        return (
            read_turtle(path.read_bytes())
            if path.suffix.lower() == ".ttl"
            else read_csv(read_text(path))
        )
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None


def topic_from_files(
    name: str,
    seeds: Path,
    documents: Sequence[Path] = (),
    keywords: str = "",
    keywords_file: Path | None = None,
) -> tuple[Topic, list[BadLine]]:
    """Makes a topic from files: seeds, samples (`documents`: files or folders of text files), and
    keywords given as text and in a file. Returns the topic, and the lines of the seeds file that
    are not URLs. Raises ValueError if there is no seed.
    """
    urls, bad = read_seeds(read_text(seeds).splitlines())
    if not urls:
        raise ValueError(f"{seeds.name} has no URL to start from")
    words = read_keywords(keywords)
    if keywords_file is not None:
        words = {**read_keywords(read_text(keywords_file)), **words}
    texts = tuple(text for path in documents for text in read_documents(path))
    return Topic(name, tuple(urls), texts, words), bad
