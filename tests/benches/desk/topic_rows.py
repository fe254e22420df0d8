"""Fills the database for `bench desk` with topics, their runs and searchable pages. Some words
occur on every page, some on one in a thousand, some on only one.
"""

from __future__ import annotations

from datetime import timedelta

from crawlmgr.models import Run
from focused.models import Comparison, SampleDocument, Seed, Topic, TopicPage, TopicRun
from focused.run import search
from tests.benches.desk.bulk import Sizes, Sql, ago, insert

RUNS = 20  # number of runs, half of which belong to the first topic
TOPICS = 40
# number of generated words per page; word number n (from 0) is drawn from a vocabulary of 20 + 40 n
# words
WORDS = 60
DEFINITION = {
    "name": "topic",
    "seeds": ["http://host00000.example/"],
    "documents": ["crawler frontier topic"],
    "keywords": {"crawler": 1.0},
    "near": {},
    "negative": [],
    "url_words": [],
    "user_words": [],
    "threshold": None,
    "ontology": {},
}


def fill(sizes: Sizes) -> None:
    """Inserts topics with runs and pages; `sizes` gives the number of pages, which are distributed
    evenly over the runs. Rebuilds the search index, as after a restore."""
    now, first, each = sizes.now, sizes.runs + 10, max(1, sizes.topic_pages // RUNS)
    insert(
        Topic,
        TOPICS,
        id=Sql("i + 1"),
        name=Sql("printf('Topic %02d', i)"),
        keywords={"crawler": 1.0},
        added=now,
    )
    insert(
        Seed,
        TOPICS * 3,
        topic_id=Sql("1 + i / 3"),
        url=Sql("printf('http://host%05d.example/', i)"),
        url_hash=Sql("i"),
        position=Sql("i % 3"),
    )
    insert(
        SampleDocument,
        TOPICS * 3,
        topic_id=Sql("1 + i / 3"),
        name="sample",
        text="A crawler has a frontier of addresses. " * 20,
        added=now,
    )
    at = ago(f"({RUNS} - i) * 86400", now)
    options = {"pages": each}
    insert(
        Run,
        RUNS,
        id=Sql(f"{first} + i"),
        kind="topic",
        label="Topic",
        target=Sql("CASE WHEN i % 2 THEN 1 ELSE 2 + i END"),
        state="finished",
        stopped_by="pages",
        created=at,
        started=at,
        finished=at,
        fetched=each,
        items=each // 3,
        begun=True,
        parameters={
            "strategy": "best_first",
            "parameters": {},
            "options": options,
            "scope": {},
            "settings": {},
        },
    )
    insert(
        TopicRun,
        RUNS,
        run_id=Sql(f"{first} + i"),
        topic_id=Sql("CASE WHEN i % 2 THEN 1 ELSE 2 + i END"),
        definition=DEFINITION,
        steps=each,
        pages=each,
        relevant=each // 3,
    )
    words = " || ' ' || ".join(
        [
            "'crawler frontier 抓取'",
            "CASE WHEN i % 1000 = 7 THEN '番茄' ELSE '网页' END",
            "'onlyon' || i",
            "'beehive' || (i % 1000)",
            *(f"'w' || ((i * {31 + 7 * n} + {n * n}) % {20 + n * 40})" for n in range(WORDS)),
        ]
    )
    insert(
        TopicPage,
        sizes.topic_pages,
        id=Sql("i + 1"),
        run_id=Sql(f"{first} + i % {RUNS}"),
        step=Sql(f"i / {RUNS}"),
        mark=Sql("i"),
        number=Sql(f"i / {RUNS}"),
        url=Sql("printf('http://host.example/p%d', i)"),
        url_hash=Sql("i"),
        final_url=Sql("printf('http://host.example/p%d', i)"),
        similarity=Sql("(i % 97) / 97.0"),
        relevant=Sql("i % 3 = 0"),
        relevant_so_far=Sql(f"(i / {RUNS}) / 3"),
        title=Sql("printf('Page %d', i)"),
        words=Sql(f"CAST({words} AS BLOB)"),
        at=now,
    )
    insert(
        Comparison,
        5,
        id=Sql("i + 1"),
        topic_id=1,
        setup={"strategies": ["best_first"], "pages": 10, "files": []},
        created=now - timedelta(days=1),
        problem="none",
    )
    search.rebuild()


def arguments(sizes: Sizes) -> dict[str, dict[str, object]]:
    """Returns by view name the URL arguments with which `bench desk` opens the views that show one
    topic, run, page or comparison."""
    run: dict[str, object] = {"pk": sizes.runs + 11}
    of_topic = [
        "topic",
        "topic-search",
        "topic-compare",
        "topic-words",
        "topic-try",
        "topic-crawl",
        "topic-delete",
        "comparison",
        "comparison-points",
    ]
    of_topic += ["topic-ontology"]
    found: dict[str, dict[str, object]] = {name: {"pk": 1} for name in of_topic}
    return {
        **found,
        "topic-pages": run,
        "topic-run": run,
        "topic-marks": run,
        "topic-page": {"pk": 2},
    }


QUERIES = {
    "topics": ("sort=last", "sort=rate", "sort=next", "q=topic+3", "show=on"),
    "topic-search": (
        "q=crawler",
        "q=onlyon1",
        "q=beehive7",
        "q=nowhereatall",
        "q=crawler+frontier",
        "q=%22crawler+frontier%22",
        "q=crawler+-onlyon1",
        "q=crawler+beehive7",
        "q=crawler&page=80",
        "q=抓取",
        "q=番茄",
        "q=抓取网页",
        "q=crawler+frontier+w1+w2+w3",
    ),
    "topic-pages": (
        "q=crawler",
        "sort=relevance",
        "sort=-relevance",
        "show=relevant",
        "show=relevant&sort=relevance",
        "last",
        "url=http://host.example/p1",
    ),
    "topic-run": ("part=live",),
}
"""Query strings with which `bench desk` also measures views, by view name."""
