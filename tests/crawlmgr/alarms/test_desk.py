"""The alarms page: a channel is created and tested; an alarm begins, is muted and ends; the page
shows each state."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from crawlmgr import tasks
from crawlmgr.alarms import alarms, causes
from crawlmgr.alarms.causes import Cause
from crawlmgr.models import Alarm, AlarmChannel, AlarmMessage
from tests.crawlmgr.admin.rows import EVIL, tight, user
from tests.sinks import Sink, mail_sink

pytestmark = pytest.mark.django_db
COMMON = {"name": "night watch", "timezone": "UTC", "language": "en"}
NEW = "/admin/alarms/channels/new/"


@pytest.fixture
def mail() -> Iterator[Sink]:
    with mail_sink() as sink:
        yield sink


def client(role: str) -> Client:
    made = Client()
    made.force_login(user(role))
    return made


def filled(sink: Sink, **more: str) -> dict[str, str]:
    values = {
        "host": "127.0.0.1",
        "port": str(sink.port),
        "security": "none",
        "sender": "desk@example.org",
        "to": "a@example.org",
    }
    return {**COMMON, **values, "allow_private": "on", **more}


def test_a_channel_is_made_tried_and_removed(mail: Sink) -> None:
    desk = client("administrator")
    assert "No channel for alarms yet" in desk.get("/admin/alarms/").content.decode()
    answer = desk.post(
        f"{NEW}?kind=mail", filled(mail, password="geheim-1", quiet_from="00:00", quiet_to="23:59")
    )
    assert answer.status_code == 302
    channel = AlarmChannel.objects.get()
    desk.post(f"/admin/alarms/channels/{channel.pk}/test/")
    assert tasks.send_alarms() == 1 and mail.mails[0]["Subject"] == "Crawl manager: Test message"
    text = tight(desk.get("/admin/alarms/"))
    assert (
        "night watch" in text
        and "00:00–23:59 UTC" in text
        and ">sent<" in text
        and "geheim" not in text
    )
    desk.post(f"/admin/alarms/channels/{channel.pk}/remove/")
    assert not AlarmChannel.objects.exists() and not AlarmMessage.objects.exists()


def test_an_alarm_fires_is_silenced_and_ends_on_the_page(
    mail: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = {
        "x": Cause(
            "x",
            "failure",
            "%(name)s failed: %(reason)s",
            {"name": EVIL, "reason": "r"},
            "/admin/runs/1/",
        )
    }
    monkeypatch.setattr(causes, "all_causes", lambda _now: dict(wrong))
    now = datetime.now(UTC)
    client("administrator").post(f"{NEW}?kind=mail", filled(mail))
    alarms.watch(now)
    assert tasks.send_alarms() == 1
    desk = client("operator")
    live = desk.get("/admin/alarms/?part=live").content.decode()
    assert "Silence" in live and EVIL not in live and "runs/1" in live
    desk.post(f"/admin/alarms/{Alarm.objects.get().pk}/mute/")
    assert "silenced" in desk.get("/admin/alarms/?part=live").content.decode()
    wrong.clear()
    alarms.watch(now)
    alarms.watch(now + alarms.SETTLES)
    assert tasks.send_alarms() == 0 and len(mail.mails) == 1
    assert "No problems." in desk.get("/admin/alarms/?part=live").content.decode()


@pytest.mark.parametrize(
    ("detail", "said", "raw"),
    [
        (
            "connect: ConnectionRefusedError: [Errno 111] Connection refused",
            "cannot be reached",
            "[Errno 111]",
        ),
        ("dns: ConnectionError: Failed to resolve", "name of the channel", "Failed to resolve"),
        ("http_404: HTTP status 404", "HTTP status 404.", ""),
        ("killed: the process was killed while it sent the message", "The worker was ended", ""),
        (
            "OSError: stored by an older version",
            "could not be delivered",
            "stored by an older version",
        ),
    ],
)
def test_a_failed_delivery_is_a_sentence_with_the_error_in_its_details(
    mail: Sink, detail: str, said: str, raw: str
) -> None:
    desk = client("administrator")
    desk.post(f"{NEW}?kind=mail", filled(mail))
    AlarmMessage.objects.create(
        channel=AlarmChannel.objects.get(),
        about="test",
        state="failed",
        detail=detail,
        due=datetime.now(UTC),
        created=datetime.now(UTC),
    )
    text = desk.get("/admin/alarms/").content.decode()
    shown, details, folded = text.partition('<details class="small soft">')
    assert (
        said in shown.replace("&#x27;", "'")
        and bool(details) == bool(raw)
        and "Error" not in shown.rpartition("<h2>Messages")[2]
    )
    assert raw in folded


@pytest.mark.parametrize(
    "wrong",
    [
        {"to": "nobody"},
        {"port": "99999"},
        {"timezone": "Mars/North"},
        {"host": ""},
        {"rules": "x"},
        {"quiet_from": "25:00"},
    ],
)
def test_a_wrong_channel_is_said_beside_the_form(mail: Sink, wrong: dict[str, str]) -> None:
    answer = client("administrator").post(f"{NEW}?kind=mail", filled(mail, **wrong))
    text = answer.content.decode()
    assert answer.status_code == 422 and ('class="wrong"' in text or 'class="note bad"' in text)
    assert not AlarmChannel.objects.exists()


def test_each_kind_has_its_fields_and_an_unknown_one_is_not_there() -> None:
    desk = client("administrator")
    assert (
        'name="host"' in desk.get(NEW).content.decode()
        and 'name="url"' in desk.get(f"{NEW}?kind=chat").content.decode()
    )
    assert desk.get(f"{NEW}?kind=pigeon").status_code == 404
    bad = desk.post(f"{NEW}?kind=chat", {**COMMON, "url": "exec://x"})
    assert bad.status_code == 422 and "not a chat service" in bad.content.decode()
    good = desk.post(f"{NEW}?kind=webhook", {**COMMON, "url": "https://h.example/x"})
    assert good.status_code == 302 and AlarmChannel.objects.get().shown == "https://h.example/…"


def test_the_page_asks_as_often_for_many_alarms(django_assert_max_num_queries: Any) -> None:
    desk, now = client("viewer"), datetime.now(UTC)
    for number in range(60):
        Alarm.objects.create(
            cause=f"c{number}", rule="failure", text="%(name)s", facts={"name": EVIL}, begun=now
        )
    with django_assert_max_num_queries(30):
        text = desk.get("/admin/alarms/").content.decode()
    assert EVIL not in text and text.count("badge") < 10
