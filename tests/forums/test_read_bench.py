"""`bench read --leave-out`: trains on folds, prints all tables, and reuses the scores that it
stored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import call_command

from tests.forums.boards import NOW
from tests.forums.markup_pages import write
from tests.training.reader import fit as fitting
from tests.training.reader import stored
from tests.training.reader.pages import saved_pages

SMALL = fitting.Shape(4, 3, 0.3)
KEPT = 14  # approximate number of generated pages that the fixture keeps in its folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("LINKS", "BODIES", "KIND", "WORTH", "DOUBT", "CUT"):
        monkeypatch.setattr(fitting, name, SMALL)
    monkeypatch.setattr(fitting, "ROUNDS", 2)
    made = tmp_path / "pages"
    write(made)
    lines = (made / "pages.csv").read_text(encoding="utf-8").splitlines()
    step = len(lines) // KEPT
    (made / "pages.csv").write_text("\n".join([lines[0], *lines[1::step]]), encoding="utf-8")
    return made


@pytest.mark.slow
def test_every_table_is_printed_and_kept_scores_are_used(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (
        "bench",
        "read",
        "--data",
        str(folder),
        "--leave-out",
        "engine",
        "--keep",
        str(tmp_path / "scores.npz"),
    )
    call_command(*words, "--json")
    first = json.loads(capsys.readouterr().out)
    assert first["leave_out"] == "engine" and first["seconds"] > 0 and not first["stored_scores"]
    assert set(first["macro"]) >= {"kind", "recall", "precision", "all_right", "silent"}
    call_command(*words)
    told = capsys.readouterr().out
    assert f"{first['macro']['recall']:.3f}" in next(
        line for line in told.splitlines() if line.startswith("macro ")
    )
    assert (
        "macro index" in told and "confidence from" in told and "expected calibration error" in told
    )
    assert "scores of the first stage from the file" in told


@pytest.mark.slow
def test_scores_of_other_pages_or_of_another_recipe_are_not_used(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = fitting.samples_of(list(saved_pages(folder))[:6], NOW, "engine")
    file = tmp_path / "scores.npz"
    assert not stored.load_scores(samples, file)
    fitting.first_stage(samples)
    stored.store(samples, file)
    given = [sample.given["links"].copy() for sample in samples]
    for sample in samples:
        sample.given.clear()
    assert stored.load_scores(samples, file)
    assert all(
        (one == sample.given["links"]).all() for one, sample in zip(given, samples, strict=True)
    )
    assert not stored.load_scores(samples[:5], file)
    monkeypatch.setattr(fitting, "ROUNDS", 3)
    assert not stored.load_scores(samples, file)
