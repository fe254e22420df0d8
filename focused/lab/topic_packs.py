"""Makes a pack (a data set for benchmarks and training) from a recorded web: its pages, and topics
derived from the web's own structure.
"""

from __future__ import annotations

import csv
import json
import random
import re
import shutil
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from crawlmgr.text.similarity import DocumentFrequencies, heaviest, mean_vector
from crawlmgr.web.encoding import decode
from crawlmgr.web.pages.html import scan
from crawlmgr.web.url import absolute
from crawlmgr.web.warc import append_records
from focused.lab.archive import Archive
from focused.pages import Content
from focused.run.parse import Parser

MIN_GROUP_PAGES = 15
"""Minimum number of pages of a topic; smaller groups of pages do not become topics."""
LARGEST_SHARE = 0.2
"""Largest share of the web's pages in one topic; larger groups of pages do not become topics."""
SAMPLES = 4
KEYWORDS = 12
TRIES = 60
"""Number of draws of seeds; the draw that reaches most of the topic's pages is kept."""
FAR = 2
"""Minimum number of clicks between an off-topic seed and the nearest relevant page."""
WITHIN_REACH = 0.5
"""Minimum share of a topic's pages that must be reachable from the seeds; otherwise the topic is
not made."""
LONGEST_WAY_UP = 20
STRUCTURES = ("auto", "sections", "folders")

