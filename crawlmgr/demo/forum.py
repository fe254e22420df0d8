"""The demonstration's forum: boards in two languages whose posts are determined by the seed and the
start time. Its pages are an index, lists of threads and threads; times of posts follow the hours of
the week."""

from __future__ import annotations

import math
import random
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from html import escape
from typing import NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlsplit

from crawlmgr.demo.site import Answer, frame

ZONE = timezone(timedelta(hours=8))
"""The forum's time zone, eight hours ahead of UTC."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """A board's weekly rhythm of posts. `daily`: mean number of posts on a working day; `peaks`:
    (hour, width in hours, weight) in local time; `base`: the rate outside the peaks, on the scale
    of the weights. On Saturdays and Sundays the number is multiplied by `weekend`."""

    daily: float
    peaks: tuple[tuple[float, float, float], ...]
    weekend: float = 1.0
    base: float = 0.15

    def per_hour(self, at: datetime) -> float:
        """Returns the expected number of posts in the hour that begins at `at`: a base rate plus a
        bell curve around each peak, scaled so that the mean over 24 hours is daily/24 (times
        `weekend` on Saturdays and Sundays).
        """
        local = at.astimezone(ZONE)
        share = self._height(local.hour + 0.5) / sum(self._height(hour + 0.5) for hour in range(24))
        return self.daily * share * (self.weekend if local.weekday() >= 5 else 1.0)

    def _height(self, hour: float) -> float:
        found = self.base
        for middle, width, weight in self.peaks:
            apart = min(abs(hour - middle), 24 - abs(hour - middle))
            found += weight * math.exp(-0.5 * (apart / width) ** 2)
        return found


def floor_hour(at: datetime) -> datetime:
    """Returns a time rounded down to the full hour."""
    return at.replace(minute=0, second=0, microsecond=0)


def arrivals(rhythms: Sequence[Rhythm], hour: datetime, seed: int) -> list[tuple[datetime, int]]:
    """Returns (time, index of the rhythm) for every post of one hour, in order of time: for each
    rhythm a Poisson-distributed number of posts, at uniformly distributed times."""
    found = []
    for number, rhythm in enumerate(rhythms):
        # made-up posts
        draw = random.Random(f"{seed} {number} {hour.timestamp():.0f}")  # noqa: S311
        for _ in range(_poisson(rhythm.per_hour(hour), draw)):
            found.append((hour + timedelta(seconds=draw.randrange(3600)), number))
    return sorted(found)


def busy_minutes(
    rhythms: Sequence[Rhythm], began: datetime, seed: int, posts: int, mean_seconds: float
) -> list[tuple[datetime, int]]:
    """Returns (time, index of the rhythm) for `posts` posts soon after the start `began`, in order
    of time: each after an exponentially distributed time with mean `mean_seconds`, on a board drawn
    in proportion to the boards' rates at the start.
    """
    draw = random.Random(f"{seed} beginning")  # noqa: S311 - made-up posts
    rates = [rhythm.per_hour(floor_hour(began)) for rhythm in rhythms]
    boards = draw.choices(range(len(rhythms)), rates, k=posts)
    waits = sorted(draw.expovariate(1 / mean_seconds) for _ in range(posts))
    return [
        (began + timedelta(seconds=math.ceil(wait)), board)
        for wait, board in zip(waits, boards, strict=True)
    ]


def _poisson(mean: float, draw: random.Random) -> int:
    """Returns a Poisson-distributed number by Knuth's method, which suits the small means of an
    hour."""
    limit, product, count = math.exp(-mean), draw.random(), 0
    while product > limit:
        product *= draw.random()
        count += 1
    return count


class Talk(NamedTuple):
    """Patterns of titles and sentences with the placeholders {thing}, {part} and {place}, and the
    words to insert for these."""

    titles: tuple[str, ...]
    sentences: tuple[str, ...]
    things: tuple[str, ...]
    parts: tuple[str, ...]
    places: tuple[str, ...]


PEOPLE = {
    "en": (
        "amber_w,Basil,cornelia,dunlin,Edith"
        " K,ferrous,greyhound7,hollis,inkwell,Jonquil,kestrel,lumen,Marlow,nightjar,osier".split(
            ","
        )
    ),
    "zh": (
        "晨星,青石巷,小满,北门吊桥,阿森,竹里馆,木棉,老周,"
        "柠檬水,山间客,南风,书签,一叶舟,二胡,白露".split(",")
    ),
}


EN_TITLES = (
    "What do you make of the new {thing}?",
    "{thing}: is it worth the trouble",
    "Looking for a {thing} near {place}",
    "A word about the {part} of my {thing}",
    "{place} this week",
    "Who else keeps a {thing} by the {place}?",
    "The {thing} I saw at the {place}",
    "Question about a {part}",
    "My {thing}, after a year",
    "Better {part}, older {thing}?",
    "Things to know before you buy a {thing}",
    "Does anybody remember the {thing} at the {place}?",
)


EN_SENTENCES = (
    "I had mine from the {place} and the {part} was loose from the first day.",
    "Nobody at the {place} could tell me where the {part} went.",
    "If the {thing} still moves, leave the {part} alone.",
    "My neighbour swears by a {thing} without any {part} at all.",
    "It took me two evenings, most of it spent on the {part}.",
    "The one near the {place} is better, and cheaper.",
    "Has anyone tried it without the {part}?",
    "Thank you, that was what I wanted to know.",
    "I would ask at the {place} first.",
    "The {part} is what fails, every time.",
    "There was a {thing} like that in our street when I was young.",
    "Photographs would help, above all of the {part}.",
    "You need patience with a {thing}, and a dry room.",
    "We went to the {place} on Sunday and it was shut.",
    "I disagree: the {part} matters more than the {thing}.",
    "Mine has done ten years without a new {part}.",
)


TALK_OF = {
    "news": Talk(
        EN_TITLES,
        EN_SENTENCES,
        (
            "bus line",
            "market hall",
            "footbridge",
            "town clock",
            "night ferry",
            "reading room",
            "swimming bath",
            "tram stop",
        ),
        ("timetable", "roof", "ticket gate", "east door", "signal", "railing", "waiting room"),
        ("harbour", "old mill", "north gate", "town hall", "park", "station square"),
    ),
    "repair": Talk(
        EN_TITLES,
        EN_SENTENCES,
        (
            "sewing machine",
            "record player",
            "bicycle hub",
            "film camera",
            "wall clock",
            "soldering iron",
            "lathe",
            "valve radio",
        ),
        (
            "belt",
            "spring",
            "shutter",
            "bearing",
            "power switch",
            "capacitor",
            "drive wheel",
            "dial",
        ),
        ("workshop", "flea market", "scrap yard", "hardware shop", "library of things"),
    ),
    "night": Talk(
        EN_TITLES,
        EN_SENTENCES,
        (
            "ghost story",
            "long novel",
            "radio play",
            "crime series",
            "poetry book",
            "diary",
            "sea tale",
            "translation",
        ),
        (
            "ending",
            "second chapter",
            "narrator",
            "preface",
            "last page",
            "cover",
            "letter in the middle",
        ),
        ("night train", "late café", "bookshop", "lighthouse", "attic", "library"),
    ),
    "trade": Talk(
        (
            "出一台{thing}，{part}有点旧",
            "求购{thing}，{place}附近面交",
            "{thing}的{part}坏了还能卖吗",
            "九成新{thing}转让",
            "收一个{part}，配{thing}用",
            "{place}面交的{thing}，大家看看值不值",
            "闲置{thing}，可以换书",
        ),
        (
            "{part}换过一次，其他都是原装的。",
            "{place}附近可以面交，周末也行。",
            "价格可以再商量，诚心要的来。",
            "请问{thing}还在吗？",
            "这个{part}单买不便宜。",
            "上周在{place}看到一台一样的。",
            "帮顶一下，东西不错。",
            "已经出了，谢谢大家。",
            "能不能发一张{part}的照片？",
            "用了两年，没有修过。",
            "我也想收一台{thing}。",
        ),
        ("显示器", "自行车", "机械键盘", "电饭锅", "相机", "台灯", "吉他", "折叠桌"),
        ("支架", "电源线", "键帽", "镜头盖", "坐垫", "开关", "包装盒"),
        ("南门", "图书馆", "地铁口", "操场", "菜市场", "江边"),
    ),
    "study": Talk(
        (
            "{thing}的{part}怎么复习？",
            "求一份{thing}笔记",
            "{place}还有空位吗",
            "{thing}作业第三题讨论",
            "有人一起学{thing}吗",
            "{thing}的{part}总是看不懂",
            "考完{thing}的感想",
        ),
        (
            "我觉得先把{part}弄清楚比较好。",
            "老师说{part}不会考。",
            "可以去{place}问一下助教。",
            "谢谢，终于明白了。",
            "这一步的推导我也没看懂。",
            "建议看第二遍再做题。",
            "{place}晚上人少，适合看书。",
            "我有一份{thing}的笔记，晚点发上来。",
            "换一个思路，从{part}开始想。",
            "明天下午一起讨论吧。",
            "感谢分享，收藏了。",
        ),
        (
            "线性代数",
            "概率论",
            "英语写作",
            "编译原理",
            "大学物理",
            "有机化学",
            "古代汉语",
            "统计学",
        ),
        ("第三章", "证明题", "例题", "公式", "实验报告", "期末范围", "阅读材料"),
        ("自习室", "图书馆三楼", "东教学楼", "答疑室", "咖啡馆"),
    ),
    "trips": Talk(
        (
            "周末去{place}，还差两个人",
            "{place}的{thing}怎么样",
            "记一次{place}的{thing}",
            "{place}一日路线",
            "带孩子去{place}合适吗",
            "求推荐适合{thing}的地方",
            "{thing}要带什么{part}",
        ),
        (
            "早上七点集合，记得带{part}。",
            "{place}上周下过雨，路有点滑。",
            "报名，加我一个。",
            "中午在{place}吃饭，很实惠。",
            "我们走了五个小时，不算累。",
            "{thing}的人不多，风景很好。",
            "有车的同学可以拼一下。",
            "{part}在山下可以租。",
            "下次一起去吧。",
            "照片晚上发，今天累坏了。",
        ),
        ("徒步", "骑行", "露营", "看日出", "钓鱼", "爬山", "划船"),
        ("雨衣", "帐篷", "水壶", "头灯", "登山杖", "干粮"),
        ("西山", "湿地公园", "老码头", "水库", "竹海", "古镇", "海边"),
    ),
}


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


NAME = "Riverside forum 河畔论坛"
THREADS_A_PAGE, POSTS_A_PAGE = 25, 20
MENU = '<a href="/">Home 首页</a> <a href="/about">About 关于</a> <a href="/login">Log in 登录</a>'
LOGIN = (
    '<form action="/login" method="post"><label>User name <input'
    ' name="user"></label><label>Password <input type="password"'
    ' name="password"></label><button>Log in</button></form>'
)


class ForumPages:
    """Answers requests for the forum's paths, with the posts up to the time that `clock()`
    returns."""

    def __init__(self, forum: Forum, clock: Callable[[], datetime]) -> None:
        self.forum, self.clock = forum, clock

    def __call__(self, path: str) -> Answer | None:
        """Returns the page at a path with query; None if there is none."""
        parts = urlsplit(path)
        kind, _slash, number = parts.path.strip("/").partition("/")
        page = parse_qs(parts.query).get("page", ["1"])[0]
        at = int(page) if page.isdecimal() else 0
        with self.forum.lock:
            self.forum.until(self.clock())
            if kind == "board" and number.isdecimal():
                board = next((board for board in BOARDS if board.number == int(number)), None)
                body = self._list(board, at) if board is not None else None
            elif kind == "topic" and number.isdecimal():
                thread = self.forum.threads.get(int(number))
                body = self._thread(thread, at) if thread is not None else None
            else:
                return self._other(parts.path)
        return Answer(body) if body is not None else None

    def _other(self, path: str) -> Answer | None:
        if path == "/":
            return Answer(self._index())
        if path == "/about":
            return Answer(
                _page(
                    "About 关于",
                    "<h1>About</h1><p>A made-up forum for the demonstration. Times are UTC+8.</p>",
                )
            )
        if path == "/login":
            return Answer(_page("Log in 登录", f"<h1>Log in</h1>{LOGIN}"))
        if path.startswith("/user/"):
            name = escape(unquote(path.removeprefix("/user/")))
            return Answer(_page(name, f"<h1>{name}</h1><p>Writes here now and then.</p>"))
        return None

    def _index(self) -> str:
        rows = []
        for board in BOARDS:
            mine = [
                thread
                for thread in self.forum.threads.values()
                if thread.board.number == board.number
            ]
            last = max(mine, key=lambda thread: thread.last)
            rows.append(
                '<tr><td class="forum"><a class="forumtitle"'
                f' href="/board/{board.number}">{escape(board.name)}</a><p>{escape(board.about)}'
                f"</p></td><td"
                f' class="num">{len(mine)}</td><td'
                f' class="num">{sum(len(thread.posts) for thread in mine)}</td><td class="last"><a'
                f' href="/topic/{last.number}">{escape(last.title)}</a> by'
                f" {escape(last.posts[-1].author)} {_time(last.last)}</td></tr>"
            )
        head = "<tr><th>Forum</th><th>Topics</th><th>Posts</th><th>Last post</th></tr>"
        return _page("Index", f'<h1>{NAME}</h1><table class="forums">{head}{"".join(rows)}</table>')

    def _list(self, board: Board, number: int) -> str | None:
        threads = self.forum.of_board(board.number)
        shown = threads[max(0, number - 1) * THREADS_A_PAGE : number * THREADS_A_PAGE]
        if not shown:
            return None
        head = "<tr><th>Topic</th><th>Replies</th><th>Last post</th></tr>"
        table = f'<table class="topics">{head}{"".join(_row(thread) for thread in shown)}</table>'
        crumbs = f'<div class="crumbs"><a href="/">{NAME}</a> &raquo; {escape(board.name)}</div>'
        pager = _pager(f"/board/{board.number}", number, -(-len(threads) // THREADS_A_PAGE))
        return _page(
            board.name, f"{crumbs}<h1>{escape(board.name)}</h1>{table}{pager}", board.language
        )

    def _thread(self, thread: Thread, number: int) -> str | None:
        shown = thread.posts[max(0, number - 1) * POSTS_A_PAGE : number * POSTS_A_PAGE]
        if not shown:
            return None
        here = f"/topic/{thread.number}"
        posts = "".join(
            f'<article class="post" id="p{post.number}"><header>by {_user(post.author)}'
            f' <a href="{here}?page={number}#p{post.number}">{_time(post.posted)}</a></header>'
            f'<div class="content"><p>{escape(post.text)}</p></div></article>'
            for post in shown
        )
        board = thread.board
        crumbs = (
            f'<div class="crumbs"><a href="/">{NAME}</a> &raquo; <a'
            f' href="/board/{board.number}">{escape(board.name)}</a></div>'
        )
        pager = _pager(here, number, -(-len(thread.posts) // POSTS_A_PAGE))
        return _page(
            thread.title, f"{crumbs}<h1>{escape(thread.title)}</h1>{posts}{pager}", board.language
        )


def _row(thread: Thread) -> str:
    pin = '<span class="icon sticky" title="Sticky">Sticky:</span> ' if thread.pinned else ""
    first, last = thread.posts[0], thread.posts[-1]
    return (
        f'<tr class="topic"><td>{pin}<a class="topictitle"'
        f' href="/topic/{thread.number}">{escape(thread.title)}</a><br>by'
        f' {_user(first.author)}</td><td class="replies">{len(thread.posts) - 1}</td><td'
        f' class="lastpost">by {_user(last.author)} {_time(thread.last)}</td></tr>'
    )


def _user(name: str) -> str:
    return f'<a class="username" href="/user/{quote(name)}">{escape(name)}</a>'


def _pager(base: str, number: int, pages: int) -> str:
    if pages < 2:
        return ""
    links = [
        f"<strong>{n}</strong>" if n == number else f'<a href="{base}?page={n}">{n}</a>'
        for n in range(1, pages + 1)
    ]
    if number < pages:
        links.append(f'<a rel="next" href="{base}?page={number + 1}">Next</a>')
    return f'<div class="pagination">Page {number} of {pages} {" ".join(links)}</div>'


def _time(at: datetime) -> str:
    local = at.astimezone(ZONE)
    return f'<time datetime="{local.isoformat()}">{local:%Y-%m-%d %H:%M}</time>'


def _page(title: str, body: str, language: str = "en") -> str:
    return frame(f"{title} - {NAME}", "zh-CN" if language == "zh" else "en", body, MENU)
