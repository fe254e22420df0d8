"""Runs the notebook of the guide cell by cell against a running server: it loads a forum's posts
and draws their delays."""

from __future__ import annotations

import ast
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from crawlmgr.access import tokens
from forums.models import Board, Post, Thread
from tests.crawlmgr.admin.rows import site

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "posts.ipynb"
BEGAN = datetime(2026, 3, 1, 0, 0, tzinfo=UTC)
OLD, LATER, WAITED_HOURS = 5, 48, 0.5


@pytest.fixture
def forum(db: None) -> int:
    """A forum with posts from before its first visit, and two days of posts that were fetched half
    an hour after they were written."""
    made = site(1)
    board = Board.objects.create(site=made, name="b", key="b", url="http://x.example/b")
    thread = Thread.objects.create(
        site=made, board=board, key="t", url="http://x.example/t", title="t", first_seen=BEGAN
    )
    old = [(BEGAN - timedelta(days=n + 1), BEGAN) for n in range(OLD)]
    new = [
        (BEGAN + timedelta(hours=2 + n), BEGAN + timedelta(hours=2 + n + WAITED_HOURS))
        for n in range(LATER)
    ]
    Post.objects.bulk_create(
        Post(
            thread=thread, key=f"p{n}", author="作者", text="=text", posted=posted, first_seen=seen
        )
        for n, (posted, seen) in enumerate([*old, *new])
    )
    return made.pk


def _run(source: str, names: dict[str, Any]) -> Any:
    """Runs a cell; returns the value of its last line, as a notebook shows it."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), NOTEBOOK.name, "exec"), names)  # noqa: S102 - our own text
    return (
        eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names)  # noqa: S307
        if last is not None
        else None
    )


@pytest.mark.django_db(transaction=True)
def test_all_cells_run_and_show_what_the_database_holds(
    forum: int, live_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, _row = tokens.make("notebook", "viewer", now=datetime.now(UTC))
    for name, value in (
        ("CRAWL_MANAGER", live_server.url),
        ("CRAWL_SITE", str(forum)),
        ("TOKEN", text),
    ):
        monkeypatch.setenv(name, value)
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {}
    shown = [_run("".join(cell["source"]), names) for cell in cells if cell["cell_type"] == "code"]
    assert len(names["posts"]) == OLD + LATER and len(names["lately"]) == LATER
    summary = next(one for one in shown if getattr(one, "name", "") == "hours")
    assert summary["count"] == LATER and summary["mean"] == summary["90%"] == pytest.approx(
        WAITED_HOURS
    )
    [figure] = [one for one in shown if type(one).__name__ == "Figure"]
    assert list(figure.data[0].y) == pytest.approx([WAITED_HOURS] * LATER)
    assert int(shown[-1]["count"].sum()) == LATER
