"""Lists of threads and of posts: columns and filters. They can only be sorted by columns with a
database index."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from django.utils.html import format_html
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin import tables, tags
from crawlmgr.admin.tables import Choice, Column, Rows, Table, falling
from crawlmgr.admin.tree import address
from crawlmgr.database.paging import Order
from forums.models import Post, Site, Thread

# a search for words in title and author covers the newest threads of a list up to this number, no
# older ones
SEARCHED = 20_000
MAX_SITES = 500
SHOWN_OF_A_POST = 160  # characters of a post's text that the list shows
OLDEST = Order(("id",), downwards=False)


def _title(thread: Thread) -> str:
    gone = thread.gone_at is not None
    marks = ""
    if thread.pinned:
        sign = (
            '<span class="material-symbols-outlined soft" title="{}"'
            ' aria-hidden="true">keep</span> '
        )
        marks = format_html(sign, _("pinned"))
    name, look = thread.title or thread.url, "gone" if gone else ""
    link = format_html(
        '<a href="{}" class="{}">{}</a>', address("admin:thread", thread.pk), look, name
    )
    told = (
        format_html(' <span class="badge bad">{}</span>', _("deleted on the site")) if gone else ""
    )
    if thread.pending:
        why = _("A change was detected and has not been fetched yet.")
        told = format_html(
            '{} <span class="badge warn" title="{}">{}</span>', told, why, _("to be fetched")
        )
    return format_html("{}{}{}", marks, link, told)


def _board(thread: Thread) -> str:
    return format_html(
        '<a href="{}">{}</a>', address("admin:board", thread.board_id), thread.board.name
    )


def _site(thread: Thread) -> str:
    return format_html(
        '<a href="{}">{}</a>', address("admin:forum", thread.site_id), thread.site.name
    )


def _time(thread: Thread, name: str) -> str:
    return tags.ago(getattr(thread, name))


def _when(name: str, title: Any, by: Order | None, *, usual: bool = True) -> Column:
    """Returns a column of the thread list for the thread's time `name`. `by`: the order in which it
    can be sorted, None if the field has no database index; `usual`: shown unless the user hides it.
    """
    return Column(
        name,
        title,
        lambda thread: getattr(thread, name),
        partial(_time, name=name),
        by,
        look="nowrap",
        usual=usual,
    )


def _count(name: str, title: Any, by: Order | None) -> Column:
    """Returns a column of the thread list for the numeric field `name` of a thread. `by`: the order
    in which it can be sorted, None if the field has no database index."""
    return Column(
        name,
        title,
        lambda thread: getattr(thread, name),
        lambda thread: tags.number(getattr(thread, name)),
        by,
        look="num",
    )


BY = {
    "last_reply": falling("last_reply", nullable=True),
    "replies": falling("replies", nullable=True),
    "posts": falling("posts"),
    "created": falling("created", nullable=True),
    "first_seen": tables.NEWEST,
}
"""Orders of threads; each has an index for the threads of one board."""


def _sites() -> list[tuple[str, str]]:
    names = Site.objects.order_by("name").values_list("pk", "name")[:MAX_SITES]
    return [("", _("All forums")), *((str(pk), name) for pk, name in names)]


def _states() -> list[tuple[str, str]]:
    return [
        ("", _("All states")),
        ("pending", _("To be fetched")),
        ("gone", _("Deleted on the site")),
    ]


def _in_state(rows: Rows, code: str) -> Rows:
    return (
        tables.few(rows, pending=True)
        if code == "pending"
        else tables.few(rows, gone_at__isnull=False)
    )


STATE = Choice("show", gettext_lazy("State"), _states, _in_state)
SITE = Choice(
    "site", gettext_lazy("Forum"), _sites, lambda rows, code: rows.filter(site_id=int(code))
)


def _columns(sorted_by: Collection[str], *, in_board: bool) -> tuple[Column, ...]:
    def by(name: str) -> Order | None:
        return BY[name] if name in sorted_by else None

    places = (
        ()
        if in_board
        else (
            Column(
                "board", gettext_lazy("Board"), lambda thread: thread.board.name, _board, look="one"
            ),
            Column(
                "site", gettext_lazy("Forum"), lambda thread: thread.site.name, _site, look="one"
            ),
        )
    )
    return (
        Column(
            "thread",
            gettext_lazy("Thread"),
            lambda thread: thread.title or thread.url,
            _title,
            look="title",
        ),
        *places,
        Column("author", gettext_lazy("Author"), lambda thread: thread.author, look="one"),
        _count("replies", gettext_lazy("Replies"), by("replies")),
        _count("posts", gettext_lazy("Posts stored"), by("posts")),
        _when("last_reply", gettext_lazy("Last reply"), by("last_reply")),
        _when("created", gettext_lazy("Created"), by("created")),
        _when("first_seen", gettext_lazy("First seen"), by("first_seen"), usual=False),
        _when("fetched_at", gettext_lazy("Fetched"), None, usual=False),
        Column("url", gettext_lazy("Address"), lambda thread: thread.url, look="one", usual=False),
    )


OF_BOARD = Table(
    "board-threads",
    _columns(list(BY), in_board=True),
    "last_reply",
    tables.newest_with(SEARCHED, "last_reply", "title", "author"),
    (STATE,),
    span="last_reply",
)
ALL = Table(
    "threads",
    _columns(("last_reply", "first_seen"), in_board=False),
    "last_reply",
    tables.newest_with(SEARCHED, "last_reply", "title", "author"),
    (SITE, STATE),
)


def _of_thread(value: Callable[[Thread], Any]) -> Callable[[Post], Any]:
    return lambda post: value(post.thread)


def _excerpt(post: Post) -> str:
    text = Truncator(" ".join(post.text.split())).chars(SHOWN_OF_A_POST) or post.post_id or "–"
    return format_html(
        '<a href="{}#p{}">{}</a>', address("admin:thread", post.thread_id), post.pk, text
    )


POSTS = Table(
    "posts",
    (
        Column("text", gettext_lazy("Post"), lambda post: post.text, _excerpt, look="title one"),
        Column("author", gettext_lazy("Author"), lambda post: post.author, look="one"),
        Column(
            "posted",
            gettext_lazy("Posted"),
            lambda post: post.posted,
            lambda post: tags.ago(post.posted),
            falling("posted", nullable=True),
            look="nowrap",
        ),
        Column(
            "thread", gettext_lazy("Thread"), _of_thread(lambda thread: thread.title), look="one"
        ),
        Column(
            "board",
            gettext_lazy("Board"),
            _of_thread(lambda thread: thread.board.name),
            _of_thread(_board),
            look="one",
        ),
        Column(
            "site",
            gettext_lazy("Forum"),
            _of_thread(lambda thread: thread.site.name),
            _of_thread(_site),
            look="one",
        ),
        Column(
            "first_seen",
            gettext_lazy("Fetched"),
            lambda post: post.first_seen,
            lambda post: tags.ago(post.first_seen),
            tables.NEWEST,
            look="nowrap",
        ),
        Column("url", gettext_lazy("Address"), lambda post: post.url, look="one", usual=False),
    ),
    "first_seen",
    span="posted",
)
