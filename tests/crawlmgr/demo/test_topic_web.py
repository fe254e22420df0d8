"""The demonstration's topic web: all pages are reachable, some only through off-topic pages
(tunnels), and the sample texts suffice to tell pages on topic from others."""

from __future__ import annotations

import re

from crawlmgr.demo.topic_web import CLUSTER_PAGES, CLUSTERS, SEEDED, TopicWeb
from focused.judge.relevance import Relevance, Topic

BASE = "http://127.0.0.1:9/"
BEES = CLUSTERS * CLUSTER_PAGES


def reached(web: TopicWeb, numbers: list[int], through: int) -> set[int]:
    """The pages that can be reached by links through pages numbered below `through`."""
    seen: set[int] = set()
    while numbers:
        number = numbers.pop()
        if number not in seen and number < through:
            seen.add(number)
            numbers += [link.to for link in web.pages[number].links]
    return seen


def test_all_of_it_is_reached_and_some_only_through_pages_off_topic() -> None:
    web = TopicWeb()
    seeds = [int(re.findall(r"/pages/(\d+)-", url)[0]) for url in web.seeds(BASE)]
    assert len(seeds) == 3 and reached(web, list(seeds), len(web.pages)) == set(
        range(len(web.pages))
    )
    near = reached(web, list(seeds), BEES)
    assert near == set(range(SEEDED * CLUSTER_PAGES)), (
        "clusters beyond those of the seeds lie behind tunnels"
    )


def test_its_links_lead_to_its_pages() -> None:
    web = TopicWeb()
    answer = web("/pages/" + web.seeds(BASE)[0].rpartition("/")[2])
    front = web("/")
    assert answer is not None and front is not None
    links = re.findall(r'href="(/pages/[^"]+)"', answer.body + front.body)
    assert len(links) > 5 and all(web(link) is not None for link in links)
    for nowhere in ("/pages/0-nothing", "/pages/9999-x", "/pages/", "/pages/x-y", "/other"):
        assert web(nowhere) is None


def test_the_samples_tell_pages_on_topic_from_others() -> None:
    web = TopicWeb()
    samples = web.samples()
    relevance = Relevance(
        Topic("bees", tuple(web.seeds(BASE)), documents=tuple(text for _name, text in samples))
    )
    right = 0
    for number, page in enumerate(web.pages):
        score = relevance.text(relevance.tokenizer(" ".join((page.title, *page.paragraphs))))
        right += (score >= relevance.threshold) == (number < BEES)
    assert right > 0.95 * len(web.pages)
