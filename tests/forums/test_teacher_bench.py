"""Tests `bench teacher`, which crawls sites with and without comparing related pages, on a local
site and an unreachable address."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from tests.benches.forums import teacher
from tests.site.styled_sites import served


@pytest.mark.slow
@pytest.mark.once
def test_both_sides_of_every_site_stand_in_the_table(tmp_path: Path) -> None:
    with ExitStack() as stack:
        file = served(tmp_path, ["one script"], stack)
        entries = json.loads(file.read_text(encoding="utf-8"))
        nowhere = {**entries[0], "name": "nowhere", "url": "http://127.0.0.1:9/"}
        file.write_text(json.dumps([*entries, nowhere]), encoding="utf-8")
        found = teacher.run({"sites": str(file)})
    rows = {(row["site"], row["teacher"]): row for row in found["sites"]}
    assert list(rows) == [
        ("one script", "off"),
        ("one script", "on"),
        ("nowhere", "off"),
        ("nowhere", "on"),
    ]
    with_it = rows["one script", "on"]
    for name in ("boards", "threads", "posts", "authors", "replies"):
        assert with_it[name] == with_it[f"{name}_true"] > 1, name
    assert (with_it["threads_other"], with_it["pending"], with_it["failed"]) == (0, 0, "")
    assert rows["nowhere", "on"]["posts"] == 0 and rows["nowhere", "on"]["failed"]
    text = teacher.table(found)
    assert (
        f"{with_it['posts']}/{with_it['posts_true']}" in text
        and rows["nowhere", "on"]["failed"] in text
    )


def test_a_list_of_sites_that_is_none_is_told_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "sites.json"
    file.write_text('{"name": "x"}', encoding="utf-8")
    with pytest.raises(CommandError, match="not a JSON list of name, url and truth"):
        teacher.run({"sites": str(file)})
