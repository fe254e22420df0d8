"""The queue: django-q2's own pages in the desk's look, for administrators."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_q.admin import FailAdmin, QueueAdmin, ScheduleAdmin, TaskAdmin
from django_q.models import Failure, OrmQ, Schedule, Success

from crawlmgr.admin.forms import DeskModelAdmin
from crawlmgr.admin.tree import Node

PAGES = (
    (OrmQ, QueueAdmin, "ormq"),
    (Schedule, ScheduleAdmin, "schedule"),
    (Failure, FailAdmin, "failure"),
    (Success, TaskAdmin, "success"),
)



def _name_in_words(_admin: object, schedule: Schedule) -> str:
    """The project's own schedules are named in the reader's language; any other by its name."""
    own = {
        "dispatch what is due": _("dispatch what is due"),
        "prune old rows": _("prune old rows"),
        "look for silence": _("look for silence"),
    }
    return own.get(schedule.name or "", schedule.name or str(schedule.pk))


for model, theirs, _name in PAGES:
    if admin.site.is_registered(model):
        admin.site.unregister(model)
    # django-q2's class first: its lists and actions, with unfold's forms and templates under them
    options: dict[str, Any] = {"list_filter": ()}
    if model is Schedule:
        options = {
            "list_filter": ("schedule_type",),
            "list_display": ("what", *(column for column in theirs.list_display if column not in ("id", "name"))),
            "list_display_links": ("what",),
            "what": admin.display(description=gettext_lazy("name"), ordering="name")(_name_in_words),
        }
    admin.site.register(model, type(f"Desk{theirs.__name__}", (theirs, DeskModelAdmin), options))


def branch(request: HttpRequest, item: str) -> Node | None:
    """Only for who manages the queue."""
    if not request.user.has_perm("django_q.view_ormq"):
        return None
    titles = {
        "ormq": _("Waiting tasks"),
        "schedule": _("Schedules"),
        "failure": _("Failed tasks"),
        "success": _("Successful tasks"),
    }
    children = tuple(
        Node(titles[name], reverse(f"admin:django_q_{name}_changelist"), key=f"queue:{name}") for _model, _theirs, name in PAGES
    )
    return Node(_("Queue"), reverse("admin:django_q_ormq_changelist"), "queue", "queue", children=children)


admin.site.add_branch(60, branch)
