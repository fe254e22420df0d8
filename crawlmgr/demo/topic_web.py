"""The demonstration's topic web: clusters of pages on beekeeping among pages on other subjects,
connected by tunnels."""

from __future__ import annotations

import random
from collections.abc import Iterator
from html import escape
from typing import NamedTuple

from crawlmgr.demo.site import Answer, frame
from crawlmgr.demo.topic_words import BEES, OTHERS, Subject

CLUSTERS, CLUSTER_PAGES = 6, 22
OTHER_PAGES = 48  # number of pages of each subject other than the topic
SEEDED = 2  # number of clusters that contain seeds; the others can be reached only through tunnels
TUNNEL_LENGTHS = (
    1,
    2,
    2,
    3,
)  # number of off-topic pages on the paths to clusters 3, 4, 5 and 6 (counted from 1)
SEED = 5


class Link(NamedTuple):
    """A link to another page of this web: the page's number and the anchor text."""

    to: int
    words: str


class PageText(NamedTuple):
    """The contents of a page: title, paragraphs, links (one in each paragraph, the rest below
    them), and the name of its subject."""

    title: str
    paragraphs: tuple[str, ...]
    links: tuple[Link, ...]
    about: str


class TopicWeb:
    """The web's pages by number; the same seed gives the same web. Pages 0 to 131 are on topic, in
    clusters of CLUSTER_PAGES pages, of which the first is the cluster's main page."""

    def __init__(self, seed: int = SEED) -> None:
        self._draw = random.Random(seed)  # noqa: S311 - a made-up web
        bees = CLUSTERS * CLUSTER_PAGES
        subjects = [BEES] * bees + [subject for subject in OTHERS for _ in range(OTHER_PAGES)]
        self.titles = [
            f"{self._draw.choice(subject.heads)} {number}"
            for number, subject in enumerate(subjects)
        ]
        links: list[list[int]] = [[] for _ in subjects]
        for cluster in range(CLUSTERS):
            self._join(links, range(cluster * CLUSTER_PAGES, (cluster + 1) * CLUSTER_PAGES), 4)
        for place in range(len(OTHERS)):
            self._join(
                links, range(bees + place * OTHER_PAGES, bees + (place + 1) * OTHER_PAGES), 3
            )
        outside = range(bees, len(subjects))
        for number in range(len(subjects)):
            links[number] += self._draw.sample(outside, 2)
        for length, cluster in zip(TUNNEL_LENGTHS, range(SEEDED, CLUSTERS), strict=True):
            self._tunnels(links, cluster, length, outside)
        self.pages = [
            self._page(number, subject, links[number]) for number, subject in enumerate(subjects)
        ]

    def seeds(self, base: str) -> list[str]:
        """Returns the seed addresses, which begin with `base`: the main pages of two clusters, and
        one off-topic page."""
        numbers = [cluster * CLUSTER_PAGES for cluster in range(SEEDED)]
        return [
            base + _path(number, self.titles[number]).lstrip("/")
            for number in [*numbers, len(self.pages) - OTHER_PAGES]
        ]

    def samples(self) -> list[tuple[str, str]]:
        """Returns names and texts of samples of the topic, which are not pages of this web."""
        draw = random.Random("samples")  # noqa: S311 - made-up texts
        return [
            (head, f"{head}. " + " ".join(_sentences(BEES, draw, 14))) for head in BEES.heads[:6]
        ]

    def __call__(self, path: str) -> Answer | None:
        """Returns the page at a path; None if there is none."""
        if path == "/":
            links = "".join(
                f"<li>{self._link(number, self.titles[number])}</li>"
                for number in (0, CLUSTER_PAGES, len(self.pages) - 1)
            )
            return Answer(frame("County pages", "en", f"<h1>County pages</h1><ul>{links}</ul>"))
        number, _dash, _slug = path.removeprefix("/pages/").partition("-")
        if (
            not number.isdecimal()
            or int(number) >= len(self.pages)
            or path != _path(int(number), self.titles[int(number)])
        ):
            return None
        page = self.pages[int(number)]
        body = [f"<h1>{escape(page.title)}</h1>"]
        for text, link in zip(page.paragraphs, page.links, strict=False):
            body.append(f"<p>{escape(text)} See also {self._link(link.to, link.words)}.</p>")
        rest = "".join(
            f"<li>{self._link(link.to, link.words)}</li>"
            for link in page.links[len(page.paragraphs) :]
        )
        return Answer(
            frame(
                page.title,
                "en",
                "".join(body) + (f"<ul>{rest}</ul>" if rest else ""),
                '<a href="/">County pages</a>',
            )
        )

    def _link(self, number: int, words: str) -> str:
        return f'<a href="{_path(number, self.titles[number])}">{escape(words)}</a>'

    def _join(self, links: list[list[int]], numbers: range, count: int) -> None:
        """Links the pages `numbers` as a ring, so that all can be reached, and adds random links
        among them, `count` links per page in all."""
        for number in numbers:
            after = numbers[(number - numbers.start + 1) % len(numbers)]
            links[number] += [
                after,
                *self._draw.sample([n for n in numbers if n not in (number, after)], count - 1),
            ]

    def _tunnels(self, links: list[list[int]], cluster: int, length: int, outside: range) -> None:
        """Adds three paths, each from a page of an earlier cluster through `length` off-topic pages
        to a page of the given cluster. `links` are the links of each page, `outside` the numbers of
        all off-topic pages.
        """
        for _ in range(3):
            way = [
                self._draw.randrange(cluster * CLUSTER_PAGES),
                *self._draw.sample(outside, length),
            ]
            way.append(cluster * CLUSTER_PAGES + self._draw.randrange(CLUSTER_PAGES))
            for here, there in zip(way, way[1:], strict=False):
                links[here].append(there)

    def _page(self, number: int, subject: Subject, to: list[int]) -> PageText:
        paragraphs = tuple(
            " ".join(_sentences(subject, self._draw, self._draw.randint(3, 5)))
            for _ in range(self._draw.randint(3, 5))
        )
        order = [one for one in dict.fromkeys(to) if one != number]
        self._draw.shuffle(order)
        links = tuple(Link(one, self.titles[one].rpartition(" ")[0]) for one in order)
        return PageText(self.titles[number].rpartition(" ")[0], paragraphs, links, subject.name)


def _sentences(subject: Subject, draw: random.Random, count: int) -> Iterator[str]:
    for pattern in draw.choices(subject.sentences, k=count):
        first, second = draw.sample(subject.words, 2)
        yield pattern.format(a=first, b=second)


def _path(number: int, title: str) -> str:
    slug = title.rpartition(" ")[0].lower().replace(" ", "-")
    return f"/pages/{number}-{slug}"
