"""The history of settings: changes with their authors, undo of the newest change, and presets
(named sets of values).

Code that changes settings calls `note` in the same transaction, with all values before and after;
`undo` returns the values to restore. Values are mappings from names to numbers, texts, lists or
further mappings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.db import transaction

from crawlmgr.models import SettingsChange, SettingsPreset

MAX_KEPT = 200
"""Maximum number of changes kept for an object; older ones are deleted."""
MAX_PRESETS = 100
"""Maximum number of presets of one kind."""
LONGEST_NAME = 60
Values = Mapping[str, Any]


class Difference(NamedTuple):
    """One value that differs between two mappings: its path (the keys that lead to it), and the old
    and the new value; None if not set."""

    path: tuple[str, ...]
    old: Any
    new: Any


def differences(before: Values, after: Values) -> list[Difference]:
    """Returns the values that differ between two mappings, sorted by path.

    >>> differences({"a": 1, "b": {"c": 2}}, {"b": {"c": 3}, "d": 4})
    [Difference(path=('a',), old=1, new=None), Difference(path=('b', 'c'), old=2, new=3), \
Difference(path=('d',), old=None, new=4)]
    """
    old, new = dict(_flat(before)), dict(_flat(after))
    return [
        Difference(path, old.get(path), new.get(path))
        for path in sorted({*old, *new})
        if old.get(path) != new.get(path)
    ]


def note(
    kind: str, target: int, before: Values, after: Values, *, now: datetime, user: Any = None
) -> SettingsChange | None:
    """Records a change of the settings of an object (`kind` and primary key) and returns it; None
    if nothing differs. Changes beyond the newest MAX_KEPT are deleted."""
    if not differences(before, after):
        return None
    made = SettingsChange.objects.create(
        kind=kind, target=target, before=dict(before), after=dict(after), at=now, by=user
    )
    old = (
        SettingsChange.objects.filter(kind=kind, target=target)
        .order_by("-id")
        .values_list("id", flat=True)[MAX_KEPT:]
    )
    SettingsChange.objects.filter(id__in=list(old)).delete()
    return made


def history(kind: str, target: int, limit: int = 20) -> list[SettingsChange]:
    """Returns the newest changes of an object's settings, including those that were undone."""
    return list(
        SettingsChange.objects.filter(kind=kind, target=target)
        .select_related("by")
        .order_by("-id")[:limit]
    )


def last(kind: str, target: int) -> SettingsChange | None:
    """Returns the newest change that was not undone, which is the one that `undo` would revert;
    None if there is none."""
    return (
        SettingsChange.objects.filter(kind=kind, target=target, undone__isnull=True)
        .order_by("-id")
        .first()
    )


@transaction.atomic
def undo(kind: str, target: int, current: Values, *, now: datetime) -> Values:
    """Marks the newest change as undone and returns the values before it. `current` are the present
    values. Raises ValueError if there is no change, or if the present values are not the result of
    that change, because undoing it would revert a later change too."""
    change = last(kind, target)
    if change is None:
        raise ValueError("there is no change to undo")
    if differences(change.after, current):
        raise ValueError("the settings have been changed otherwise since; nothing was undone")
    if not SettingsChange.objects.filter(pk=change.pk, undone__isnull=True).update(undone=now):
        raise ValueError("the change is already undone")
    before: Values = change.before
    return before


def forget(kind: str, target: int) -> None:
    """Deletes the history of an object's settings. Called when the object is deleted."""
    SettingsChange.objects.filter(kind=kind, target=target).delete()


def presets(kind: str) -> list[SettingsPreset]:
    """Returns the presets of a kind of settings, by name."""
    return list(SettingsPreset.objects.filter(kind=kind).order_by("name"))


def keep_preset(
    kind: str, name: str, values: Values, *, now: datetime, user: Any = None
) -> SettingsPreset:
    """Saves values as a preset; an existing one of the same kind and name is replaced. Raises
    ValueError with a one-line message."""
    name = " ".join(name.split())
    if not name:
        raise ValueError("a preset needs a name")
    if len(name) > LONGEST_NAME:
        raise ValueError(f"a preset's name has at most {LONGEST_NAME} characters")
    known = SettingsPreset.objects.filter(kind=kind)
    if not known.filter(name=name).exists() and known.count() >= MAX_PRESETS:
        raise ValueError(f"there are {MAX_PRESETS} presets already")
    found, _ = SettingsPreset.objects.update_or_create(
        kind=kind, name=name, defaults={"values": dict(values), "made": now, "by": user}
    )
    return found


def drop_preset(kind: str, name: str) -> bool:
    """Deletes a preset. Returns False if there is none of that name."""
    return bool(SettingsPreset.objects.filter(kind=kind, name=name).delete()[0])


def _flat(values: Values, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    found: list[tuple[tuple[str, ...], Any]] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            found += _flat(value, (*path, name))
        else:
            found.append(((*path, name), value))
    return found
