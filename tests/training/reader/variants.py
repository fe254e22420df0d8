"""Writes variants of saved forum pages for training: the same page and records with one surface
property changed (short titles or posts, times in no known form, invented words, class names, names
or addresses), so that the models learn not to depend on it.

    python -m tests.training.reader.variants FOLDER OUT

adds variants of the pages in FOLDER to OUT, the folder for `reader train --more`. The folders have
the layout that `saved_pages` reads. The variants are drawn from seeds made of the
page's file name, so that a second run writes the same pages.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from urllib.parse import urljoin

from lxml.html import HtmlElement, tostring

from crawlmgr.web.pages.outline import SKIPPED
from forums.reading.document import Page
from forums.reading.learned.two_readings import TwoReadings
from tests.training.reader.labels import body_labels, link_labels
from tests.training.reader.pages import READ_AT, Saved, parsed, saved_pages
from tests.training.reader.scoring import address_key, bare, name_key

_SEED = "variants of pages for training"
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_HAN = "".join(map(chr, range(0x5000, 0x5400)))
_KEY, _NEAR = 30, 60
_WORDS = re.compile(r"[^\W\d_]+")
_CLASS = re.compile(r"[a-z]+", re.I)
_NO_PAGE = re.compile(r"\s*(?:#|javascript:|mailto:|tel:|data:)", re.I)
# attributes whose values are words for people, and attributes in which times may stand
_WORDED = ("title", "alt", "value", "placeholder", "aria-label", "summary")
_TIMED = re.compile(r"datetime|title|alt|content|aria-label|data-.*")


class Slot(NamedTuple):
    """A place of text in the tree: the `text` or the `tail` of an element."""

    element: HtmlElement
    place: str

    @property
    def text(self) -> str:
        return getattr(self.element, self.place) or ""

    def write(self, text: str) -> None:
        setattr(self.element, self.place, text)


def slots(element: HtmlElement) -> Iterator[Slot]:
    """Yields the places of text inside an element, in page order, without scripts and the like."""
    if element.tag in SKIPPED:
        return
    if isinstance(element.tag, str) and element.text and element.text.strip():
        yield Slot(element, "text")
    for child in element:
        yield from slots(child)
        if child.tail and child.tail.strip():
            yield Slot(child, "tail")


class Changed:
    """A page that is being changed, with the changed truth. `random` draws what is new."""

    def __init__(self, saved: Saved, random: Random) -> None:
        self.saved, self.random = saved, random
        self.page: Page = parsed(saved, READ_AT)
        self.truth: dict[str, Any] = deepcopy(dict(saved.truth))
        self._drawn: dict[tuple[str, str], str] = {}

    @property
    def records(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.truth["records"]
        return found

    def html(self) -> str:
        """Returns the changed page."""
        for element in self.page.root.iter("meta"):
            if element.get("charset"):
                element.set("charset", "utf-8")
            elif "charset" in (element.get("content") or "").lower():
                element.set("content", "text/html; charset=utf-8")
        return "<!DOCTYPE html>\n" + str(tostring(self.page.root, encoding="unicode"))

    def drawn(self, sort: str, key: str, make: Callable[[], str]) -> str:
        """Returns what replaces `key`, always the same for the same `sort` and key, and never the
        same for two keys if `make` draws enough different values."""
        if (sort, key) not in self._drawn:
            used = {made for (other, _), made in self._drawn.items() if other == sort}
            made = make()
            for _ in range(20):
                if made not in used:
                    break
                made = make()
            self._drawn[sort, key] = made
        return self._drawn[sort, key]

    @cached_property
    def bodies(self) -> list[tuple[HtmlElement, dict[str, Any]]]:
        """The elements of the posts' texts, each with its record."""
        if self.truth["kind"] != "thread":
            return []
        second = TwoReadings(self.page, None)
        labels = body_labels(self.page, second.bodies, self.truth, second.found.posts)
        left, found = list(self.records), []
        for node in second.bodies.nodes[labels == 1].tolist():
            text = bare(self.page.outline.text(node))
            for record in left:
                starts = (record.get("text_start"), *(record.get("text_alts") or []))
                keys = [bare(start)[:_KEY] for start in starts if start]
                if any(key in text[: len(key) + _NEAR] for key in keys):
                    found.append((self.page.outline.elements[node], record))
                    left.remove(record)
                    break
        return found

    @cached_property
    def titles(self) -> list[tuple[list[Slot], str]]:
        """The texts that name a record of a list, each with the key of its address."""
        if self.truth["kind"] not in ("threadlist", "index"):
            return []
        names = {
            address_key(record["url"], self.truth): name_key(
                record.get("title") or record.get("name")
            )
            for record in self.records
        }
        labels = link_labels(self.page.links, self.truth)
        by_name = {name: key for key, name in names.items() if key}
        found = []
        for link, label in zip(self.page.links, labels.tolist(), strict=True):
            key = address_key(link.url, self.truth)
            if label > 0 and key not in names:
                key = by_name.get(name_key(link.text))
            if key in names and (label > 0 or name_key(link.text) == names[key]):
                inside = list(slots(self.page.outline.elements[link.node]))
                if inside:
                    found.append((inside, str(key)))
        return found

    @cached_property
    def names(self) -> list[tuple[Slot, str]]:
        """The texts that are names of the records' authors, outside titles and texts of posts."""
        wanted = {
            name_key(name)
            for record in self.records
            for name in (
                record.get("author"),
                *(record.get("author_alt") or []),
                record.get("last_reply_author"),
            )
            if name
        }
        taken = {slot for inside, _ in self.titles for slot in inside} | self._in_bodies
        return [
            (slot, name_key(slot.text))
            for slot in slots(self.page.root)
            if name_key(slot.text) in wanted and slot not in taken
        ]

    @cached_property
    def _in_bodies(self) -> set[Slot]:
        return {slot for element, _ in self.bodies for slot in slots(element)}

    @cached_property
    def times(self) -> list[Slot]:
        """The texts in which the reader finds times, outside titles and texts of posts."""
        outline = self.page.outline
        taken = {slot for inside, _ in self.titles for slot in inside} | self._in_bodies
        found: dict[Slot, None] = {}
        for time in self.page.times:
            for slot in slots(outline.elements[time.node]):
                text = " ".join(slot.text.split())
                if slot not in taken and len(text) <= 120 and self._is_of_time(text):
                    found[slot] = None
        return list(found)

    def _is_of_time(self, text: str) -> bool:
        return self.page.moment(text) is not None or bool(re.fullmatch(r"[\d\s:.,/-]{2,}", text))