Groups = Mapping[str, frozenset[str]]
_LINK = re.compile(r"<link\b[^<>]*>", re.IGNORECASE)
_UP = re.compile(r"""\brel\s*=\s*["']?up\b""", re.IGNORECASE)
_HREF = re.compile(r"""\bhref\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
_NO_NAME = re.compile(r"[^\w]+")


@dataclass(frozen=True, slots=True)
class DrawnTopic:
    """A topic as it is written to the pack. `mode` tells where its seeds are, "tunnel" or "mixed"
    (see `draw`); `pages` are the relevant addresses; `depths` maps every page that can be reached
    from the seeds to its number of clicks from the nearest one."""

    name: str
    mode: str
    pages: frozenset[str]
    seeds: Sequence[str]
    samples: Sequence[str]
    depths: Mapping[str, int]
    distances: Mapping[str, int]
    """Number of clicks from a page to the nearest relevant one, for all pages from which one can be
    reached."""

    @property
    def targets(self) -> list[str]:
        """The sorted addresses of the pages to find: relevant, reachable, neither seed nor
        sample."""
        return sorted(
            url for url in self.pages - set(self.seeds) - set(self.samples) if url in self.depths
        )


class Web:
    """Holds all pages of an archive: their texts and titles, the links among them, and the section
    that each page declares by `<link rel=up>`.
    """

    def __init__(self, files: Iterable[Path], parser: Parser) -> None:
        self.texts: dict[str, str] = {}
        self.up: dict[str, str] = {}
        self._parser = parser
        archive = Archive(files, self._read)
        found = {url: archive.get(url) for url in archive.urls()}
        self.missing = archive.missing
        """What of the files could not be read, line by line."""
        self.pages: dict[str, Content] = {
            url: page for url, page in found.items() if page is not None
        }
        ends = {
            url: [archive.resolve(link.url) for link in page.links]
            for url, page in self.pages.items()
        }
        self.links = {url: [to for to in tos if to in self.pages] for url, tos in ends.items()}
        self.up = {url: archive.resolve(to) for url, to in self.up.items()}
        self.resolve = archive.resolve
        """Function that follows recorded redirects: from an address to the address at their end."""

    def _read(self, body: bytes, content_type: str, url: str) -> Content:
        html = decode(body, content_type)[0]
        self.texts[url] = scan(html, url).text
        for tag in _LINK.findall(html):
            if (
                _UP.search(tag)
                and (href := _HREF.search(tag))
                and (to := absolute(href.group(1), url))
            ):
                self.up[url] = to.partition("#")[0]
        return self._parser.read(html, url)[0]


def sections(up: Mapping[str, str]) -> Groups:
    """Groups pages by section, from `up`, which maps each page to the section that it declares.
    Returns for each section's address a set of pages: the section's own page and all pages below
    it, directly or through other sections.
    """
    found: dict[str, set[str]] = {}
    for url in up:
        way, here = {url}, up[url]
        while here not in way and len(way) < LONGEST_WAY_UP:
            found.setdefault(here, {here}).add(url)
            way.add(here)
            here = up.get(here, here)
    return {root: frozenset(pages) for root, pages in found.items()}


def folders(urls: Iterable[str]) -> Groups:
    """Groups addresses by folder. Returns for each folder's address the set of all addresses inside
    it, also in subfolders."""
    found: dict[str, set[str]] = {}
    for url in urls:
        parts = urlsplit(url)
        path = parts.path.rpartition("/")[0]
        while path:
            found.setdefault(f"{parts.scheme}://{parts.netloc}{path}/", set()).add(url)
            path = path.rpartition("/")[0]
    return {folder: frozenset(pages) for folder, pages in found.items()}


def groups_from_csv(lines: Iterable[str], web: Web) -> Groups:
    """Reads topics from CSV with the columns topic and url; returns the set of pages of each topic
    by the topic's name. Addresses outside the web are ignored. Raises ValueError if a column is
    missing."""
    rows = csv.DictReader(lines)
    if not rows.fieldnames or not {"topic", "url"} <= set(rows.fieldnames):
        raise ValueError("a file of topics needs the columns topic and url")
    found: dict[str, set[str]] = {}
    for row in rows:
        name, url = (row["topic"] or "").strip(), web.resolve((row["url"] or "").strip())
        if name and url in web.pages:
            found.setdefault(name, set()).add(url)
    return {name: frozenset(group) for name, group in found.items()}


def chosen(groups: Groups, pages: int, most: int) -> Groups:
    """Chooses at most `most` groups of pages for topics: the largest ones that have no page in
    common and have between MIN_GROUP_PAGES pages and a fixed share of all `pages` pages
    (LARGEST_SHARE). Returns their pages by display name."""
    largest = max(MIN_GROUP_PAGES, int(LARGEST_SHARE * pages))
    found: dict[str, frozenset[str]] = {}
    taken: set[str] = set()
    for key in sorted(groups, key=lambda key: (-len(groups[key]), key)):
        group = groups[key]
        if MIN_GROUP_PAGES <= len(group) <= largest and taken.isdisjoint(group):
            name = _name(key)
            found[name if name not in found else f"{name}_{len(found) + 1}"] = group
            taken |= group
            if len(found) == most:
                break
    return dict(sorted(found.items()))


def structure(web: Web, kind: str) -> Groups:
    """Groups the pages of a web by sections if `kind` is "sections", by folders if it is "folders";
    "auto" uses sections if at least half of the pages declare one, otherwise folders. Returns for
    each section or folder, by its address, the set of pages in it, also those in sections or
    folders below.
    """
    if kind == "sections" or (kind == "auto" and 2 * len(web.up) >= len(web.pages)):
        return sections({url: to for url, to in web.up.items() if to in web.pages})
    return folders(web.pages)


def distances(starts: Iterable[str], links: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """Returns the number of clicks from the nearest of `starts` to each page that can be reached
    along `links`."""
    found = dict.fromkeys(starts, 0)
    ahead = deque(found)
    while ahead:
        url = ahead.popleft()
        for to in links.get(url, ()):
            if to not in found:
                found[to] = found[url] + 1
                ahead.append(to)
    return found


def draw(web: Web, name: str, group: frozenset[str], mode: str, seed: int) -> DrawnTopic | None:
    """Makes a topic of a group of relevant pages, with random seeds and samples. Returns None if
    the best of TRIES draws of seeds reaches less than half of the group or fewer than SAMPLES + 2
    of its pages, or if there are too few off-topic pages to serve as seeds.

    With the mode "tunnel" the seeds are three pages at least two clicks from any relevant page;
    with "mixed", two relevant pages and one such page."""
    rng = random.Random(f"{seed} {name}")  # noqa: S311 - must be repeatable, no security
    back: dict[str, list[str]] = {}
    for url, to in web.links.items():
        for one in to:
            back.setdefault(one, []).append(url)
    away = distances(sorted(group), back)
    far = [
        url
        for url in sorted(web.pages)
        if url not in group and away.get(url, 0) >= FAR and web.links[url]
    ]
    if len(far) < (3 if mode == "tunnel" else 1):
        return None
    best: tuple[int, list[str], dict[str, int]] = (-1, [], {})
    for _ in range(TRIES):
        seeds = (
            rng.sample(far, 3)
            if mode == "tunnel"
            else [*rng.sample(sorted(group), 2), *rng.sample(far, 1)]
        )
        reached = distances(seeds, web.links)
        number = sum(url in reached for url in group)
        if number > best[0]:
            best = number, seeds, reached
    number, seeds, reached = best
    if number < max(WITHIN_REACH * len(group), SAMPLES + 2):
        return None
    samples = rng.sample(
        sorted(url for url in group - set(seeds) if web.texts[url].strip()), SAMPLES
    )
    return DrawnTopic(name, mode, group, seeds, samples, reached, away)


def write(folder: Path, files: Sequence[Path], web: Web, topics: Sequence[DrawnTopic]) -> None:
    """Writes the pack to `folder`, under a temporary name that is replaced when the pack is
    complete. Raises ValueError if the folder exists.
    """
    if folder.exists():
        raise ValueError(f"{folder} is there already")
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        (part / "topics").mkdir(parents=True)
        with (part / "pages.warc.gz").open("wb") as out:
            for file in files:
                append_records(file, out)
        _write_csv(
            part / "pages.csv",
            ("url", "title"),
            ((url, page.title) for url, page in web.pages.items()),
        )
        frequencies = DocumentFrequencies()
        for page in web.pages.values():
            frequencies.add(page.words)
        idf = frequencies.update_idf()
        for one in topics:
            keywords = heaviest(
                mean_vector(idf.weigh(web.pages[url].words) for url in one.samples), KEYWORDS
            )
            _write_topic(part / "topics" / one.name, web, one, list(keywords))
        summary = {
            "pack": folder.name,
            "pages": len(web.pages),
            "links": sum(len(set(to)) for to in web.links.values()),
            "topics": {one.name: _reference(one) for one in topics},
        }
        _write_json(part / "baselines.json", summary)
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def make(
    folder: Path,
    files: Sequence[Path],
    parser: Parser,
    *,
    kind: str = "auto",
    groups: Callable[[Web], Groups] | None = None,
    most: int = 8,
    seed: int = 17,
    say: Callable[[str], None] = lambda _: None,
    missing: list[str] | None = None,
) -> list[DrawnTopic]:
    """Makes a pack (a recorded web with topics, for benchmarks) from WARC files and returns its
    topics. Every second topic has seeds from which only off-topic pages lead to relevant ones, the
    others have mixed seeds (see `draw`); deterministic for the same files and seed. `kind` is how
    topics are found in the web's structure (see `structure`); `groups`, if given, returns the pages
    of each topic instead. At most `most` topics are made. `say` is called with messages on the
    progress; to `missing` is added what of the files could not be read. Raises ValueError if the
    folder exists or no topic is found."""
    if folder.exists():
        raise ValueError(f"{folder} is there already")
    web = Web(files, parser)
    say(f"{len(web.pages)} pages, {sum(map(len, web.links.values()))} links")
    if missing is not None:
        missing += web.missing
    if groups is not None:
        wanted: Groups = {
            name: group
            for name, group in sorted(groups(web).items())
            if len(group) >= MIN_GROUP_PAGES
        }
        wanted = {_name(name): group for name, group in list(wanted.items())[:most]}
    else:
        wanted = chosen(structure(web, kind), len(web.pages), most)
    topics: list[DrawnTopic] = []
    for name, group in wanted.items():
        first = "tunnel" if len(topics) % 2 else "mixed"
        other = "mixed" if first == "tunnel" else "tunnel"
        one = draw(web, name, group, first, seed) or draw(web, name, group, other, seed)
        if one is None:
            say(f"{name}: left out, no seeds lead to half of its {len(group)} pages")
        else:
            say(
                f"{name}: {len(group)} pages on topic, {len(one.targets)} to find, {one.mode} seeds"
            )
            topics.append(one)
    if not topics:
        few = f"no group of at least {MIN_GROUP_PAGES} pages that seeds lead to"
        raise ValueError(f"no topic: {few}; name the topics' pages by --topics")
    write(folder, files, web, topics)
    return topics


def _reference(one: DrawnTopic) -> dict[str, object]:
    pages = len(one.depths)
    return {
        "seed_mode": one.mode,
        "relevant": len(one.pages),
        "targets": len(one.targets),
        "reachable_pages": pages,
        "budget": {"10": pages // 10, "25": pages // 4, "50": pages // 2},
        "results": {},
    }


def _write_topic(folder: Path, web: Web, one: DrawnTopic, keywords: Sequence[str]) -> None:
    (folder / "documents").mkdir(parents=True)
    _write_lines(folder / "seeds.txt", one.seeds)
    _write_lines(folder / "keywords.txt", keywords)
    for number, url in enumerate(one.samples, start=1):
        text = f"{web.pages[url].title}\n\n{web.texts[url]}\n"
        (folder / "documents" / f"{number}.txt").write_text(text, encoding="utf-8")
    index = (
        (f"{number}.txt", url, web.pages[url].title)
        for number, url in enumerate(one.samples, start=1)
    )
    _write_csv(folder / "documents" / "index.csv", ("file", "url", "title"), index)
    roles = {**dict.fromkeys(one.samples, "document"), **dict.fromkeys(one.seeds, "seed")}
    labels = (
        (url, int(url in one.pages), roles.get(url, ""), one.depths.get(url, ""))
        for url in web.pages
    )
    _write_csv(folder / "labels.csv", ("url", "label", "role", "depth"), labels)
    seeds = [
        {
            "url": url,
            "on_topic": url in one.pages,
            "clicks_to_nearest_target": one.distances.get(url),
        }
        for url in one.seeds
    ]
    depths = Counter(one.depths[url] for url in one.targets)
    _write_json(
        folder / "topic.json",
        {
            "topic": one.name,
            **{
                key: value
                for key, value in _reference(one).items()
                if key not in ("budget", "results")
            },
            "seeds": seeds,
            "targets_by_depth": {str(depth): number for depth, number in sorted(depths.items())},
            "documents": len(one.samples),
        },
    )


def _name(key: str) -> str:
    """Makes a display name for a topic from the address of its section or folder, or from the name
    that was given for it."""
    path = unquote(urlsplit(key).path) if "://" in key else key
    last = path.rstrip("/").rpartition("/")[2]
    stem = last.rpartition(".")[0] or last
    return _NO_NAME.sub("_", stem).strip("_").lower()[:60] or "topic"


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
