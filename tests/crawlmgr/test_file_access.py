"""Only the owner has access to the data folder: new files, and files left open by older
versions."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from crawlmgr import file_access
from tests.serving import ROOT


def _modes(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): oct(stat.S_IMODE(path.lstat().st_mode))
        for path in [folder, *sorted(folder.rglob("*"))]
    }


def _start(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a command of the project under the umask that most systems set."""
    program = [sys.executable, "manage.py", *words]
    return subprocess.run(
        program,
        cwd=ROOT,
        env=environment,
        umask=0o022,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )


@pytest.mark.slow
@pytest.mark.once
def test_what_a_command_makes_is_its_owners_only_and_an_old_installation_is_mended_once(
    installed: dict[str, str],
) -> None:
    data = Path(installed["CRAWLMGR_DATA"])
    data.mkdir(exist_ok=True)
    _start(installed, "export", "runs", "--out", str(data / "exports" / "runs.csv"))
    for path in [data, *data.rglob("*")]:  # sets the permissions that older versions left
        path.chmod(0o755 if path.is_dir() else 0o644)
    (data / "archive" / "old.warc.gz").write_bytes(b"x")
    told = _start(installed, "export", "runs", "--out", str(data / "exports" / "more.csv")).stderr
    assert told.count("could be read by others; now only their owner can.") == 1
    assert {"exports/runs.csv", "exports/more.csv", "archive/old.warc.gz"} <= set(_modes(data))
    assert {
        name: mode for name, mode in _modes(data).items() if mode not in ("0o700", "0o600")
    } == {}
    assert (
        "others"
        not in _start(
            installed, "export", "runs", "--out", str(data / "exports" / "runs.csv")
        ).stderr
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "data"
    (made / "archive" / "deep").mkdir(parents=True)
    for name in ("secret.key", "crawlmgr.sqlite3", "archive/deep/x.warc.gz"):
        (made / name).write_text("x")
    for path in [made, *made.rglob("*")]:
        path.chmod(0o775 if path.is_dir() else 0o664)
    return made


def test_links_are_neither_followed_nor_changed(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    (outside / "other").write_text("x")
    outside.chmod(0o755)
    (outside / "other").chmod(0o644)
    (folder / "linked").symlink_to(outside)
    (folder / "archive" / "file").symlink_to(outside / "other")
    assert file_access.restrict(folder) == 6
    assert _modes(outside) == {".": "0o755", "other": "0o644"}
    assert file_access.restrict(folder) == 0


def test_one_open_file_is_enough_to_look_everywhere(folder: Path) -> None:
    file_access.restrict(folder)
    (folder / "crawlmgr.sqlite3").chmod(0o640)
    (folder / "archive" / "deep" / "x.warc.gz").chmod(0o604)
    assert file_access.restrict(folder) == 2


def test_a_folder_with_other_things_in_it_or_a_home_stays_as_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _modes(folder)
    (folder / "secret.key").rename(folder / "key")
    assert file_access.restrict(folder) == 0
    (folder / "key").rename(folder / "secret.key")
    monkeypatch.setenv("HOME", str(folder / "archive"))
    assert file_access.restrict(folder) == 0 and _modes(folder) == before


def test_a_database_elsewhere_is_closed_with_the_files_beside_it(tmp_path: Path) -> None:
    for name in ("x.sqlite3", "x.sqlite3-wal", "other"):
        (tmp_path / name).write_text("x")
        (tmp_path / name).chmod(0o644)
    assert file_access.restrict_database(tmp_path / "x.sqlite3") == 2
    assert stat.S_IMODE((tmp_path / "other").stat().st_mode) == 0o644


def test_what_belongs_to_another_user_is_told_in_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(path: Path, mode: int) -> None:
        raise PermissionError(1, "Operation not permitted", str(path))

    monkeypatch.setattr(Path, "chmod", refuse)
    mask = os.umask(0o077)
    file_access.secure(folder, None)
    os.umask(mask)
    told = capsys.readouterr().err
    assert (
        told.count("\n") == 1
        and "can be read by others and cannot be closed to them (Operation not permitted)" in told
    )
