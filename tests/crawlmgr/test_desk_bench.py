"""`bench desk` measures every address, or reports the reason why it does not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from django.urls import URLResolver, get_resolver

from tests.benches.desk import desk
from tests.benches.desk.bulk import BIG, Sizes


def _named(patterns: list[Any], space: str = "") -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _named(
                pattern.url_patterns, f"{space}{pattern.namespace}:" if pattern.namespace else space
            )
        elif pattern.name:
            yield f"{space}{pattern.name}".removeprefix("admin:")


def test_every_address_is_asked_for_or_has_a_reason() -> None:
    found = list(desk.places(Sizes(**BIG, now=datetime(2026, 1, 1, tzinfo=UTC))))
    labels = {label: (address, why) for label, address, why in found}
    assert set(_named(get_resolver().url_patterns)) <= set(labels)
    assert all(bool(address) or bool(why) for address, why in labels.values())
    asked = [label for label, (address, why) in labels.items() if address and not why]
    assert {
        "healthz",
        "metrics",
        "index",
        "forum",
        "run",
        "topic-search?q=crawler",
        "auth_user_change",
    } <= set(asked)
    assert len(asked) > 100
    assert {why for label, (_address, why) in labels.items() if label.startswith("run-")} == {
        desk.ONLY_SENT
    }
