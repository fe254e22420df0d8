"""Random forums with known content, for pages rendered in many markups."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

NOW = datetime(2026, 11, 21, 4, 6, tzinfo=UTC)
WORDS = {
    "en": (
        """
            harbour lantern orchard window copper signal market river winter garden bridge paper
            stone silver engine letter question about broken trying to find why does the old radio
            hum under rain update firmware best way of keeping
        """.split()
    ),
    "zh": (
        "怎么 升级 之后 内存 不够 请问 大家 推荐 一款 显示器 色差 教程 求助 服务器 迁移 记录 一次"
        " 经验 分享 周末 出游 路线".split()
    ),
    "de": (
        """
            Frage zur Heizung im alten Haus warum läuft der Lüfter nicht mehr Erfahrungen mit neuen
            Reifen gesucht Anleitung Umbau Fahrrad Licht Garten
        """.split()
    ),
    "ru": (
        "вопрос о ремонте старого радио почему не работает подсветка посоветуйте хороший монитор"
        " для дома".split()
    ),
}
NAMES = (
    "anna bertold chen dmitri eva_k farid Günther hanako ivo jana88 K.Lee liming moritz noor"
    " o_brien pavel 小明 王芳".split()
)


@dataclass
class Reply:
    """A post of a thread."""

    number: int
    author: str
    posted: datetime
    text: str
    quote: tuple[str, str] | None = None


@dataclass
class Topic:
    """A thread of the test forum, with all its posts (`posts`); `board` is the number of its
    board."""

    number: int
    title: str
    posts: list[Reply]
    board: int
    views: int
    pinned: bool = False
    locked: bool = False

    @property
    def replies(self) -> int:
        """Posts after the opening one."""
        return len(self.posts) - 1


@dataclass
class Section:
    """A board as a row of the forum's index page: name, description, counts, and the topic with the
    last post."""

    number: int
    name: str
    about: str
    threads: int
    posts: int
    last: Topic | None = None


@dataclass
class RandomForum:
    """A randomly generated forum: boards, threads and posts, and the format in which its times are
    written."""

    seed: int
    language: str = "en"
    time: str = "iso"
    random: random.Random = field(init=False)
    topics: list[Topic] = field(init=False)
    boards: list[Section] = field(init=False)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        count = self.random.randint(6, 25)
        moments = sorted(
            (NOW - timedelta(minutes=self.random.randint(3, 60 * 24 * 700)) for _ in range(count)),
            reverse=True,
        )
        self.topics = [
            self._topic(1000 + self.random.randint(0, 90) + 100 * at, last)
            for at, last in enumerate(moments)
        ]
        for at in range(self.random.choice([0, 1, 2])):
            old = self._topic(400 + at, NOW - timedelta(days=self.random.randint(800, 1200)))
            old.pinned = True
            self.topics.insert(at, old)
        self.boards = [self._board(at + 2) for at in range(self.random.randint(3, 9))]

    def words(self, low: int, high: int) -> str:
        """Some random words of the forum's language."""
        chosen = [
            self.random.choice(WORDS[self.language]) for _ in range(self.random.randint(low, high))
        ]
        return ("" if self.language == "zh" else " ").join(chosen)

    def _post(self, number: int, at: datetime) -> Reply:
        text = ". ".join(self.words(3, 14) for _ in range(self.random.randint(1, 4))) + "."
        return Reply(number, self.random.choice(NAMES), at, text)

    def _topic(self, number: int, last: datetime) -> Topic:
        replies = self.random.choice([0, 0, 1, 2, 3, 5, 9, 14])
        last = last.replace(second=0, microsecond=0)
        moments = [last]
        for _ in range(replies):
            moments.insert(0, moments[0] - timedelta(minutes=self.random.randint(1, 5000)))
        posts = [self._post(number * 40 + at, moment) for at, moment in enumerate(moments)]
        for before, post in zip(posts, posts[1:], strict=False):
            if self.random.random() < 0.25:
                post.quote = before.author, before.text
        title = self.words(3, 7)
        return Topic(
            number,
            f"{title[0].upper()}{title[1:]} {number % 97}x",
            posts,
            self.random.randint(2, 5),
            replies * 31 + self.random.randint(5, 900),
        )

    def _board(self, number: int) -> Section:
        threads = self.random.randint(3, 4000)
        name = self.words(1, 3)
        topic = self.random.choice(self.topics)
        return Section(
            number,
            f"{name[0].upper()}{name[1:]} {number}",
            self.words(4, 9),
            threads,
            threads * self.random.randint(1, 9),
            topic,
        )

    def when(self, at: datetime) -> str:
        """A time in this forum's format."""
        return TIMES[self.time](at)


def _ago(at: datetime) -> str:
    minutes = int((NOW - at).total_seconds() // 60)
    if minutes < 60:
        return f"{minutes} minutes ago"
    return f"{minutes // 60} hours ago" if minutes < 2880 else f"{minutes // 1440} days ago"


def _day(at: datetime) -> str:
    clock = f"{at.hour % 12 or 12}:{at:%M} {'AM' if at.hour < 12 else 'PM'}"
    if at.date() == NOW.date():
        return f"Today, {clock}"
    if at.date() == (NOW - timedelta(days=1)).date():
        return f"Yesterday, {clock}"
    return f"{at:%m-%d-%Y}, {clock}"


def _chinese(at: datetime) -> str:
    if at.date() == (NOW - timedelta(days=1)).date():
        return f"昨天 {at:%H:%M}"
    return f"{at.year}-{at.month}-{at.day} {at:%H:%M}"


_DE = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split()
_RU = "янв фев мар апр май июн июл авг сен окт ноя дек".split()
TIMES: dict[str, Callable[[datetime], str]] = {
    "iso": lambda at: f"{at:%Y-%m-%d %H:%M}",
    "american": lambda at: (
        f"{at:%b} {at.day}, {at.year}, {at.hour % 12 or 12}:{at:%M}"
        f" {'am' if at.hour < 12 else 'pm'}"
    ),
    "european": lambda at: f"{at:%d.%m.%Y}, {at:%H:%M}",
    "long": lambda at: (
        f"{at:%a} {at:%b} {at:%d}, {at.year} {at.hour % 12 or 12}:{at:%M}"
        f" {'am' if at.hour < 12 else 'pm'}"
    ),
    "german": lambda at: f"{at.day}. {_DE[at.month - 1]} {at.year} {at:%H:%M}",
    "russian": lambda at: f"{at:%d} {_RU[at.month - 1]} {at.year}, {at:%H:%M}",
    "chinese": _chinese,
    "kanji": lambda at: f"{at.year}年{at.month}月{at.day}日 {at:%H:%M}",
    "days": _day,
    "ago": _ago,
}
COARSE = frozenset({"ago"})
