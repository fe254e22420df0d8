"""Doubts about how a forum is read: recorded with their reason, and removed when they no longer
hold or are dismissed by a user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db.models import F

from forums.discovery import structures
from forums.models import Board, Doubt, Site, Thread, Visit
from forums.visits import threads
from forums.visits.incremental import VisitState

# a claim of the model that fails is recorded as a doubt only if it was tested in at least this many
# cases
FEWEST = 3
HOLDS = 0.8
# A visit compares the reply counts in lists with the posts that it reads. It contradicts the counts
# if they agree for less than this share of the threads, and at least FEWEST_OF_VISIT threads were
# compared.
CONTRADICTED = 0.5
FEWEST_OF_VISIT = 5


def note(
    site_id: int,
    code: str,
    subject: str,
    detail: Mapping[str, Any],
    now: datetime,
    board_id: int | None = None,
) -> Doubt:
    """Records a doubt about how a forum is read, and returns it. A site has one for each reason
    (`code`) and `subject`, the thing concerned, such as a board's id; a second call updates it. A
    dismissed doubt stays dismissed until its `detail` (the figures) changes."""
    fresh = {"board_id": board_id, "detail": dict(detail), "since": now, "seen": now}
    doubt, made = Doubt.objects.get_or_create(
        site_id=site_id, code=code, subject=subject[:300], defaults=fresh
    )
    if not made:
        changed = {} if doubt.detail == dict(detail) else {"settled_at": None, "settled_by": None}
        Doubt.objects.filter(pk=doubt.pk).update(
            detail=dict(detail), seen=now, times=F("times") + 1, **changed
        )
    return doubt


def gone(site_id: int, code: str, subjects: Iterable[str] | None = None) -> None:
    """Deletes the site's doubts (`Doubt`) with this reason `code` whose subject is in `subjects`;
    all of them if it is None."""
    rows = Doubt.objects.filter(site_id=site_id, code=code)
    (rows.filter(subject__in=list(subjects)) if subjects is not None else rows).delete()


def settle(doubt_id: int, now: datetime, user: Any = None) -> bool:
    """Dismisses a doubt, because the operator says that the reading is right; False if the doubt no
    longer exists or was dismissed before."""
    doubt = (
        Doubt.objects.select_related("site").filter(pk=doubt_id, settled_at__isnull=True).first()
    )
    if doubt is None:
        return False
    Doubt.objects.filter(pk=doubt.pk).update(
        settled_at=now, settled_by=user if user is not None and user.pk else None
    )
    structures.record_event(
        doubt.site, "doubt_settled", f"{doubt.code} {doubt.subject}", now=now, user=user
    )
    return True


def of_model(site: Site, now: datetime) -> None:
    """Records the doubts about a newly learned model of a site, and deletes earlier doubts that no
    longer apply. There is a doubt for each assumption of the model that fails in too many tested
    cases, and for each board that was found but not read.
    """
    lessons = site.structure.get("lessons") or ()
    failing = {
        one["claim"]: one
        for one in lessons
        if one["of"] >= FEWEST and one["kept"] < HOLDS * one["of"]
    }
    for claim, one in failing.items():
        note(site.pk, "lesson", claim, {"kept": one["kept"], "of": one["of"]}, now)
    gone(site.pk, "lesson", [one["claim"] for one in lessons if one["claim"] not in failing])
    unread = {one["url"]: one for one in site.structure.get("unread") or ()}
    Doubt.objects.filter(site=site, code="board_unread").exclude(
        subject__in=[url[:300] for url in unread]
    ).delete()
    for url, one in unread.items():
        note(site.pk, "board_unread", url, {"name": one["name"], "reason": one["reason"]}, now)


def after_visit(board: Board, state: VisitState, now: datetime) -> bool:
    """Records the doubts that arise from a visit of a board, and in how many of its threads the
    list's count agreed with the posts read. Returns True if the visit must not count as complete:
    at least FEWEST_OF_VISIT threads were compared, and less than the share CONTRADICTED of the
    counts agreed. Rows or posts left out by the page reader do not matter here, because some are
    left out on many pages that are read correctly."""
    subject = str(board.pk)
    for code in ("rows_left_out", "posts_left_out"):
        if code in state.doubts:
            note(board.site_id, code, subject, {"pages": state.doubts[code]}, now, board.pk)
        elif state.pages_read:
            gone(board.site_id, code, [subject])
    kept, of = state.counts_agreeing
    if of:
        _add(board.site_id, "replies", kept, of, now)
    contradicted = of >= FEWEST_OF_VISIT and kept < CONTRADICTED * of
    if contradicted:
        note(board.site_id, "counts_differ", subject, {"kept": kept, "of": of}, now, board.pk)
    elif of:
        gone(board.site_id, "counts_differ", [subject])
    return contradicted


def contradicted(visit_id: int | None) -> bool:
    """Tells whether most threads compared in a visit contradict the site model's rule that relates
    the reply count in a list to the number of posts. False if the visit does not exist, the rule is
    unconfirmed, or too few threads were compared.
    """
    visit = Visit.objects.filter(pk=visit_id).select_related("board__site").first()
    if visit is None:
        return False
    kept, of = VisitState.from_json(visit.state).counts_agreeing
    held = [
        one for one in visit.board.site.structure.get("lessons") or () if one["claim"] == "replies"
    ]
    held = [one for one in held if one["of"] >= FEWEST and one["kept"] >= HOLDS * one["of"]]
    return bool(held) and of >= FEWEST_OF_VISIT and kept < CONTRADICTED * of


def compare(visit: Visit, thread: Thread, complete: bool) -> None:
    """Compares the number of stored posts of a thread with that in its row, and counts the result
    in the visit's state. A page that was read incompletely is noted as doubtful unless the numbers
    agree."""
    state = VisitState.from_json(visit.state)
    agrees = threads.agrees(thread, visit.board.site.structure.get("counts_posts"))
    if agrees is None and complete:
        return
    if agrees is not None:
        state.counts_agreeing = [state.counts_agreeing[0] + agrees, state.counts_agreeing[1] + 1]
    if not complete and not agrees:
        state.doubt("posts_left_out")
    visit.state = state.to_json()
    Visit.objects.filter(pk=visit.pk).update(state=visit.state)


def _add(site_id: int, claim: str, kept: int, of: int, now: datetime) -> None:
    """Adds the result of one visit for a claim (it held in `kept` of `of` threads) to the evidence
    from all visits since the model was learned."""
    site = Site.objects.only("evidence").get(pk=site_id)
    before = site.evidence.get(claim) or {"kept": 0, "of": 0}
    told = {
        "kept": before["kept"] + kept,
        "of": before["of"] + of,
        "at": now.isoformat(),
        "last": [kept, of],
    }
    Site.objects.filter(pk=site_id).update(evidence={**site.evidence, claim: told})
