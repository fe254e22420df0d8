"""How many files and functions of the program one thing passes through: counted by a profile of one
real execution, printed as a table (`pytest -s tests/test_walks.py`; with WALKS=1 also file by
file), and bounded, so that a change that makes a reader open more files is noticed.

Counted are named functions of the four packages that are entered in the process that does the
work, in all of its threads. Bodies of modules, classes, lambdas and comprehensions are not.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from types import CodeType, FrameType

import pytest
from django.test import Client

from crawlmgr import engine
from crawlmgr.frontier import hosts
from crawlmgr.models import Page, Run, RunState
from focused.run import archived_pages, sessions
from focused.topic import topics
from forums.models import Post, Site
from forums.sites import sites
from tests.crawlmgr.admin.rows import user
from tests.focused.topical import DOCUMENTS, TopicalWeb
from tests.site.forum import ForumServer, LocalForum
from tests.statements import PACKAGES, ROOT

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once, pytest.mark.slow]
OPEN = {"allow_private": "127.0.0.1", "delay_seconds": 0.0}
OURS = tuple(f"{ROOT / package}{os.sep}" for package in PACKAGES)


class Walk:
    """The functions of the program that were entered."""

    def __init__(self) -> None:
        self.entered: set[CodeType] = set()

    def __call__(self, frame: FrameType, event: str, _value: object) -> None:
        if event == "call":
            self.entered.add(frame.f_code)

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Notes what this thread and those that it starts enter, until the block ends."""
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def functions(self) -> Counter[str]:
        """Returns the number of functions entered in each file of the program."""
        return Counter(
            os.path.relpath(code.co_filename, ROOT)
            for code in self.entered.copy()  # threads of the pool may still end
            if code.co_filename.startswith(OURS) and _is_named(code)
        )


def _is_named(code: CodeType) -> bool:
    """Tells a function from the body of a module or class, a lambda and a comprehension."""
    return not code.co_name.startswith("<") and bool(code.co_flags & 0x02)  # 0x02: CO_NEWLOCALS


def told(name: str, walk: Walk) -> tuple[int, int]:
    """Prints a line of the table; returns the number of files and of functions."""
    found = walk.functions()
    reading = sum(file.startswith("forums/reading/") for file in found)
    print(f"\n{name:36} {len(found):4} files {found.total():6,} functions ({reading} of reading)")
    if os.environ.get("WALKS"):
        print("\n".join(f"{count:8} {file}" for file, count in sorted(found.items())))
    return len(found), found.total()


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture(autouse=True)
def nothing_is_remembered() -> None:
    hosts.forget()
    sessions._live.clear()
    archived_pages._parsed.clear()


@pytest.fixture
def forum() -> Iterator[tuple[ForumServer, Site]]:
    """A forum on loopback, all of whose threads are stored."""
    with ForumServer(LocalForum(threads=8, longest=9)) as server:
        run = sites.discover(server.url, {"settings": OPEN}, now=now(), start=False)
        assert engine.run_slice(run.pk) == RunState.FINISHED
        run.refresh_from_db()
        urls = [board["url"] for board in run.result["boards"]]
        site = sites.save(run, name="", timezone="UTC", board_urls=urls, now=now())
        visit(site, history_days=400)
        yield server, site


def visit(site: Site, **settings: object) -> Run:
    run = sites.crawl_now(site.pk, now=now(), parameters=settings, start=False)
    assert engine.run_slice(run.pk) == RunState.FINISHED
    return run


def test_a_visit_with_one_changed_thread(forum: tuple[ForumServer, Site]) -> None:
    server, site = forum
    posts = Post.objects.count()
    server.forum.reply(3, now() - timedelta(minutes=1))
    walk = Walk()
    with walk.followed():
        visit(site)
    assert Post.objects.count() == posts + 1
    files, functions = told("a visit with one changed thread", walk)
    assert files <= 99 and functions <= 950


def test_a_topic_run_of_20_pages() -> None:
    with TopicalWeb(60) as web:
        topic = topics.add(
            "crawlers",
            [web.url(0), web.url(1)],
            documents=DOCUMENTS,
            now=now(),
            settings=OPEN,
            threshold=0.1,
        )
        walk = Walk()
        with walk.followed():
            run = topics.crawl(topic, options={"pages": 20}, now=now(), start=False)
            assert engine.run_slice(run.pk) == RunState.FINISHED
    assert Page.objects.filter(run=run).count() == 20
    files, _functions = told("a topic run of 20 pages", walk)
    assert files <= 56


def test_pages_of_the_desk(forum: tuple[ForumServer, Site]) -> None:
    client = Client()
    client.force_login(user("operator"))
    for name, address, most in (
        ("overview", "/admin/", 28),
        ("a forum", f"/admin/forums/site/{forum[1].pk}/", 36),
    ):
        client.get(address)  # the first answer of a process loads templates and texts
        walk = Walk()
        with walk.followed():
            answer = client.get(address)
        assert answer.status_code == 200
        files, _functions = told(f"a page of the desk: {name}", walk)
        assert files <= most