def word(random: Random, length: int, sample: str) -> str:
    """Draws a word of about the same look as `sample`: its script (Han or not) and its case."""
    if sample and sample[0] >= "\u2e80":
        return "".join(random.choice(_HAN) for _ in range(length))
    made = "".join(
        random.choice(_VOWELS if (at + length) % 2 else _CONSONANTS) for at in range(length)
    )
    return made.upper() if sample.isupper() else made.title() if sample[:1].isupper() else made


def _set(inside: list[Slot], text: str) -> None:
    """Writes a text to the first of some places and empties the others."""
    for at, slot in enumerate(inside):
        slot.write("" if at else text)


def short_titles(changed: Changed) -> bool:
    """Titles of one to four characters, Chinese or Latin."""
    random = changed.random
    kind = random.choice(("han", "latin", "mixed"))

    def make() -> str:
        is_han = kind == "han" or kind == "mixed" and random.random() < 0.5
        sample = "\u5000" if is_han else random.choice(("A", "a", "Aa"))
        return word(random, random.choice((1, 2, 2, 3, 4) if is_han else (2, 3, 3, 4, 4)), sample)

    for inside, key in changed.titles:
        _set(inside, changed.drawn("title", key, make))
    for record in changed.records if changed.titles else ():
        key = str(address_key(record["url"], changed.truth))
        if ("title", key) in changed._drawn:
            record["title" if "title" in record else "name"] = changed.drawn("title", key, make)
    return bool(changed.titles)


