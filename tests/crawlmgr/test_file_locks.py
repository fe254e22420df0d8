"""File locks as seen from other processes."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from crawlmgr import file_access


def test_a_lock_is_held_until_its_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert not file_access.is_held(path) and not path.exists()
    with path.open("a") as file:
        assert not file_access.is_held(path)
        fcntl.flock(file, fcntl.LOCK_EX)
        assert file_access.is_held(path)
    assert not file_access.is_held(path)


def test_without_locks_in_the_file_system_nobody_can_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    (tmp_path / "file").touch()
    monkeypatch.setattr(fcntl, "flock", refused)
    assert file_access.is_held(tmp_path / "file")
