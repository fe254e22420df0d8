"""The simulation pages: files are uploaded, simulations set up, watched, stopped and exported;
permissions; a constant number of queries."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from crawlmgr import jobs
from crawlmgr.models import Run
from forums.admin.simulations import visits_of
from forums.models import EventLog, Simulation
from forums.simulation import event_logs, simulations
from tests.crawlmgr.admin.rows import EVIL, NOW, site, user
from tests.forums.test_simulations import FETCHING, SCHEDULES, csv_of

pytestmark = pytest.mark.django_db
FORM: dict[str, Any] = {
    "kind": "schedules",
    "policies": ["era", "optimal"],
    "visits_per_board": "4, 6-7",
    "history_days": "20",
    "test_days": "5",
    "theta": "0.5",
    "reading": "cyclic",
    "bins": "24",
    "min_events": "0",
    "target_hours": "1",
    "timezone": "Asia/Shanghai",
}


def stored(name: str, pieces: list[bytes], **values: Any) -> EventLog:
    return event_logs.read_if_small(event_logs.store(name, pieces, **values))


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, settings: LazySettings) -> Iterator[None]:
    settings.EVENTS_DIR = tmp_path / "events"
    with translation.override("en"):
        yield


def client_of(role: str) -> Client:
    made = Client()
    made.force_login(user(role))
    return made


def upload(name: str = "log.csv", content: bytes | None = None) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, csv_of() if content is None else content)


def log(name: str = "log.csv") -> EventLog:
    return stored(name, [csv_of()], now=NOW)


def test_an_upload_starts_a_simulation_whose_results_are_shown_and_exported() -> None:
    client = client_of("operator")
    answer = client.post("/admin/forums/simulations/new/", {**FORM, "upload": upload()})
    made = Simulation.objects.get()
    assert answer.headers["Location"] == f"/admin/forums/simulations/{made.pk}/"
    assert (
        made.setup["visits_per_board"] == [4, 6, 7]
        and made.setup["timezone"] == "Asia/Shanghai"
        and made.log.boards == 3
    )
    waiting = client.get(f"/admin/forums/simulations/{made.pk}/").content.decode()
    assert (
        "Waits for a free worker" in waiting
        and "data-live" in waiting
        and "0 of 7 steps" in waiting
    )
    assert made.run is not None
    jobs.run_slice(made.run.pk)
    live = client.get(f"/admin/forums/simulations/{made.pk}/?part=live&run=1")
    assert live.headers["X-Desk-Done"] and live.headers["X-Desk-Reload"]
    page = client.get(f"/admin/forums/simulations/{made.pk}/").content.decode()
    assert "data-live" not in page and page.count("data-chart=") == 4
    rows = list(
        csv.DictReader(
            io.StringIO(client.get(f"/admin/forums/simulations/{made.pk}.csv").content.decode())
        )
    )
    assert [(row["policy"], row["visits_per_board"]) for row in rows] == [
        (p, m) for m in "467" for p in ("era", "optimal")
    ]
    assert all(float(row["ratio_to_era"]) == 1 for row in rows if row["policy"] == "era")
    document = json.loads(client.get(f"/admin/forums/simulations/{made.pk}.json").content)
    assert (
        document["boards"] == 3
        and len(document["results"]) == 6
        and document["setup"]["theta"] == 0.5
    )
    assert client.get(f"/admin/forums/simulations/{made.pk}.xml").status_code == 404


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "Choose one event file"),
        ({"upload": b"a,b,c\n"}, "the first line is not the header"),
        ({"upload": None, "visits_per_board": "four"}, "is not a whole number"),
        ({"upload": None, "visits_per_board": "9-4"}, "the smaller number"),
        ({"upload": None, "visits_per_board": "1-300"}, "must not exceed 400"),
        ({"upload": None, "timezone": "Nowhere/Land"}, "no such time zone"),
        ({"upload": None, "policies": ["nonsense"]}, "nonsense"),
        ({"upload": None, "theta": "7"}, "less than or equal to 1"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_starts(change: dict[str, Any], said: str) -> None:
    data = {**FORM, **change}
    if "upload" in data:
        data["upload"] = upload(content=data["upload"])
    answer = client_of("operator").post("/admin/forums/simulations/new/", data)
    assert answer.status_code == 422 and said in answer.content.decode()
    assert not Simulation.objects.exists() and not Run.objects.exists()


def test_a_kept_file_and_finding_changes() -> None:
    kept, client = log(), client_of("operator")
    data = {
        "kind": "fetching",
        "log": kept.pk,
        "policies": ["bic"],
        "days": "3",
        "cycle_hours": "6",
        "timezone": "",
    }
    client.post("/admin/forums/simulations/new/", data)
    made = Simulation.objects.get()
    assert made.run is not None and made.setup["fetches"] is None
    jobs.run_slice(made.run.pk)
    page = client.get(f"/admin/forums/simulations/{made.pk}/").content.decode()
    assert "Recall by day" in page and page.count("data-chart=") == 4
    assert (
        json.loads(client.get(f"/admin/forums/simulations/{made.pk}.json").content)["days"]["bic"][
            0
        ]["day"]
        == 0
    )


def test_a_forum_without_posts_is_told() -> None:
    forum = site()
    answer = client_of("operator").post(
        "/admin/forums/simulations/new/", {**FORM, "site": forum.pk}
    )
    assert answer.status_code == 422 and "no post of the last 240 days" in answer.content.decode()


def test_stop_and_delete_ask_for_their_rights() -> None:
    made = simulations.start(log(), "schedules", SCHEDULES, now=NOW)
    viewer, operator, administrator = (
        client_of("viewer"),
        client_of("operator"),
        client_of("administrator"),
    )
    here = f"/admin/forums/simulations/{made.pk}"
    assert (
        viewer.get(f"{here}/").status_code == 200
        and viewer.get("/admin/forums/simulations/new/").status_code == 403
    )
    assert viewer.post("/admin/forums/simulations/new/", FORM).status_code == 403
    assert (
        viewer.post(f"{here}/stop/").status_code
        == operator.post(f"{here}/delete/").status_code
        == 403
    )
    assert operator.post(f"/admin/forums/simulations/logs/{made.log.pk}/delete/").status_code == 403
    assert (
        administrator.post(f"/admin/forums/simulations/logs/{made.log.pk}/delete/").status_code
        == 302
    )
    assert EventLog.objects.exists(), "a simulation is at work with it"
    assert operator.get(f"{here}/stop/").status_code == 405
    operator.post(f"{here}/stop/")
    assert Run.objects.get().state == "stopped"
    administrator.post(f"{here}/delete/")
    administrator.post(f"/admin/forums/simulations/logs/{made.log.pk}/delete/")
    assert not Simulation.objects.exists() and not EventLog.objects.exists()


def test_names_stay_text_and_an_empty_room_says_what_it_needs() -> None:
    client = client_of("viewer")
    assert "No simulation yet" in client.get("/admin/forums/simulations/").content.decode()
    made = simulations.start(log(EVIL), "fetching", FETCHING, now=NOW)
    for address in ("", f"{made.pk}/", f"{made.pk}/?part=live"):
        page = client.get(f"/admin/forums/simulations/{address}").content.decode()
        assert "<script>alert(1)" not in page and "<img src=x" not in page
    assert client.get("/admin/forums/simulations/999999/").status_code == 404


def test_lists_ask_no_more_for_many_rows_than_for_few() -> None:
    client, kept = client_of("viewer"), log()

    def grow(count: int) -> int:
        EventLog.objects.bulk_create(
            EventLog(name=f"{n}", file=f"f{EventLog.objects.count()}-{n}", added=NOW)
            for n in range(count)
        )
        Simulation.objects.bulk_create(
            Simulation(
                kind="schedules",
                log=kept,
                setup=SCHEDULES,
                created=NOW - timedelta(hours=n),
                run=Run.objects.create(kind="simulation", label="x", created=NOW),
            )
            for n in range(count)
        )
        with CaptureQueriesContext(connection) as found:
            assert client.get("/admin/forums/simulations/").status_code == 200
        return len(found)

    client.get("/admin/forums/simulations/")
    assert grow(5) >= grow(60)


def test_visits_are_read_from_lists_and_ranges() -> None:
    assert visits_of(" 4, 6-8;11,") == [4, 6, 7, 8, 11] and visits_of("3,3") == [3]


def test_the_file_field_keeps_its_name_out_of_other_fields() -> None:
    """unfold's script writes the name of a chosen file into the first text field within three
    ancestors of the file field."""
    page = client_of("operator").get("/admin/forums/simulations/new/").content.decode()
    around = page[page.index('name="upload"') :]
    assert around.index('<input type="text" hidden disabled>') < around.index('name="timezone"')


def test_a_large_upload_is_read_by_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The web server only stores the uploaded file; the worker parses it in the first step of the
    simulation's run."""
    monkeypatch.setattr(event_logs, "SMALL_BYTES", 100)
    client = client_of("operator")
    with monkeypatch.context() as patch:
        patch.setattr(event_logs, "read_events", lambda _: pytest.fail("read while a person waits"))
        answer = client.post("/admin/forums/simulations/new/", {**FORM, "upload": upload()})
    made = Simulation.objects.get()
    assert (
        answer.status_code == 302
        and event_logs.unread(made.log)
        and made.setup["start"] is None
        and made.run is not None
    )
    assert "0 of 8 steps" in client.get(f"/admin/forums/simulations/{made.pk}/").content.decode()
    assert client.get("/admin/forums/simulations/").status_code == 200
    assert jobs.run_slice(made.run.pk) == "finished"
    made.refresh_from_db()
    assert (
        (made.done, made.total, made.log.boards) == (8, 8, 3)
        and made.setup["start"]
        and len(made.result["rows"]) == 6
    )