def short_posts(changed: Changed) -> bool:
    """Posts of one to four words, the first ones of each."""
    shown = {bare(piece.text) for piece in changed.page.outline.pieces}
    is_changed = False
    for element, record in changed.bodies:
        words = " ".join(slot.text for slot in slots(element)).split()
        wanted = changed.random.randint(1, 4)
        text = " ".join(words[:wanted])
        if len(text) > 40:
            text = text[: changed.random.randint(2, 12)]
        while len(text) < 2 or bare(text) in shown:
            text += word(changed.random, changed.random.randint(2, 5), text[:1] or "a")
        tail = element.tail
        for child in list(element):
            element.remove(child)
        element.text, element.tail = text, tail
        record["text_start"] = text[:_NEAR]
        for name in ("text_alts", "text_later"):
            record.pop(name, None)
        is_changed = True
    return is_changed


def unknown_times(changed: Changed) -> bool:
    """Times in a form that nobody can read; none in attributes."""
    random, found = changed.random, changed.times
    form = random.choice(
        (
            lambda: f"{word(random, 3, 'a')} {random.randint(3, 98)}",
            lambda: f"\u263e{random.randint(2, 9)}{word(random, 2, 'A')}",
            lambda: "".join(random.choice(_HAN) for _ in range(3)),
            lambda: f"({word(random, 2, 'a')} {word(random, 5, 'A')})",
        )
    )
    for slot in found:
        slot.write(changed.drawn("time", slot.text.strip(), form))
    for element in changed.page.root.iter():
        for name in [*element.attrib] if isinstance(element.tag, str) else ():
            if _TIMED.fullmatch(name) and changed.page.moment(element.get(name)) is not None:
                del element.attrib[name]
    for record in changed.records:
        for name in [name for name in record if name.endswith(("_iso", "_iso_alt"))]:
            del record[name]
    return bool(found)


def invented_words(changed: Changed) -> bool:
    """Invented words for all words outside titles, names, times and texts of posts."""
    random = changed.random
    is_han = random.random() < 0.35
    kept = {slot for inside, _ in changed.titles for slot in inside} | changed._in_bodies
    kept |= {slot for slot, _ in changed.names} | set(changed.times)

    def other(match: re.Match[str]) -> str:
        found = match[0]
        length = max(2, len(found) + random.randint(-1, 2))
        return changed.drawn(
            "word",
            found,
            lambda: word(random, *((2, "\u5000") if is_han else (length, found))),
        )

    for slot in slots(changed.page.root):
        if slot not in kept and changed.page.moment(" ".join(slot.text.split())[:80]) is None:
            slot.write(_WORDS.sub(other, slot.text))
    for element in changed.page.root.iter():
        for name in _WORDED if isinstance(element.tag, str) else ():
            value = element.get(name)
            if value and changed.page.moment(value) is None:
                element.set(name, _WORDS.sub(other, value))
    return True


def invented_classes(changed: Changed) -> bool:
    """Invented names of classes and ids; numbers in them stay."""
    random = changed.random

    def other(match: re.Match[str]) -> str:
        length = random.randint(2, 7)
        return changed.drawn("class", match[0], lambda: word(random, length, "a"))

    for element in changed.page.root.iter():
        for name in ("class", "id", "for", "headers") if isinstance(element.tag, str) else ():
            value = element.get(name)
            if value:
                element.set(name, _CLASS.sub(other, value))
    return True


def odd_names(changed: Changed) -> bool:
    """Names of authors that are numbers, signs, or one or two letters."""
    random = changed.random
    form = random.choice(
        (
            lambda: str(random.randint(2, 99_999)),
            lambda: "".join(random.choice("*~^=+$!") for _ in range(random.randint(1, 3))),
            lambda: word(random, random.randint(1, 2), random.choice("aA\u5000")),
            lambda: f"-{word(random, 2, 'A')}.{random.randint(1, 9)}-",
        )
    )
    for slot, key in changed.names:
        slot.write(changed.drawn("name", key, form))
    for record in changed.records:
        if record.get("author"):
            keys = [name_key(record["author"]), *map(name_key, record.get("author_alt") or [])]
            made = [key for key in keys if ("name", key) in changed._drawn]
            if made:
                record["author"] = changed.drawn("name", made[0], form)
                record["author_alt"] = [changed.drawn("name", key, form) for key in made[1:]]
    return bool(changed.names)


