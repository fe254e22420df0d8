"""The demonstration's topic web: clusters of pages on beekeeping among pages on other subjects,
connected by tunnels."""

from __future__ import annotations

import random
from collections.abc import Iterator
from html import escape
from typing import NamedTuple

from crawlmgr.demo.site import Answer, frame


class Subject(NamedTuple):
    """The vocabulary of a subject: page names, sentence patterns with the placeholders {a} and {b},
    and the words to insert for these."""

    name: str
    heads: tuple[str, ...]
    sentences: tuple[str, ...]
    words: tuple[str, ...]


BEES = Subject(
    "bees",
    (
        "Swarm control",
        "The queen bee",
        "Brood and comb",
        "Honey harvest",
        "Feeding a colony",
        "Varroa mites",
        "Wintering hives",
        "Hive tools",
        "The bee year",
        "Drones and workers",
        "Making a nucleus",
        "Bee pasture",
        "Wax and propolis",
        "Reading a frame",
        "Moving an apiary",
        "Robbing bees",
    ),
    (
        "A beekeeper looks at the {a} before the {b}, and closes the hive again quickly.",
        "The colony needs {a} in spring, when the queen lays and the {b} grows.",
        "Bees carry pollen and nectar home and store {a} above the {b}.",
        "In a strong hive the workers cover the {a} on all frames of the {b}.",
        "Without {a} a swarm will not stay; shake the bees onto the {b} in the evening.",
        "Varroa mites breed in the {a}; treat the colony when there is little {b}.",
        "Smoke calms the bees while you lift the {a} from the {b}.",
        (
            "The honey is ripe when the {a} is capped; an extractor empties the {b} without"
            " breaking it."
        ),
        "A young queen is marked and put with the {a} until the bees take her with the {b}.",
        "Every apiary keeps a spare {a} and writes down what each {b} showed.",
        "In winter the bees cluster around the {a} and live on the {b}.",
        "Wax moths spoil the {a}; store it cold, away from the {b}.",
    ),
    (
        "brood comb",
        "queen cells",
        "honey super",
        "frames",
        "sugar syrup",
        "pollen stores",
        "nectar flow",
        "hive entrance",
        "bottom board",
        "drone brood",
        "swarm box",
        "queen excluder",
        "sealed brood",
        "foundation wax",
        "propolis",
        "nurse bees",
    ),
)


OTHERS = (
    Subject(
        "sailing",
        (
            "Reefing early",
            "Under the bridge",
            "Tides and charts",
            "Paint below the waterline",
            "Anchoring",
            "Knots",
            "A week at sea",
            "Old hulls",
        ),
        (
            "The skipper eased the {a} and the boat stood up from the {b}.",
            "Check the {a} before you leave harbour, and the {b} after every gale.",
            "A wet {a} weighs more than you think when the {b} fills.",
            "We anchored behind the point with a new {a} and an old {b}.",
            "Salt eats the {a}; rinse it, then oil the {b}.",
            "On the chart the rock lies beside the {a}, a cable from the {b}.",
        ),
        (
            "mainsail",
            "jib sheet",
            "halyard",
            "rudder",
            "keel",
            "anchor chain",
            "compass",
            "tiller",
            "mooring line",
            "mast",
        ),
    ),
    Subject(
        "railways",
        (
            "Branch lines",
            "Signals",
            "The night sleeper",
            "Station clocks",
            "Narrow gauge",
            "Timetables",
            "Engine sheds",
            "A bridge renewed",
        ),
        (
            "The engine took water at the junction while the {a} waited for the {b}.",
            "Before the war the {a} ran twice a day behind a {b}.",
            "The signalman pulled the lever and the {a} dropped at the {b}.",
            "Rust sits in the {a}; the society restored the {b} in nine years.",
            "Tickets for the {a} were sold beside the {b}.",
            "On the viaduct the {a} slowed to a walk because of the {b}.",
        ),
        (
            "goods train",
            "railcar",
            "signal box",
            "platform",
            "locomotive",
            "turntable",
            "sleeping car",
            "points",
            "buffer stop",
            "ballast",
        ),
    ),
    Subject(
        "kitchen",
        (
            "Soup for ten",
            "Bread overnight",
            "Pickles",
            "A small oven",
            "Dumplings",
            "Salt and time",
            "Market day",
            "Leftovers",
        ),
        (
            "Fry the {a} slowly, then add the {b} and a ladle of stock.",
            "The dough rests with a little {a} until the {b} is hot.",
            "Slice the {a} thinly and salt it; keep the {b} for the sauce.",
            "A spoon of {a} lifts the {b} without hiding it.",
            "Boil the {a} for an hour; the {b} goes in at the end.",
            "Serve with {a}, fresh herbs and plenty of {b}.",
        ),
        (
            "onion",
            "pepper",
            "barley",
            "butter",
            "vinegar",
            "garlic",
            "noodles",
            "cabbage",
            "mushrooms",
            "lemon",
        ),
    ),
    Subject(
        "village",
        (
            "Fair on the green",
            "The council meets",
            "Garden club",
            "Choir practice",
            "Opening hours",
            "Lost and found",
            "School fete",
            "Footpaths",
        ),
        (
            "The committee thanks everybody who brought the {a} and cleared away the {b}.",
            "Doors open at seven; the {a} follows the {b}.",
            "Please keep the {a} off the {b} until the grass has grown.",
            "The treasurer reported on the {a} and the repair of the {b}.",
            "Children show their {a} in the hall, parents bring a {b}.",
            "Next month the speaker tells of the {a} and the history of the {b}.",
        ),
        (
            "tombola",
            "village hall",
            "flower show",
            "bench",
            "minutes",
            "raffle",
            "parish map",
            "playground",
            "tea urn",
            "stalls",
        ),
    ),
)


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
