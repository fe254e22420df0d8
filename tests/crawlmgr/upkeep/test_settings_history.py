"""History of settings: which changes are recorded, which can be undone, and presets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from crawlmgr.models import SettingsChange, SettingsPreset
from crawlmgr.upkeep import settings_history as control

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 5, 1, tzinfo=UTC)


def note(
    before: dict[str, object], after: dict[str, object], target: int = 1, days: int = 0
) -> SettingsChange | None:
    return control.note("topic", target, before, after, now=NOW + timedelta(days=days))


def test_differences_go_through_nested_values() -> None:
    found = control.differences(
        {"a": 1, "b": {"c": [1], "d": 2}}, {"a": 1, "b": {"c": [1, 2]}, "e": None}
    )
    assert found == [(("b", "c"), [1], [1, 2]), (("b", "d"), 2, None)]


def test_nothing_is_noted_where_nothing_differs() -> None:
    assert note({"a": 1}, {"a": 1}) is None and not SettingsChange.objects.exists()


def test_undo_goes_back_step_by_step() -> None:
    note({"a": 1}, {"a": 2})
    note({"a": 2}, {"a": 3, "b": 1})
    note({"x": 1}, {"x": 2}, target=2)
    assert control.undo("topic", 1, {"a": 3, "b": 1}, now=NOW) == {"a": 2}
    assert control.undo("topic", 1, {"a": 2}, now=NOW) == {"a": 1}
    with pytest.raises(ValueError, match="no change to undo"):
        control.undo("topic", 1, {"a": 1}, now=NOW)
    assert [change.undone for change in control.history("topic", 1)] == [NOW, NOW]
    last = control.last("topic", 2)
    assert last is not None and last.after == {"x": 2}


def test_a_change_after_an_undo_is_the_one_to_undo_next() -> None:
    note({"a": 1}, {"a": 2})
    control.undo("topic", 1, {"a": 2}, now=NOW)
    note({"a": 1}, {"a": 9})
    assert control.undo("topic", 1, {"a": 9}, now=NOW) == {"a": 1}


def test_nothing_is_undone_where_the_settings_were_changed_in_another_way() -> None:
    note({"a": 1}, {"a": 2})
    with pytest.raises(ValueError, match="changed otherwise"):
        control.undo("topic", 1, {"a": 5}, now=NOW)
    last = control.last("topic", 1)
    assert last is not None and last.undone is None


def test_only_the_newest_changes_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "MAX_KEPT", 3)
    for n in range(6):
        note({"a": n}, {"a": n + 1})
    note({"a": 0}, {"a": 1}, target=2)
    assert [change.after["a"] for change in control.history("topic", 1)] == [6, 5, 4]
    assert len(control.history("topic", 2)) == 1
    control.forget("topic", 1)
    assert not control.history("topic", 1) and control.history("topic", 2)


def test_presets_are_kept_replaced_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    control.keep_preset("topic:dolphin", "  my   own ", {"alpha": 1.0}, now=NOW)
    control.keep_preset("topic:dolphin", "my own", {"alpha": 0.5}, now=NOW)
    control.keep_preset("topic:shark", "my own", {"gamma": 0.5}, now=NOW)
    assert [(one.name, one.values) for one in control.presets("topic:dolphin")] == [
        ("my own", {"alpha": 0.5})
    ]
    for name, says in (("  ", "needs a name"), ("x" * 61, "at most 60 characters")):
        with pytest.raises(ValueError, match=says):
            control.keep_preset("topic:dolphin", name, {}, now=NOW)
    monkeypatch.setattr(control, "MAX_PRESETS", 1)
    with pytest.raises(ValueError, match="presets already"):
        control.keep_preset("topic:dolphin", "another", {}, now=NOW)
    assert control.drop_preset("topic:dolphin", "my own") and not control.drop_preset(
        "topic:dolphin", "my own"
    )
    assert SettingsPreset.objects.count() == 1
