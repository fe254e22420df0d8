"""Admin view of a board: its visits, threads and charts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _

from crawlmgr.admin.table_page import OF_PAGES, table_page
from crawlmgr.admin.views import admin_view, page
from crawlmgr.workers.status import all_paused
from forums import reads
from forums.admin import charts
from forums.admin.add import INTERVALS
from forums.admin.thread_table import OF_BOARD
from forums.models import Board, Policy
from forums.reads.lateness import why_late
from forums.reads.patterns import seen
from forums.reads.upcoming import of_board, with_paused_visits
from forums.services import plans


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
    zone = reads.zone(board.site)
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
    plan = plans.of_site(board.site_id)
    return {
        "board": board,
        "by_plan": plan is not None and plan.policy != Policy.INTERVAL,
        "site": board.site,
        "now": now,
        "due": due,
        "late": why_late(board, now) if due.late else [],
        "zone": reads.zone(board.site),
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
    return {**found, "visits": reads.visits(board, {}, 6), "charts": drawn, "seen": seen(board)}
