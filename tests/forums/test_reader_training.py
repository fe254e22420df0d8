"""Training the reader: scores against true content, labels, and a small training from pages to
weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from django.core.management.base import CommandError

from forums.reading import to_json
from forums.reading.document import Page
from forums.reading.learned.assemble import row_set
from forums.reading.learned.two_readings import TwoReadings
from forums.reading.page import read_page
from tests.forums.boards import NOW
from tests.forums.markup_pages import write
from tests.training import train_reader
from tests.training.reader import fit as fitting
from tests.training.reader.labels import body_labels, link_labels
from tests.training.reader.pages import Saved, parsed, saved_pages
from tests.training.reader.report import reliability
from tests.training.reader.scoring import address_key, by_group, same_time, tally

TRUTH = {
    "kind": "threadlist",
    "base_url": "http://forum.example/b/7",
    "records": [
        {
            "url": "/t/1",
            "title": "One",
            "author": "anna",
            "replies": 3,
            "last_reply_iso": "2026-01-02T10:15",
        },
        {
            "url": "/t/2",
            "title": "Two",
            "author": "ben",
            "replies": 0,
            "last_reply_iso": "2026-01-02",
        },
    ],
    "optional_urls": ["/t/3"],
    "next": None,
}
RIGHT = [
    {
        "url": "http://forum.example/t/1/",
        "title": "One",
        "author": "Anna",
        "replies": 3,
        "last_reply": "2026-01-02T10:15:00Z",
    },
    {
        "url": "http://forum.example/t/2",
        "title": "Two",
        "author": "ben",
        "replies": 0,
        "last_reply": "2026-01-02T23:00:00Z",
    },
]


def test_a_right_reading_scores_full() -> None:
    found = tally(TRUTH, {"kind": "threadlist", "records": RIGHT, "next": None, "confidence": 1.0})
    assert found.is_perfect and found.silent is False
    assert found.right == found.asked


def test_optional_rows_count_neither_way_and_others_are_wrong() -> None:
    optional, wrong = {"url": "http://forum.example/t/3"}, {"url": "http://forum.example/t/4"}
    found = tally(TRUTH, {"kind": "threadlist", "records": [*RIGHT, optional, wrong]})
    assert (found.found, found.given) == (2, 3)


def test_a_page_cut_short_is_silent_unless_it_is_doubted() -> None:
    cut = {"kind": "threadlist", "records": RIGHT[:1], "confidence": 0.9}
    assert tally(TRUTH, cut).silent
    assert not tally(TRUTH, {**cut, "complete": False}).silent
    assert not tally(TRUTH, {**cut, "confidence": 0.4}).silent
    assert tally(TRUTH, None).silent


def test_one_wrong_field_makes_a_record_not_all_right() -> None:
    found = tally(TRUTH, {"kind": "threadlist", "records": [{**RIGHT[0], "replies": 4}, RIGHT[1]]})
    assert (found.right["all_right"], found.right["replies"], found.right["times"]) == (1, 1, 2)


def test_posts_are_met_by_their_texts() -> None:
    posts = [
        {"author": "anna", "text_start": "Hello everybody here"},
        {"author": "ben", "text_start": "No, not everybody is"},
    ]
    truth = {"kind": "thread", "base_url": "http://forum.example/t/1", "records": posts}
    read = [
        {"author": "ben", "text": "No, not everybody is here."},
        {"author": None, "text": "anna: Hello everybody here and there"},
    ]
    found = tally(truth, {"kind": "thread", "records": read})
    assert (found.found, found.given, found.right["authors"]) == (2, 2, 1)


def test_addresses_and_times_are_compared_by_what_they_mean() -> None:
    assert (
        address_key("https://forum.example:443/t/1/?sid=5&b=2&a=1#p3", TRUTH)
        == "forum.example/t/1?a=1&b=2"
    )
    assert same_time("2026-01-02T08:15", [], "2026-01-02T10:15:00+02:00")
    assert not same_time("2026-01-02T08:15", [], "2026-01-02T08:16:00Z")


def test_every_engine_counts_the_same() -> None:
    full = tally(TRUTH, {"kind": "threadlist", "records": RIGHT})
    none = tally(TRUTH, None)
    assert by_group([("a", full), ("a", full), ("a", full), ("b", none)])["macro"]["recall"] == 0.5


def test_calibration_is_the_distance_of_said_and_seen() -> None:
    found = reliability(np.asarray([0.95, 0.95, 0.95, 0.95]), np.asarray([1.0, 1.0, 1.0, 0.0]))
    assert found["expected_calibration_error"] == pytest.approx(0.2)
    assert found["sure_perfect"] == 0.75


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drawn")
    write(folder)
    return folder


def test_truth_of_drawn_pages_names_links_that_are_on_them(drawn: Path) -> None:
    for saved in list(saved_pages(drawn))[:40]:
        if saved.truth["kind"] == "threadlist":
            labels = link_labels(parsed(saved, NOW).links, saved.truth)
            assert (labels == 1).sum() == len({record["url"] for record in saved.truth["records"]})


def test_truth_of_drawn_threads_begins_texts_that_are_on_them(drawn: Path) -> None:
    pages = [saved for saved in saved_pages(drawn) if saved.engine.startswith("random-thread-")]
    assert len(pages) >= 90
    for saved in pages[::4]:
        second = TwoReadings(parsed(saved, NOW), None)
        labels = body_labels(second.page, second.bodies, saved.truth, None)
        assert (labels == 1).sum() == len(saved.truth["records"]), saved.file


def test_what_a_list_is_worth_falls_with_rows_missed_and_rows_that_are_none() -> None:
    rows = "".join(
        f'<tr><td><a href="/topic/{at}-a-{at}">Title {at}</a></td><td>{at}</td></tr>'
        for at in range(1, 9)
    )
    html = f"<table>{rows}</table><p><a href='/help/a'>Help</a> <a href='/help/b'>More help</a></p>"
    truth = {
        "kind": "threadlist",
        "base_url": "http://forum.example/f/7",
        "records": [{"url": f"/topic/{at}-a-{at}", "title": f"Title {at}"} for at in range(1, 9)],
    }
    saved = Saved(Path("f.html"), "http://forum.example/f/7", "drawn", "drawn", truth, True)
    page = Page(html, saved.url, NOW)
    sample = fitting.Sample(saved, TwoReadings(page, None), np.zeros(0), np.zeros(0), "drawn")
    threads = [link for link in page.links if "topic" in link.url]
    qualities = [
        fitting.quality_of(sample, 0, made)
        for links in (threads, threads[:4], page.links)
        if (made := row_set(page, links))
    ]
    assert qualities[0] == 1.0 and 0 < qualities[1] < qualities[2] < 1.0


def test_a_title_that_leads_off_the_site_is_the_one_to_learn() -> None:
    html = """<p><a href="http://elsewhere.example/a">A matter</a> <a href="/item?id=7">5 comments\
