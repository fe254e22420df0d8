"""The demonstration's forum: boards in two languages whose posts are determined by the seed and the
start time."""

from __future__ import annotations

import random
import threading
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from crawlmgr.demo.forum_words import PEOPLE, TALK_OF, Talk
from crawlmgr.demo.rhythm import Rhythm, arrivals, busy_minutes, floor_hour

DAYS_BEFORE = 40
NEW_THREAD_SHARE = 0.08
# mean position in the list (0 is the top) of the thread that gets the next reply; exponentially
# distributed
REACH = 4.0
LONGEST = 80
# additional posts soon after the start, for a second visit to find: their number, and their mean
# time after the start
BUSY_POSTS, BUSY_MEAN_SECONDS = 48, 180.0


class Board(NamedTuple):
    """A board: its number, name, description, language, the name of its vocabulary (`talk`), and
    its rhythm of posts."""

    number: int
    name: str
    about: str
    language: str
    talk: str
    rhythm: Rhythm


# by board: posts per working day, peaks as (hour, width in hours, weight), factor for weekends,
# base rate
RHYTHMS = {
    "news": Rhythm(36, ((8.5, 1.0, 1.0), (17.5, 1.2, 0.7)), weekend=0.4, base=0.03),
    "repair": Rhythm(10, ((20.5, 1.5, 1.0),), weekend=2.2, base=0.05),
    "night": Rhythm(24, ((1.0, 1.2, 1.0),), base=0.02),
    "trade": Rhythm(30, ((12.5, 0.7, 0.8), (21.0, 1.0, 1.0)), base=0.02),
    "study": Rhythm(16, ((15.5, 1.2, 0.8), (22.0, 1.0, 1.0)), weekend=0.3, base=0.04),
    "trips": Rhythm(7, ((11.0, 1.5, 1.0), (19.5, 1.2, 0.8)), weekend=3.0, base=0.05),
}
BOARDS = (
    Board(1, "News and talk", "What happens in town", "en", "news", RHYTHMS["news"]),
    Board(2, "Repair workshop", "Things that can be mended", "en", "repair", RHYTHMS["repair"]),
    Board(3, "Night readers", "Books for late hours", "en", "night", RHYTHMS["night"]),
    Board(4, "二手交易", "闲置物品转让与求购", "zh", "trade", RHYTHMS["trade"]),
    Board(5, "学习互助", "课程、笔记与讨论", "zh", "study", RHYTHMS["study"]),
    Board(6, "周末出游", "路线、同伴与见闻", "zh", "trips", RHYTHMS["trips"]),
)


@dataclass(frozen=True, slots=True)
class Post:
    """One post of a thread."""

    number: int
    author: str
    posted: datetime
    text: str


@dataclass(slots=True)
class Thread:
    """A thread of a board with its posts in order."""

    number: int
    board: Board
    title: str
    pinned: bool = False
    posts: list[Post] = field(default_factory=list)

    @property
    def last(self) -> datetime:
        """The time of the last post."""
        return self.posts[-1].posted


class Forum:
    """All threads and posts up to a time, which `until` moves forward. `began` is when the forum
    was first shown: it then has `days` days of history, gets BUSY_POSTS posts in the first minutes,
    and continues by its boards' rhythms.
    """

    def __init__(self, began: datetime, seed: int = 11, days: int = DAYS_BEFORE) -> None:
        self.lock = threading.Lock()
        self.threads: dict[int, Thread] = {}
        self._seed, self._posts = seed, 0
        self._draw = random.Random(f"{seed} words")  # noqa: S311 - made-up posts
        self._rhythms = [board.rhythm for board in BOARDS]
        self._busy = busy_minutes(self._rhythms, began, seed, BUSY_POSTS, BUSY_MEAN_SECONDS)
        self._hour = floor_hour(began - timedelta(days=days))
        self._coming: deque[tuple[datetime, int]] = deque()
        self._lively: dict[int, list[Thread]] = {board.number: [] for board in BOARDS}
        for board in BOARDS:
            self._open(board, self._hour, pinned=True)

    def until(self, now: datetime) -> None:
        """Generates the posts up to `now`; the caller holds the forum's lock."""
        while True:
            while self._coming and self._coming[0][0] <= now:
                at, number = self._coming.popleft()
                self._arrive(BOARDS[number], at)
            if self._hour > now:
                return
            after = self._hour + timedelta(hours=1)
            busy = [one for one in self._busy if self._hour <= one[0] < after]
            self._coming.extend(sorted([*arrivals(self._rhythms, self._hour, self._seed), *busy]))
            self._hour = after

    def of_board(self, number: int) -> list[Thread]:
        """Returns the threads of a board in the order of its list: pinned ones first, then by last
        post, newest first."""
        mine = [thread for thread in self.threads.values() if thread.board.number == number]
        return sorted(
            mine, key=lambda thread: (thread.pinned, thread.last, thread.number), reverse=True
        )

    def _arrive(self, board: Board, at: datetime) -> None:
        lively = self._lively[board.number]
        place = int(self._draw.expovariate(1 / REACH))
        if self._draw.random() < NEW_THREAD_SHARE or place >= len(lively):
            self._open(board, at)
            return
        thread = lively.pop(place)
        self._reply(thread, at)
        if len(thread.posts) < LONGEST:
            lively.insert(0, thread)

    def _open(self, board: Board, at: datetime, pinned: bool = False) -> None:
        talk = TALK_OF[board.talk]
        title = self._put(talk, self._draw.choice(talk.titles))
        if pinned:
            title = "版规与说明" if board.language == "zh" else "Rules of this board"
        thread = Thread(len(self.threads) + 1, board, f"{title[0].upper()}{title[1:]}", pinned)
        self.threads[thread.number] = thread
        self._reply(thread, at)
        if not pinned:
            self._lively[board.number].insert(0, thread)

    def _reply(self, thread: Thread, at: datetime) -> None:
        talk, language = TALK_OF[thread.board.talk], thread.board.language
        said = self._draw.sample(talk.sentences, self._draw.choice((1, 2, 2, 3)))
        text = ("" if language == "zh" else " ").join(self._put(talk, one) for one in said)
        self._posts += 1
        thread.posts.append(Post(self._posts, self._draw.choice(PEOPLE[language]), at, text))

    def _put(self, talk: Talk, pattern: str) -> str:
        draw = self._draw
        return pattern.format(
            thing=draw.choice(talk.things),
            part=draw.choice(talk.parts),
            place=draw.choice(talk.places),
        )