def opaque_addresses(changed: Changed) -> bool:
    """Addresses that tell nothing: a path of random letters and digits for each."""
    random, truth = changed.random, changed.truth
    before = {**truth}

    def other(url: str) -> str:
        key = str(address_key(url, before))
        made = changed.drawn(
            "address",
            key,
            lambda: "".join(random.choice("0123456789bcdfghkmnpqrz") for _ in "x" * 7),
        )
        return f"/{made}"

    own = address_key(truth["base_url"], before)
    host = str(own).partition("/")[0].removeprefix("www.")
    for element in changed.page.root.iter("a", "link"):
        href = element.get("href") or ""
        key = "" if not href or _NO_PAGE.match(href) else address_key(href, before)
        if key and key.partition("/")[0].removeprefix("www.") == host:
            fragment = href.partition("#")[2]
            element.set("href", other(href) + (f"#{fragment}" if fragment else ""))
    for element in list(changed.page.root.iter("base")):
        element.getparent().remove(element)
    for record in changed.records:
        if record.get("url"):
            inside = str(address_key(record["url"], before)).partition("/")[0]
            if inside.removeprefix("www.") == host:
                record["url"] = other(record["url"])
            else:
                record["url"] = urljoin(truth["base_url"], record["url"])
    truth["optional_urls"] = [other(url) for url in truth.get("optional_urls", [])]
    truth["base_url"] = urljoin(truth["base_url"], other(truth["base_url"]))
    truth.pop("base_href", None)
    truth.pop("next", None)
    return True


VARIANTS: dict[str, Callable[[Changed], bool]] = {
    "titles": short_titles,
    "posts": short_posts,
    "times": unknown_times,
    "words": invented_words,
    "classes": invented_classes,
    "names": odd_names,
    "addresses": opaque_addresses,
}


SHARES = {"times": 0.6, "words": 0.5, "classes": 0.34, "names": 0.5, "addresses": 0.4}
"""The share of the pages that a variant is made of; all pages for those not named."""


def variants_of(saved: Saved) -> Iterator[tuple[str, Changed]]:
    """Yields variants of a page, each with its file name; those that change nothing are left out,
    and others so that each is made of its share of all pages."""
    for name, change in VARIANTS.items():
        file = f"{name}/{saved.engine}-{saved.file.parent.name}-{saved.file.name}"
        drawn = int(sha256(file.encode()).hexdigest()[:8], 16) / 2**32
        if drawn < SHARES.get(name, 1.0):
            seed = f"{_SEED} {name} {saved.file.parent.name}/{saved.file.name}"
            changed = Changed(saved, Random(seed))
            if change(changed):
                yield file, changed


def write(folder: Path, out: Path) -> int:
    """Adds variants of the folder's pages to `out`, which may hold other pages, each in a folder
    with the variant's name; returns their number."""
    listed, rows = out / "pages.csv", []
    if listed.exists():
        with listed.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
    before = len(rows)
    for saved in saved_pages(folder):
        for file, changed in variants_of(saved):
            for path, text in (
                (out / "html" / file, changed.html()),
                ((out / "truth" / file).with_suffix(".json"), json.dumps(changed.truth)),
            ):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8", errors="replace")
            row = {"file": file, "engine": saved.engine, "site": saved.site, "variant": "1"}
            rows.append(row | {"base_url": changed.truth["base_url"]})
    with listed.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, ["file", "base_url", "engine", "site", "variant"])
        writer.writeheader()
        writer.writerows(rows)
    return len(rows) - before


if __name__ == "__main__":
    sys.stdout.write(f"{write(Path(sys.argv[1]), Path(sys.argv[2]))} pages\n")
