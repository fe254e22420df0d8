"""Columns, filters and actions of the list of runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from crawlmgr.admin import narrowing, table_actions, tables, tags, words
from crawlmgr.admin.tables import Action, Choice, Column, Table, falling
from crawlmgr.admin.tree import address
from crawlmgr.admin.views import post_view
from crawlmgr.models import Run
from crawlmgr.reads import runs as reads
from crawlmgr.services import runs

MAY = "crawlmgr.change_run"
MAX_TICKED = 500
SHOWN = {
    "active": ("queued", "running", "paused"),
    "finished": ("finished",),
    "stopped": ("stopped",),
    "failed": ("failed",),
}


def _states() -> list[tuple[str, str]]:
    names = {
        "active": _("Active"),
        "finished": _("Finished"),
        "stopped": _("Stopped"),
        "failed": _("Failed"),
    }
    return [("", _("All states")), *names.items()]


def _kinds() -> list[tuple[str, str]]:
    return [
        ("", _("All kinds")),
        *((one, words.kind(one)) for one in (*settings.CRAWLERS, *settings.JOBS)),
    ]


def _name(run: Run) -> str:
    by = f" · {run.created_by}" if run.created_by else ""
    html = '<a href="{}" title="{}">{}</a><br><span class="soft small">{}{}</span>'
    return format_html(
        html, address("admin:run", run.pk), run.label, run.label, words.kind(run.kind), by
    )


def _number(run: Run) -> str:
    return format_html('<a href="{}">{}</a>', address("admin:run", run.pk), run.pk)


def _why(run: Run) -> str | None:
    return words.ended(run.kind, run.stopped_by) if run.stopped_by else None


def _end(run: Run) -> str:
    if not run.stopped_by:
        return tags.NOTHING
    look, whole = ("bad" if run.state == "failed" else ""), words.ended(run.kind, run.stopped_by)
    return format_html(
        '<span class="{}" title="{}">{}</span>', look, whole, words.brief(run.stopped_by)
    )


def _failed(run: Run) -> str:
    return format_html(
        '<span class="{}">{}</span>', "bad" if run.failed else "", tags.number(run.failed)
    )


def _counter(
    name: str,
    title: Any,
    *,
    by: bool = False,
    show: Callable[[Any], str] | None = None,
    usual: bool = True,
) -> Column:
    """Makes a column for the run's counter `name`. With `by` the list can be sorted by it; `show`
    formats the cell of a run (by default as a number); with `usual` false the column is hidden
    until chosen."""
    return Column(
        name,
        title,
        lambda run: getattr(run, name),
        show or (lambda run: tags.number(getattr(run, name))),
        falling(name) if by else None,
        look="num",
        usual=usual,
    )


def _took(run: Run) -> float | None:
    return (run.finished - run.started).total_seconds() if run.finished and run.started else None


TABLE = Table(
    "runs",
    (
        Column("id", "#", lambda run: run.pk, _number, tables.NEWEST, look="num"),
        Column("run", gettext_lazy("Run"), lambda run: run.label, _name, look="title one"),
        Column(
            "kind",
            gettext_lazy("Kind"),
            lambda run: run.kind,
            lambda run: words.kind(run.kind),
            look="nowrap",
            usual=False,
        ),
        Column("state", gettext_lazy("State"), lambda run: run.state, tags.state),
        _counter("fetched", gettext_lazy("Pages"), by=True),
        Column("failed", gettext_lazy("Failed"), lambda run: run.failed, _failed, look="num"),
        _counter("new", gettext_lazy("New"), by=True),
        _counter("updated", gettext_lazy("Updated")),
        _counter("unchanged", gettext_lazy("Unchanged")),
        _counter("bytes", gettext_lazy("Received"), by=True, show=lambda run: tags.size(run.bytes)),
        _counter("requests", gettext_lazy("Requests"), usual=False),
        _counter("refused", gettext_lazy("Refused"), usual=False),
        Column(
            "created",
            gettext_lazy("Created"),
            lambda run: run.created,
            lambda run: tags.ago(run.created),
            look="nowrap",
        ),
        Column(
            "finished",
            gettext_lazy("Ended"),
            lambda run: run.finished,
            lambda run: tags.ago(run.finished),
            falling("finished", nullable=True),
            look="nowrap",
        ),
        Column(
            "took",
            gettext_lazy("Took"),
            _took,
            lambda run: tags.duration(_took(run)),
            look="num",
            usual=False,
        ),
        Column("ended", gettext_lazy("End reason"), _why, _end, look="ended"),
    ),
    "id",
    narrowing.words_in("label"),
    (
        Choice(
            "show",
            gettext_lazy("State"),
            _states,
            lambda rows, code: reads.in_states(rows, SHOWN[code]),
        ),
        Choice("kind", gettext_lazy("Kind"), _kinds, lambda rows, code: rows.filter(kind=code)),
    ),
    (
        Action("pause", gettext_lazy("Pause"), "pause", MAY),
        Action("resume", gettext_lazy("Resume or try again"), "play_arrow", MAY),
        Action(
            "stop",
            gettext_lazy("Stop"),
            "stop",
            MAY,
            gettext_lazy("Stop the selected runs for good? The pages they fetched are kept."),
        ),
    ),
    "runs-do",
    span="finished",
)
VERBS: dict[str, table_actions.Verb] = {
    "pause": lambda _request, run, now: runs.pause(run.pk, now),
    "resume": lambda _request, run, now: runs.resume(run.pk, now),
    "stop": lambda _request, run, now: runs.stop(run.pk, now),
}


@post_view("runs/do/", "runs-do", MAY)
def do(request: HttpRequest) -> HttpResponse:
    """Pauses, resumes or stops the selected runs, and reports how many were in a state that does
    not allow it."""

    def success_text(count: int) -> str:
        return ngettext("Applied to %(count)s run.", "Applied to %(count)s runs.", count)

    return table_actions.carry_out(
        request, TABLE, Run.objects.only("pk"), VERBS, reverse("admin:runs"), success_text
    )