</a></p>"""
    truth = {
        "kind": "threadlist",
        "base_url": "http://forum.example/",
        "records": [{"url": "/item?id=7", "title": "A matter"}],
    }
    assert link_labels(Page(html, "http://forum.example/", NOW).links, truth).tolist() == [1, -1]


@pytest.mark.slow
def test_training_twice_gives_the_same_weights(
    drawn: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    small = fitting.Shape(4, 3, 0.3)
    for name in ("LINKS", "BODIES", "KIND", "WORTH", "DOUBT", "CUT"):
        monkeypatch.setattr(fitting, name, small)
    monkeypatch.setattr(fitting, "ROUNDS", 2)
    pages = [saved for saved in saved_pages(drawn) if "/en-" in str(saved.file)][::4]
    files = []
    for at in range(2):
        weights, outcomes = fitting.fit(fitting.samples_of(pages, NOW, "engine"))
        files.append(tmp_path / f"{at}.npz")
        weights.save(files[-1])
    assert files[0].read_bytes() == files[1].read_bytes()
    assert sum(outcome.tally.kind for outcome in outcomes) > 0.5 * len(outcomes)


def test_a_folder_without_pages_is_told_in_one_line(tmp_path: Path) -> None:
    options = {
        "data": str(tmp_path),
        "other": "",
        "more": "",
        "leave_out": "engine",
        "workers": 1,
        "keep": "",
        "out": str(tmp_path / "w.npz"),
    }
    with pytest.raises(CommandError, match="No such file"):
        train_reader.run(options)


def test_a_reading_says_how_sure_it_is() -> None:
    document = to_json(
        read_page("<html><body><p>Nothing here</p></body></html>", "http://forum.example/", NOW)
    )
    assert document["kind"] == "other" and 0 <= document["confidence"] <= 1
    assert isinstance(document["complete"], bool) and isinstance(document["doubts"], list)
