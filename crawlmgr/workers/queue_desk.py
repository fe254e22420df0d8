"""Shows django-q2's own lists of the queue in the style of the other pages, for administrators. All
are read-only, for superusers too, because a worker would execute whatever is written there. Buttons
offer the actions that `services.queue` allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django_q.admin import FailAdmin, QueueAdmin, ScheduleAdmin, TaskAdmin
from django_q.models import Failure, OrmQ, Schedule, Success

from crawlmgr.admin.forms import DeskModelAdmin
from crawlmgr.admin.site import desk_site
from crawlmgr.admin.tree import Node
from crawlmgr.workers import queue, queue_rows

PAGES = (
    (OrmQ, QueueAdmin, "ormq"),
    (Schedule, ScheduleAdmin, "schedule"),
    (Failure, FailAdmin, "failure"),
    (Success, TaskAdmin, "success"),
)


class ReadOnly:
    """Admin mixin: rows can only be viewed. `has_work_permission` decides who may use the
    buttons."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_work_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("django_q.delete_ormq")


def _button(title: Any, work: Callable[[Iterable[Any]], int]) -> Callable[..., None]:
    def act(_admin: Any, request: HttpRequest, rows: QuerySet[Any]) -> None:
        count = work(rows.values_list("pk", flat=True))
        done = ngettext("Applied to %(count)d task.", "Applied to %(count)d tasks.", count) % {
            "count": count
        }
        messages.success(request, done)

    act.__name__ = work.__name__
    return admin.action(permissions=["work"], description=title)(act)


def free(rows: Iterable[int]) -> int:
    return queue_rows.free(rows, datetime.now(UTC))


BUTTONS: dict[Any, list[Callable[..., None]]] = {
    OrmQ: [
        _button(gettext_lazy("Let a worker take it now"), free),
        _button(gettext_lazy("Take out of the queue"), queue_rows.drop),
    ],
    Schedule: [],
    Failure: [
        _button(gettext_lazy("Put back into the queue"), queue.again),
        _button(gettext_lazy("Remove"), queue.forget),
    ],
    Success: [_button(gettext_lazy("Remove"), queue.forget)],
}


@admin.display(description=gettext_lazy("Function"))
def _function(_admin: object, row: OrmQ) -> str:
    return queue_rows.described(row)[0]


@admin.display(description=gettext_lazy("Arguments"))
def _arguments(_admin: object, row: OrmQ) -> str:
    return queue_rows.described(row)[1]


def _name_in_words(_admin: object, schedule: Schedule) -> str:
    """Returns the translated name of a schedule of this project; other schedules keep their own
    name."""
    own = {
        "dispatch what is due": _("start due visits and jobs"),
        "prune old rows": _("delete expired data"),
        "look for silence": _("check for silent forums"),
    }
    return own.get(schedule.name or "", schedule.name or str(schedule.pk))


def _options(model: Any, theirs: Any) -> dict[str, Any]:
    """Returns the ModelAdmin options that replace those of `theirs`, django-q2's admin class for
    `model`."""
    if model is OrmQ:
        shown = ("key", "what", "with_what", "lock")
        described = {"what": _function, "with_what": _arguments}
        return {
            "list_display": ("id", *shown),
            "fields": shown,
            "readonly_fields": shown,
            "list_filter": (),
            **described,
        }
    if model is Schedule:
        return {
            "list_filter": (),
            "list_display": ("what", "func", "schedule_type", "next_run", "last", "get_success"),
            "list_display_links": ("what",),
            "what": admin.display(description=gettext_lazy("name"), ordering="name")(
                _name_in_words
            ),
            "last": admin.display(description=gettext_lazy("Last run"))(theirs.get_last_run),
        }
    return {"list_filter": ()}


for model, theirs, _name in PAGES:
    if admin.site.is_registered(model):
        admin.site.unregister(model)
    # order of base classes: read-only first, then django-q2's class for its lists, then unfold's
    # forms and templates
    options = {**_options(model, theirs), "actions": BUTTONS[model]}
    admin.site.register(
        model, type(f"Desk{theirs.__name__}", (ReadOnly, theirs, DeskModelAdmin), options)
    )


def branch(request: HttpRequest, item: str) -> Node | None:
    """Returns the queue's branch of the tree; None for users who may not see the queue."""
    if not request.user.has_perm("django_q.view_ormq"):
        return None
    titles = {
        "ormq": _("Waiting tasks"),
        "schedule": _("Schedules"),
        "failure": _("Failed tasks"),
        "success": _("Successful tasks"),
    }
    # tasks that wait in Redis are counted on the page of workers; this list shows only rows of the
    # database
    if settings.BROKER_URL:
        del titles["ormq"]
    lists = {name: reverse(f"admin:django_q_{name}_changelist") for name in titles}
    children = tuple(Node(titles[name], url, key=f"queue:{name}") for name, url in lists.items())
    return Node(_("Queue"), children[0].url, "queue", "queue", children=children)


desk_site.add_branch(60, branch)
