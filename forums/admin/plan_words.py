"""Texts for the reason why a visit is planned for its time; services store codes and figures
only."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Sum
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from crawlmgr.admin.tags import duration
from forums.models import Plan, PlanDay, Policy

REASONS = {
    "asked": gettext_noop("requested by a user"),
    "new": gettext_noop("the plan is new"),
    "day": gettext_noop("a new day"),
    "policy": gettext_noop("the policy was changed"),
    "visits_per_day": gettext_noop("the number of visits was changed"),
    "theta": gettext_noop("the weight of replies was changed"),
    "history_days": gettext_noop("the length of the history was changed"),
    "half_life_days": gettext_noop("the half-life was changed"),
    "bins": gettext_noop("the parts of the day were changed"),
    "active": gettext_noop("the plan was switched on or off"),
    "importance": gettext_noop("importances were changed"),
    "hours": gettext_noop("the hours of work were changed"),
    "boards": gettext_noop("other boards"),
    "deadline": gettext_noop("deadlines were changed"),
    "history": gettext_noop("the first posts have been fetched"),
    "visits": gettext_noop("a user changed planned visits"),
}


def reason(code: str) -> str:
    """Returns the text for the code of the reason why a day was planned again."""
    return _(REASONS[code]) if code in REASONS else code


def sentence(day: PlanDay | None, plan: Plan) -> str:
    """Returns one sentence on the policy's effect: how long posts are expected to wait on average,
    and how long they would if all boards were visited equally often; "" if these figures are not
    known."""
    weight = day.board_days.aggregate(total=Sum("weight"))["total"] if day is not None else None
    if day is None or not weight or day.expected_delay is None or day.era_delay is None:
        return ""
    waits, equal = (
        duration(3600.0 * value / weight) for value in (day.expected_delay, day.era_delay)
    )
    values = {"waits": waits, "equal": equal, "visits": day.visits_per_day}
    if plan.policy == Policy.ERA:
        return (
            _("With %(visits)s equal visits a day posts are expected to wait %(equal)s on average.")
            % values
        )
    text = _(
        "Posts are expected to wait %(waits)s on average, %(equal)s with equal visits at the same"
        " cost (%(visits)s a day)."
    )
    return text % values


def why(code: str, figures: dict[str, Any], zone: ZoneInfo, at: datetime, person: str = "") -> str:
    """Returns one sentence that says why a visit is planned, with times in the plan's zone.
    figures: the stored values for the text; at: time of the visit; person: name of the user who
    scheduled it."""
    values = {
        "previous": _clock(figures.get("previous"), zone, at),
        "hours": _number(figures.get("hours_since")),
        "rate": _number(figures.get("per_hour")),
        "from": _hour(figures.get("from_hour")),
        "to": _hour(figures.get("to_hour")),
        "waiting": _number(figures.get("waiting")),
        "person": person,
    }
    text = _sentence(code, bool(figures.get("previous"))) % values
    return (
        _("%(reason)s (no history yet: average rhythm of public forums)") % {"reason": text}
        if figures.get("prior")
        else text
    )


def _sentence(code: str, visited: bool) -> str:
    if code == "rhythm":
        if visited:
            return _(
                "because %(rate)s posts an hour are expected from %(from)s to %(to)s o'clock, and"
                " the last visit was at %(previous)s"
            )
        return _(
            "because %(rate)s posts an hour are expected from %(from)s to %(to)s o'clock, and there"
            " was no visit before"
        )
    if code == "even":
        if visited:
            return _("evenly spaced: %(hours)s h after the last visit (%(previous)s)")
        return _("evenly spaced; there was no visit before")
    if code == "waiting":
        return _(
            "because about %(waiting)s posts waited, %(hours)s h after the visit at %(previous)s"
        )
    if code == "expected":
        if visited:
            return _(
                "expected: about %(waiting)s posts waiting by then, %(hours)s h after the visit at"
                " %(previous)s"
            )
        return _("expected: the board has not been visited yet")
    if code == "later":
        return _("expected: about %(waiting)s posts should have arrived since the visit before")
    if code == "person":
        return _("scheduled by %(person)s")
    return code.replace("%", "%%")


def _clock(text: Any, zone: ZoneInfo, at: datetime) -> str:
    """Returns a stored time as a time of day in `zone`; with its date if that is not the date of
    the visit (`at`)."""
    if not text:
        return ""
    moment = datetime.fromisoformat(str(text)).astimezone(zone)
    return (
        f"{moment:%H:%M}"
        if moment.date() == at.astimezone(zone).date()
        else f"{moment:%m-%d %H:%M}"
    )


def _number(value: Any) -> str:
    return (
        "–"
        if value is None
        else f"{float(value):.2g}"
        if float(value) < 10
        else f"{float(value):.0f}"
    )


def _hour(value: Any) -> str:
    return "–" if value is None else f"{float(value) % 24:.0f}"
