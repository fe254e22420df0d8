"""A board: its visits, its threads and its charts."""

from __future__ import annotations

from datetime import UTC, datetime

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from crawlmgr.admin.rooms import page, room
from crawlmgr.reads.status import all_paused
from forums import reads
from forums.admin import charts
from forums.admin.add import INTERVALS
from forums.models import Board
from forums.reads.patterns import seen
from forums.reads.upcoming import of_board


@room("forums/board/<int:pk>/", "board", "forums.view_board")
def board_page(request: HttpRequest, pk: int) -> HttpResponse:
    """One board; `visits=1` in the address pages through its visits, else its threads are paged."""
    board = Board.objects.select_related("site", "parent").defer("site__structure").filter(pk=pk).first()
    if board is None:
        raise Http404(_("There is no such board."))
    now, query = datetime.now(UTC), request.GET.dict()
    only_visits = bool(query.get("visits"))
    threads = None if only_visits else reads.threads(board, query)
    first_page = not (query.get("after") or query.get("before") or "last" in query)
    visits = reads.visits(board, query if only_visits else {}, 50 if only_visits else 6) if only_visits or first_page else None
    context = {
        "board": board,
        "site": board.site,
        "now": now,
        "due": of_board(board, now, hold=all_paused()),
        "threads": threads,
        "visits": visits,
        "only_visits": only_visits,
        "zone": reads.zone(board.site),
        "intervals": INTERVALS,
        "run": next(iter(reads.active_runs([board.site_id])), None),
        "charts": [*charts.hourly(board, now), charts.board_by_day(board, now), charts.board_visits(board)] if first_page else [],
        "seen": seen(board) if first_page else [],
    }
    trail = [(_("Forums"), reverse("admin:forums")), (board.site.name, reverse("admin:forum", args=[board.site_id]))]
    if board.parent is not None:
        trail.append((board.parent.name, reverse("admin:board", args=[board.parent_id])))
    return page(request, "forums/board.html", context, title=board.name, item=f"board:{board.site_id}.{board.pk}", trail=trail)
