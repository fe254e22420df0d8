"""The sites that `bench soak` crawls: those of the demonstration, with delayed responses; and their
true contents, with which the stored data is compared."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from urllib.parse import urlsplit

from crawlmgr.demo.database import Database
from crawlmgr.demo.forum import Forum, ForumPages
from crawlmgr.demo.site import Answer, Pages, Website
from crawlmgr.demo.topic_web import TopicWeb


class Sites:
    """A forum with `days` days of posts, a topic web and a searchable database; each response is
    delayed by `delay_seconds`."""

    def __init__(self, now: datetime, seed: int, days: int, delay_seconds: float) -> None:
        self._forum = Forum(now, seed, days)
        with self._forum.lock:
            self._forum.until(now)
        self._topic = TopicWeb(seed)
        self._museum = Database(seed)
        self.delay_seconds = delay_seconds
        self._found: set[int] = set()
        self._lock = threading.Lock()
        self._inside: Counter[str] = Counter()
        self.most_at_once: Counter[str] = Counter()
        self._pages: dict[str, Pages] = {
            "forum": ForumPages(self._forum, lambda: now),
            "topic": self._topic,
            "museum": self._museum,
        }
        self.urls: dict[str, str] = {}

    @contextmanager
    def served(self) -> Iterator[None]:
        """Context manager that serves the sites; their addresses are in `urls`."""
        webs = {name: Website(self._late(name, pages)) for name, pages in self._pages.items()}
        for web in webs.values():
            web.__enter__()
        self.urls = {name: web.url for name, web in webs.items()}
        try:
            yield
        finally:
            for web in webs.values():
                web.__exit__()

    def _late(self, name: str, pages: Pages) -> Pages:
        def answer(path: str) -> Answer | None:
            with self._lock:
                self._inside[name] += 1
                self.most_at_once[name] = max(self.most_at_once[name], self._inside[name])
            time.sleep(self.delay_seconds)
            with self._lock:
                self._inside[name] -= 1
            return pages(path)

        return answer

    def seeds(self) -> list[str]:
        """Returns the seed addresses of the topic crawl."""
        return self._topic.seeds(self.urls["topic"])

    def posts(self) -> set[tuple[int, int]]:
        """Returns (thread number, post number) of every post of the forum."""
        return {
            (thread.number, post.number)
            for thread in self._forum.threads.values()
            for post in thread.posts
        }

    def reachable(self) -> set[int]:
        """Returns the numbers of the topic web's pages that can be reached by links from the
        seeds."""
        waiting = [number(url) for url in self.seeds()]
        found = set(waiting)
        while waiting:
            for link in self._topic.pages[waiting.pop()].links:
                if link.to not in found:
                    found.add(link.to)
                    waiting.append(link.to)
        return found

    def records(self, answers: Iterable[str]) -> set[int]:
        """Returns the numbers of the records shown on the result pages with the addresses
        `answers`."""
        found: set[int] = set()
        for url in answers:
            parts = urlsplit(url)
            answer = self._museum(f"{parts.path}?{parts.query}")
            found |= {
                int(text)
                for text in re.findall(r'href="/instrument/(\d+)"', answer.body if answer else "")
            }
        return found


def number(url: str) -> int:
    """Returns the number of a page, thread or record in its address; 0 if it has none, such as the
    home page."""
    digits = urlsplit(url).path.rpartition("/")[2].partition("-")[0]
    return int(digits) if digits.isdecimal() else 0
