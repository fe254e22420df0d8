"""Writes forum pages in all markups of the package `tests.forums`, with their true content, to a
folder for `reader train --more`: `python -m tests.forums.markup_pages FOLDER`."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin

from lxml.html import document_fromstring

from tests.forums.boards import RandomForum, Reply, Section, Topic
from tests.forums.heldout.indexes import INDEXES as KEPT_INDEXES
from tests.forums.heldout.lists import LISTS as KEPT_LISTS
from tests.forums.heldout.posts import THREADS as KEPT_THREADS
from tests.forums.markup_lists import INDEXES, LISTS
from tests.forums.markup_posts import POSTS
from tests.forums.markup_random import LAYOUTS, RandomMarkup
from tests.forums.markup_random_boards import LAYOUTS as INDEX_LAYOUTS
from tests.forums.markup_random_boards import RandomArchive, RandomIndex, plain
from tests.forums.markup_random_threads import LAYOUTS as THREAD_LAYOUTS
from tests.forums.markup_random_threads import RandomThread
from tests.forums.markup_software import SOFTWARE
from tests.forums.markup_thin import (
    MAX_ROWS,
    few_boards,
    few_posts,
    few_topics,
    not_forums,
    subjects,
)
from tests.forums.markup_threads import PLAIN_POSTS

SITE = "http://forum.example"
LANGUAGES = ("en", "de", "ru", "zh")
SEED = 77_000
TURNS, ARCHIVES = 2, 4  # random variants of each index and thread markup; number of random archives


class Drawn(NamedTuple):
    """A page: its markup, address, kind, HTML and true records."""

    markup: str
    url: str
    kind: str
    html: str
    records: list[dict[str, Any]]
    optional: Sequence[str] = ()


def _thread(topic: Topic, url: str) -> dict[str, Any]:
    return {
        "url": url,
        "title": topic.title,
        "author": topic.posts[0].author,
        "replies": topic.replies,
    }


def _board(board: Section, url: str) -> dict[str, Any]:
    return {"url": url, "name": board.name, "threads": board.threads, "posts": board.posts}


def _post(post: Reply) -> dict[str, Any]:
    return {
        "author": post.author,
        "posted_iso": post.posted.strftime("%Y-%m-%dT%H:%M"),
        "text_start": post.text[:60],
    }


def drawn(forum: RandomForum, at: int) -> Iterator[Drawn]:
    """Generates pages of one forum in every markup. `at`: seed offset of the random markups."""
    for name, kept in KEPT_LISTS.items():
        rows = [_thread(topic, urljoin(kept.url, kept.link(topic))) for topic in forum.topics]
        yield Drawn(f"kept-list-{name}", kept.url, "threadlist", kept.render(forum), rows)
    for name, made in KEPT_INDEXES.items():
        boards = [_board(board, urljoin(made.url, made.link(board))) for board in forum.boards]
        yield Drawn(f"kept-index-{name}", made.url, "index", made.render(forum), boards)
    for name, markup in KEPT_THREADS.items():
        for topic in markup.pick(forum.topics)[:2]:
            url = markup.url.format(n=topic.number)
            yield Drawn(
                f"kept-thread-{name}",
                url,
                "thread",
                markup.render(forum, topic),
                [_post(post) for post in topic.posts],
            )
    for name, software in SOFTWARE.items():
        rows = [_thread(topic, f"{SITE}{software.link(topic)}") for topic in forum.topics]
        yield Drawn(f"software-{name}", software.url, "threadlist", software.render(forum), rows)
    for name in LAYOUTS:
        random = RandomMarkup(SEED + at, forum, name)
        rows = [_thread(topic, random.link(topic)) for topic in forum.topics]
        yield Drawn(f"random-{name}", random.url, "threadlist", random.html(), rows)
    for name, post in POSTS.items():
        topic = max(forum.topics, key=lambda topic: len(topic.posts))
        yield Drawn(
            f"thread-{name}",
            f"{SITE}/topic/{topic.number}",
            "thread",
            post(forum, topic),
            [_post(p) for p in topic.posts],
        )
    for kind, markups, url in (
        ("threadlist", LISTS, f"{SITE}/board-7"),
        ("index", INDEXES, f"{SITE}/"),
    ):
        for name, render in markups.items():
            yield Drawn(
                f"{kind}-{name}", url, kind, render(forum), _found(render(forum), url, forum, kind)
            )
    yield from _random_boards(forum, at)
    yield from _random_threads(forum, at)
    yield from _thin_lists(forum, at)
    yield from _thin_threads(forum, at)
    texts = [forum.words(3, 8).capitalize() for _ in range(6)]
    for name, html in not_forums(texts, ". ".join(forum.words(6, 14) for _ in range(4))).items():
        yield Drawn(f"none-{name}", f"{SITE}/{name.replace(' ', '-')}", "other", html, [])


def _random_boards(forum: RandomForum, at: int) -> Iterator[Drawn]:
    """Yields index pages, TURNS random variants of each index layout, and ARCHIVES random archive
    pages."""
    for turn in range(TURNS):
        for number, name in enumerate(INDEX_LAYOUTS):
            index = RandomIndex(SEED + 1000 * turn + 100 * at + number, forum, name)
            names = {"topics": "threads", "posts": "posts"}
            untold = {name: None for word, name in names.items() if word not in index.told}
            shown = [
                _board(board, index.link(board)) | {"name": plain(board)} | untold
                for board in index.boards
            ]
            yield Drawn(
                f"random-index-{name}", index.url, "index", index.html(), shown, index.optional()
            )
        for number in range(ARCHIVES):
            archive = RandomArchive(SEED + 1000 * turn + 100 * at + number, forum)
            rows = [_thread(topic, archive.link(topic)) for topic in forum.topics]
            yield Drawn(
                f"archive-{number}",
                archive.url,
                "threadlist",
                archive.html(),
                rows,
                archive.optional(),
            )


def _random_threads(forum: RandomForum, at: int) -> Iterator[Drawn]:
    """Yields two pages for each layout of threads: a random variant with a long thread, and one
    with a short thread."""
    by_length = sorted(forum.topics, key=lambda topic: len(topic.posts))
    for turn in range(TURNS):
        for number, name in enumerate(THREAD_LAYOUTS):
            topic = (
                by_length[-1 - number % 3]
                if turn == 0
                else by_length[number % (len(by_length) // 2)]
            )
            thread = RandomThread(SEED + 1000 * turn + 100 * at + number, forum, topic, name)
            yield Drawn(
                f"random-thread-{name}",
                thread.url,
                "thread",
                thread.html(),
                [_post(post) for post in topic.posts],
            )


def _thin_lists(forum: RandomForum, at: int) -> Iterator[Drawn]:
    """Yields a short page in every markup: lists with one to three threads, and indexes with two to
    four boards."""
    for number, (name, software) in enumerate(SOFTWARE.items(), at):
        thin = few_topics(forum, 1 + number % MAX_ROWS)
        rows = [_thread(topic, f"{SITE}{software.link(topic)}") for topic in thin.topics]
        yield Drawn(
            f"thin-software-{name}", software.url, "threadlist", software.render(thin), rows
        )
    for number, (name, render) in enumerate(LISTS.items(), at):
        thin, url = few_topics(forum, 1 + number % MAX_ROWS), f"{SITE}/board-7"
        yield Drawn(
            f"thin-list-{name}",
            url,
            "threadlist",
            render(thin),
            _found(render(thin), url, thin, "threadlist"),
        )
    for name, render in INDEXES.items():
        for number in range(MAX_ROWS):
            thin, url = (
                few_boards(forum, 2 + number),
                f"{SITE}/{('', 'forum.php', 'start')[number]}",
            )
            yield Drawn(
                f"thin-index-{name}",
                url,
                "index",
                render(thin),
                _found(render(thin), url, thin, "index"),
            )


def _thin_threads(forum: RandomForum, at: int) -> Iterator[Drawn]:
    """Yields a page in each markup of a thread, with one to three posts. The markups of
    PLAIN_POSTS, in which neither classes nor links mark the posts, are also generated with all
    posts. No address shows the kind of page."""
    for number, (name, post) in enumerate(
        (*POSTS.items(), *PLAIN_POSTS.items(), ("subjects", subjects)), at
    ):
        for count in (1 + number % MAX_ROWS, 99):
            if count <= MAX_ROWS or name in PLAIN_POSTS:
                topic = few_posts(forum, number, count)
                url = f"{SITE}/{('page', 'a', 'garden')[number % 3]}/{topic.number}"
                yield Drawn(
                    f"thin-thread-{name}",
                    url,
                    "thread",
                    post(forum, topic),
                    [_post(p) for p in topic.posts],
                )


def _found(html: str, url: str, forum: RandomForum, kind: str) -> list[dict[str, Any]]:
    """Returns the true records with the addresses that they have on the page, found by the texts of
    its links."""
    links = {
        " ".join(link.text_content().split()): urljoin(url, link.get("href"))
        for link in document_fromstring(html).iter("a")
    }
    if kind == "threadlist":
        return [
            _thread(topic, links[topic.title]) for topic in forum.topics if topic.title in links
        ]
    return [_board(board, links[board.name]) for board in forum.boards if board.name in links]


def _truth(page: Drawn) -> dict[str, Any]:
    optional = {"optional_urls": list(page.optional)} if page.optional else {}
    return {"kind": page.kind, "base_url": page.url, "records": page.records, **optional}


def write(folder: Path) -> int:
    """Writes the generated pages, their true records and `pages.csv` into the folder; returns the
    number of pages."""
    rows = []
    for at, language in enumerate(LANGUAGES):
        for number, page in enumerate(drawn(RandomForum(SEED + at, language), at)):
            file = f"{page.markup}/{language}-{number}.html"
            for name, text in (
                (f"html/{file}", page.html),
                (f"truth/{file[:-5]}.json", json.dumps(_truth(page))),
            ):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(text, encoding="utf-8")
            rows.append(
                {"file": file, "base_url": page.url, "engine": page.markup, "site": page.markup}
            )
    with (folder / "pages.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, ["file", "base_url", "engine", "site"])
        writer.writeheader()
        writer.writerows(rows)
    return len(rows)


if __name__ == "__main__":
    sys.stdout.write(f"{write(Path(sys.argv[1]))} pages\n")