@pytest.mark.parametrize(
    "content", [b"a,b,c\n" * 100, gzip.compress(b"board,thread,kind,ts\n" + b"b,t,new,1\n" * 5000)]
)
def test_a_large_upload_that_is_no_log_is_told_by_its_simulation(
    monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setattr(event_logs, "SMALL_BYTES", 100)
    monkeypatch.setattr(event_logs, "LARGEST_BYTES", 20_000)
    client = client_of("operator")
    client.post("/admin/forums/simulations/new/", {**FORM, "upload": upload(content=content)})
    made = Simulation.objects.get()
    assert made.run is not None and jobs.run_slice(made.run.pk) == "finished"
    made.refresh_from_db()
    assert made.problem and "\n" not in made.problem and not event_logs.path(made.log).exists()
    assert made.problem in client.get(
        f"/admin/forums/simulations/{made.pk}/"
    ).content.decode().replace("&#x27;", "'")


def test_a_file_larger_than_the_bound_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_logs, "LARGEST_BYTES", 1000)
    answer = client_of("operator").post(
        "/admin/forums/simulations/new/", {**FORM, "upload": upload()}
    )
    assert (
        answer.status_code == 422
        and "use `forum simulate` on the command line" in answer.content.decode()
    )
    assert not EventLog.objects.exists()


def test_a_broken_gzip_file_is_told_at_once() -> None:
    answer = client_of("operator").post(
        "/admin/forums/simulations/new/",
        {**FORM, "upload": upload(content=b"\x1f\x8b" + b"x" * 200)},
    )
    assert answer.status_code == 422 and "the gzip file is broken" in answer.content.decode()
    assert not EventLog.objects.exists()


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "No board has enough events before 2020-01-01."), ("zh-hans", "在 2020-01-01 之前")],
)
def test_why_a_simulation_is_not_possible_is_said_in_the_readers_language(
    language: str, said: str
) -> None:
    log = EventLog.objects.create(name="log", file="log.csv", added=NOW)
    made = Simulation.objects.create(
        log=log,
        kind="schedules",
        setup={**SCHEDULES, "start": "2020-01-01"},
        result={"rows": []},
        created=NOW,
        problem="no board has enough events before 2020-01-01",
        run=Run.objects.create(
            kind="simulation", label="log", state="finished", stopped_by="unusable_log", created=NOW
        ),
    )
    client = client_of("viewer")
    client.cookies["django_language"] = language
    for address in ("", f"{made.pk}/"):
        assert said in client.get(f"/admin/forums/simulations/{address}").content.decode()
