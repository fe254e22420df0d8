"""Admin views that list boards, threads and posts over all forums; of one board with its visits,
threads and charts; and of one thread with its posts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from crawlmgr.admin import tables, tags, words
from crawlmgr.admin.table_page import OF_PAGES, table_page
from crawlmgr.admin.tables import Action, Choice, Column, Rows, Table, by, falling
from crawlmgr.admin.tree import address
from crawlmgr.admin.views import admin_view, number, numbers, page, post_view
from crawlmgr.database.paging import Order
from crawlmgr.exports import downloads
from crawlmgr.runs import runs
from crawlmgr.workers.nodes import all_paused
from forums.admin import charts
from forums.admin.add import INTERVALS
from forums.models import Board, Policy, Post, Site, Thread
from forums.plans import next_visits, plans
from forums.sites import reads, sites
from forums.sites.alarms import why_late
from forums.sites.reads import BoardRow, late_boards, of_board, shown_counts, with_paused_visits

# a search for words in title and author covers the newest threads of a list up to this number, no
# older ones
SEARCHED = 20_000


MAX_SITES = 500


SHOWN_OF_A_POST = 160  # characters of a post's text that the list shows


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


def _thread_site(thread: Thread) -> str:
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


def _thread_states() -> list[tuple[str, str]]:
    return [
        ("", _("All states")),
        ("pending", _("To be fetched")),
        ("gone", _("Deleted on the site")),
    ]


def _threads_in_state(rows: Rows, code: str) -> Rows:
    return (
        tables.few(rows, pending=True)
        if code == "pending"
        else tables.few(rows, gone_at__isnull=False)
    )


STATE = Choice("show", gettext_lazy("State"), _thread_states, _threads_in_state)


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
                "site",
                gettext_lazy("Forum"),
                lambda thread: thread.site.name,
                _thread_site,
                look="one",
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
            _of_thread(_thread_site),
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


MAY = "forums.change_board"


MAX_TICKED = 500


def _name(row: BoardRow) -> str:
    return format_html('<a href="{}">{}</a>', address("admin:board", row.board.pk), row.board.name)


def _site(row: BoardRow) -> str:
    return format_html(
        '<a href="{}">{}</a>', address("admin:forum", row.board.site_id), row.board.site.name
    )


def _next(row: BoardRow) -> str:
    return render_to_string("forums/due.html", {"due": row.due})


def _last(row: BoardRow) -> str:
    return render_to_string("forums/last_visit.html", {"last": row.last})


def _ended(row: BoardRow) -> str:
    visit = row.visit
    if visit is None:
        return tags.NOTHING
    if visit.finished is None and row.halted:
        return format_html('<span class="badge warn">{}</span>', _("paused"))
    if visit.finished is None:
        return format_html('<span class="badge on">{}</span>', _("running"))
    look = "" if visit.complete else "warn"
    return format_html(
        '<span class="{}" title="{}">{}</span>',
        look,
        words.say(visit.stopped_by),
        words.brief(visit.stopped_by),
    )


def _figure(name: str, title: Any, *, usual: bool = True) -> Column:
    """Returns a column for the board's counter `name`, sortable with the largest first; `usual`:
    shown unless the user hides it."""

    def value(row: BoardRow) -> int:
        return int(getattr(row.board, name))

    return Column(
        name,
        title,
        value,
        lambda row: tags.number(value(row)),
        falling(name),
        look="num",
        usual=usual,
    )


def _of_visit(name: str, title: Any) -> Column:
    """Returns a column for the counter `name` of the board's last visit, empty if the board was
    never visited."""

    def value(row: BoardRow) -> int | None:
        return None if row.visit is None else int(getattr(row.visit, name))

    return Column(
        name, title, value, lambda row: tags.number(value(row)), look="num", usual=name == "new"
    )


def _states() -> list[tuple[str, str]]:
    return [
        ("", _("All states")),
        ("late", _("Late")),
        ("never", _("Never visited")),
        ("out", _("Excluded")),
    ]


def _in_state(rows: Rows, code: str) -> Rows:
    if code == "late":
        return late_boards(rows, datetime.now(UTC))
    return rows.filter(last_visit__isnull=True) if code == "never" else rows.filter(enabled=False)


TABLE = Table(
    "boards",
    (
        Column(
            "name",
            gettext_lazy("Board"),
            lambda row: row.board.name,
            _name,
            by("name"),
            look="title one",
        ),
        Column("site", gettext_lazy("Forum"), lambda row: row.board.site.name, _site, look="one"),
        _figure("threads", gettext_lazy("Threads read")),
        _figure("posts", gettext_lazy("Posts")),
        Column(
            "interval",
            gettext_lazy("Fixed interval"),
            lambda row: row.board.interval_seconds,
            lambda row: tags.duration(row.board.interval_seconds),
            by("interval_seconds"),
            look="num",
        ),
        Column(
            "deadline",
            gettext_lazy("Maximum wait (h)"),
            lambda row: row.board.deadline_hours,
            look="num",
            usual=False,
        ),
        Column(
            "next_visit",
            gettext_lazy("Next visit"),
            lambda row: row.due.at,
            _next,
            by("next_visit", nullable=True),
            look="nowrap",
        ),
        Column(
            "last_visit",
            gettext_lazy("Last visit"),
            lambda row: row.last.complete,
            _last,
            falling("complete_at", nullable=True),
            look="nowrap",
        ),
        _of_visit("new", gettext_lazy("New")),
        _of_visit("updated", gettext_lazy("Updated")),
        _of_visit("unchanged", gettext_lazy("Unchanged")),
        Column(
            "ended",
            gettext_lazy("End reason"),
            lambda row: words.say(row.visit.stopped_by) if row.visit else None,
            _ended,
            look="one",
        ),
        Column("url", gettext_lazy("Address"), lambda row: row.board.url, look="one", usual=False),
    ),
    "name",
    tables.words_in("name"),
    (SITE, Choice("show", gettext_lazy("State"), _states, _in_state)),
    (
        Action("crawl", gettext_lazy("Crawl now"), "play_arrow", "crawlmgr.add_run"),
        Action("interval", gettext_lazy("Set interval"), "timer", MAY),
        Action("off", gettext_lazy("Exclude"), "event_busy", MAY),
        Action("on", gettext_lazy("Include"), "event_available", MAY),
    ),
    "boards-do",
    "forums/interval_field.html",
)


NEEDED = {one.do: one.permission for one in TABLE.actions}


@post_view("forums/boards/do/", "boards-do", "crawlmgr.add_run")
def do(request: HttpRequest) -> HttpResponse:
    """Carries out the submitted action on the selected boards: visit now, set the interval, include
    in or exclude from scheduled visits."""
    action, usual = request.POST.get("do", ""), reverse("admin:boards")
    ticked = numbers(request.POST.getlist("row"))[:MAX_TICKED]
    of_site: dict[int, list[int]] = {}
    for pk, site in (
        Board.objects.filter(pk__in=ticked).order_by("site_id", "pk").values_list("pk", "site_id")
    ):
        of_site.setdefault(site, []).append(pk)
    seconds = _seconds(request) if action == "interval" else 0
    if action not in NEEDED or not of_site or seconds is None:
        messages.warning(
            request, _("Choose an interval.") if seconds is None else _("Nothing is selected.")
        )
        return tables.to_list(request, usual)
    if not request.user.has_perm(NEEDED[action]):
        raise PermissionDenied
    done = sum(
        _carry_out(request, action, site, boards, seconds) for site, boards in of_site.items()
    )
    text = ngettext("Applied to %(count)s board.", "Applied to %(count)s boards.", done)
    tables.add_messages(request, done, len(ticked), text)
    return tables.to_list(request, usual)


def _seconds(request: HttpRequest) -> int | None:
    """Returns the submitted interval in seconds; None if it is missing or out of range."""
    found = numbers([request.POST.get("interval", "")])
    return (
        found[0] if found and sites.SHORTEST_SECONDS <= found[0] <= sites.LONGEST_SECONDS else None
    )


def _carry_out(
    request: HttpRequest, action: str, site: int, boards: Sequence[int], seconds: int
) -> int:
    """Carries out an action (`action`: "crawl", "interval", "on" or "off") on boards of one forum;
    `seconds` is the new interval. Returns the number of boards, 0 if the action was refused."""
    now = datetime.now(UTC)
    try:
        if action == "crawl":
            sites.crawl_now(site, board_ids=boards, now=now, user=request.user)
            return len(boards)
        with plans.budget_following_intervals(site, now):
            if action == "interval":
                sites.set_interval(boards, seconds, now)
            else:
                sites.set_enabled(boards, action == "on")
    except (runs.Busy, ValueError):
        return 0
    return len(boards)


LIST = "desk/list.html"


def _trail(site: int | None) -> list[tuple[str, str]]:
    """Returns the breadcrumb of a list (links to the pages above), with the forum by which the list
    is filtered."""
    found = Site.objects.only("id", "name").filter(pk=site).first() if site else None
    way = [(_("Forums"), reverse("admin:forums"))]
    return (
        [*way, (found.name, reverse("admin:forum", args=[found.pk]))] if found is not None else way
    )


def _may_begin(request: HttpRequest) -> bool:
    """Tells whether there is no forum yet and the user may add one. If so, empty lists offer a link
    to add a forum."""
    return bool(request.user.has_perm("forums.add_site")) and not Site.objects.exists()


@admin_view("forums/boards/", "boards", "forums.view_board")
def boards(request: HttpRequest) -> HttpResponseBase:
    """Lists the boards of all forums, or of one."""
    now, site = datetime.now(UTC), number(request.GET.get("site", ""))
    context = {
        "intervals": INTERVALS,
        "downloads": downloads.choices(["boards"], site=site),
        "begin": partial(_may_begin, request),
        "empty": _("No board is known yet. Add a forum and its boards are found."),
    }
    return table_page(
        request,
        LIST,
        TABLE,
        reads.all_boards(),
        context,
        prepare=lambda rows: reads.with_visits(rows, now),
        key=lambda row: row.board.pk,
        title=_("Boards"),
        item="boards",
        trail=_trail(site),
    )


@admin_view("forums/threads/", "threads", "forums.view_thread")
def threads(request: HttpRequest) -> HttpResponseBase:
    """Lists the threads of all forums, or of one, most recent replies first."""
    site = number(request.GET.get("site", ""))
    context = {
        "downloads": downloads.choices(["threads"], site=site),
        "begin": partial(_may_begin, request),
        "empty": _("No threads are stored yet. They appear after the first visit to a forum."),
    }
    return table_page(
        request,
        LIST,
        ALL,
        reads.all_threads(),
        context,
        title=_("Threads"),
        item="threads",
        trail=_trail(site),
    )


@admin_view("forums/posts/", "posts", "forums.view_thread")
def posts(request: HttpRequest) -> HttpResponseBase:
    """Lists the posts of all forums, most recently fetched first."""
    empty = _("No posts are stored yet. They appear after the first visit to a forum.")
    context = {
        "downloads": downloads.choices(["posts"]),
        "empty": empty,
        "begin": partial(_may_begin, request),
    }
    return table_page(
        request,
        LIST,
        POSTS,
        reads.all_posts(),
        context,
        title=_("Posts"),
        item="posts",
        trail=_trail(None),
    )


@admin_view("forums/thread/<int:pk>/", "thread", "forums.view_thread")
def thread_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows the posts of a thread in order, with times in the site's zone."""
    thread = (
        Thread.objects.select_related("site", "board")
        .defer("signature", "site__structure", "board__unfinished")
        .filter(pk=pk)
        .first()
    )
    if thread is None:
        raise Http404(_("There is no such thread."))
    context = {
        "thread": thread,
        "missing": [
            {"number": int(number), "url": url, "why": words.say(reason)}
            for number, (url, reason) in thread.missing.items()
        ],
        "slice": reads.posts(thread, request.GET.dict()),
        "zone": thread.site.zone,
        "keep": "",
    }
    trail = [
        (_("Forums"), reverse("admin:forums")),
        (thread.site.name, reverse("admin:forum", args=[thread.site_id])),
        (thread.board.name, reverse("admin:board", args=[thread.board_id])),
    ]
    item = f"board:{thread.site_id}.{thread.board_id}"
    return page(request, "forums/thread.html", context, title=thread.title, item=item, trail=trail)


