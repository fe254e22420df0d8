"""Roles and their permissions: three user groups (viewer, operator, administrator), updated after
every migration."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.apps import apps as global_apps
from django.contrib.auth.management import create_permissions
from django.utils.translation import gettext_noop

VIEWER = gettext_noop("viewer")
OPERATOR = gettext_noop("operator")
ADMINISTRATOR = gettext_noop("administrator")
ROLES = (VIEWER, OPERATOR, ADMINISTRATOR)

CRAWLERS = frozenset({"crawlmgr", "forums", "focused", "deepweb"})
MANAGED = frozenset({"auth", "django_q"})
GRANTS: dict[
    str, dict[str, frozenset[str]]
] = {  # permitted actions (first part of a permission's name) by role and application
    VIEWER: {app: frozenset({"view"}) for app in CRAWLERS},
    OPERATOR: {app: frozenset({"view", "add", "change"}) for app in CRAWLERS},
    ADMINISTRATOR: {
        **{app: frozenset({"view", "add", "change", "delete", "open"}) for app in CRAWLERS},
        "auth": frozenset({"view", "add", "change", "delete"}),
        # nobody may add or change rows of the queue, because a worker would execute what is
        # written there
        "django_q": frozenset({"view", "delete"}),
    },
}


def grant(sender: AppConfig, using: str, apps: Any = global_apps, **kwargs: Any) -> None:
    """Called after a migration: creates the three groups and gives each exactly its permissions on
    the tables of the application `sender`.

    Viewers see everything. Operators also start, stop and add. Administrators also delete, allow
    crawls of private addresses, manage users and delete tasks from the queue."""
    if sender.label not in CRAWLERS | MANAGED:
        return
    try:
        group_model, permission_model = (
            apps.get_model("auth", "Group"),
            apps.get_model("auth", "Permission"),
        )
    except LookupError:  # the migration stopped before the tables of users were created
        return
    create_permissions(sender, verbosity=0, using=using, apps=apps)
    mine = permission_model.objects.using(using).filter(content_type__app_label=sender.label)
    by_verb: dict[str, list[Any]] = {}
    for permission in mine:
        by_verb.setdefault(permission.codename.split("_")[0], []).append(permission)
    for role, grants in GRANTS.items():
        group, _made = group_model.objects.using(using).get_or_create(name=role)
        verbs = grants.get(sender.label, frozenset())
        wanted = {permission.pk for verb in verbs for permission in by_verb.get(verb, [])}
        held = set(
            group.permissions.filter(content_type__app_label=sender.label).values_list(
                "pk", flat=True
            )
        )
        group.permissions.remove(*(held - wanted))
        group.permissions.add(*(wanted - held))