@admin_view("forums/board/<int:pk>/", "board", "forums.view_board")
def board_page(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Shows one board with its threads; with `visits=1` in the query string its visits instead,
    page by page."""
    board = (
        Board.objects.select_related("site", "parent")
        .defer("site__structure")
        .filter(pk=pk)
        .first()
    )
    if board is None:
        raise Http404(_("There is no such board."))
    trail = [
        (_("Forums"), reverse("admin:forums")),
        (board.site.name, reverse("admin:forum", args=[board.site_id])),
    ]
    if board.parent is not None:
        trail.append((board.parent.name, reverse("admin:board", args=[board.parent_id])))
    frame: dict[str, Any] = {
        "title": board.name,
        "item": f"board:{board.site_id}.{board.pk}",
        "trail": trail,
    }
    if request.GET.get("visits"):
        context = {
            **_about(board),
            "visits": reads.visits(board, request.GET.dict(), 50),
            "only_visits": True,
        }
        return page(request, "forums/board.html", context, **frame)
    first = not any(name in request.GET for name in OF_PAGES)
    zone = board.site.zone
    return table_page(
        request,
        "forums/board.html",
        OF_BOARD,
        reads.threads(board),
        lambda: _shown(board, first),
        zone=zone,
        **frame,
    )


def _about(board: Board) -> dict[str, Any]:
    now = datetime.now(UTC)
    due = of_board(board, now, hold=all_paused(), visits_paused=with_paused_visits([board.site_id]))
    plan = next_visits.of_site(board.site_id)
    return {
        "board": board,
        "by_plan": plan is not None and plan.policy != Policy.INTERVAL,
        "site": board.site,
        "now": now,
        "last": reads.LastVisit(board.complete_at, board.last_visit),
        "due": due,
        "late": why_late(board, now) if due.late else [],
        "zone": board.site.zone,
        "intervals": INTERVALS,
        "run": next(iter(reads.active_runs([board.site_id])), None),
    }


def _shown(board: Board, first: bool) -> dict[str, Any]:
    """Returns the template data of a board's page other than its list of threads. Charts and recent
    visits are included only for the first page of that list (`first`)."""
    found = {
        **_about(board),
        "empty": _("No thread is stored yet. “Crawl now” starts the first visit."),
    }
    if not first:
        return found
    now = found["now"]
    drawn = [
        *charts.hourly(board, now),
        charts.board_by_day(board, now),
        charts.board_visits(board),
    ]
    return {
        **found,
        "visits": reads.visits(board, {}, 6),
        "charts": drawn,
        "seen": shown_counts(board),
    }
