"""Alarms: one per cause, sent once on each channel, muted, ended; nothing is sent twice whichever
process is killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.core.cache import cache
from django_q.models import OrmQ

from crawlmgr import tasks
from crawlmgr.alarms import alarms, sending
from crawlmgr.alarms import causes as alarm_causes
from crawlmgr.alarms.causes import Cause
from crawlmgr.models import Alarm, AlarmChannel, AlarmMessage, MessageState
from crawlmgr.workers import queue
from tests.sinks import Sink, mail_sink, web_sink

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
CAUSES: dict[str, Cause] = {}


class Killed(BaseException):
    """Simulates the end of the process."""


@pytest.fixture(autouse=True)
def causes(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Cause]]:
    """The current causes, as set by each test."""
    CAUSES.clear()
    monkeypatch.setattr(alarm_causes, "all_causes", lambda _now: dict(CAUSES))
    cache.delete("alarms-watched")
    yield CAUSES


@pytest.fixture
def mail() -> Iterator[Sink]:
    with mail_sink() as sink:
        yield sink


@pytest.fixture
def web() -> Iterator[Sink]:
    with web_sink() as sink:
        yield sink


def wrong(key: str = "disk", rule: str = "disk", **more: Any) -> None:
    CAUSES[key] = Cause(
        key,
        rule,
        "%(name)s failed: %(reason)s",
        {"name": "论坛 😀", "reason": "x\ny"},
        "/admin/archive/",
        **more,
    )


def mail_channel(sink: Sink, **more: Any) -> AlarmChannel:
    values = {
        "host": "127.0.0.1",
        "port": str(sink.port),
        "security": "none",
        "sender": "desk@example.org",
        "to": "a@example.org, b@example.org",
    }
    return alarms.add("post", "mail", values, now=NOW, **{"allow_private": True, **more})


def web_channel(sink: Sink, **more: Any) -> AlarmChannel:
    url = f"http://127.0.0.1:{sink.port}/hook/secret"
    return alarms.add("hook", "webhook", {"url": url}, now=NOW, **{"allow_private": True, **more})


def sent(at: datetime = NOW) -> int:
    return alarms.send(lambda: at)


def gone(at: datetime) -> datetime:
    """Removes all causes; returns the time at which the alarms have ended."""
    CAUSES.clear()
    alarms.watch(at)
    alarms.watch(at + alarms.SETTLES)
    return at + alarms.SETTLES


def test_an_alarm_is_told_once_on_each_channel_and_its_end_too(mail: Sink, web: Sink) -> None:
    mail_channel(mail, language="zh-hans")
    web_channel(web)
    wrong()
    assert [alarms.watch(NOW), alarms.watch(NOW), alarms.watch(NOW + timedelta(hours=3))] == [
        1,
        0,
        0,
    ]
    assert (sent(), sent()) == (2, 0)
    [letter] = mail.mails
    assert letter["To"] == "a@example.org, b@example.org" and "\n" not in letter["Subject"]
    assert "论坛 😀" in letter.get_content() and "/admin/archive/" in letter.get_content()
    [(headers, document)] = web.posts
    assert (
        document["kind"] == "disk"
        and document["about"] == "begun"
        and headers["Idempotency-Key"] == document["id"]
    )
    end = gone(NOW + timedelta(hours=4))
    assert sent(end) == 2 and sent(end) == 0
    assert len(mail.mails) == 2 and mail.mails[0]["Message-ID"] != mail.mails[1]["Message-ID"]
    assert web.posts[1][1]["about"] == "ended" and web.posts[1][1]["text"].startswith(
        "Resolved: 论坛 😀 failed"
    )
    assert Alarm.objects.get().ended == end


def test_a_cause_that_comes_and_goes_is_one_alarm_and_one_that_comes_again_a_second(
    web: Sink,
) -> None:
    web_channel(web)
    wrong()
    for minute in range(6):
        alarms.watch(NOW + timedelta(minutes=minute))
        CAUSES.clear() if minute % 2 == 0 else wrong()
    assert Alarm.objects.count() == 1 and sent() == 1
    end = gone(NOW + timedelta(hours=1))
    wrong()
    assert alarms.watch(end) == 1 and Alarm.objects.count() == 2 and sent(end) == 2


def test_what_happened_is_told_once_and_has_no_end(web: Sink) -> None:
    web_channel(web)
    wrong("reached 7", "reached", once=True)
    assert [alarms.watch(NOW), alarms.watch(NOW), alarms.watch(gone(NOW))] == [1, 0, 0]
    wrong("reached 7", "reached", once=True)
    assert alarms.watch(NOW + timedelta(hours=1)) == 0 and sent() == 1 and len(web.posts) == 1


def test_a_silenced_alarm_says_nothing_more(web: Sink) -> None:
    web_channel(web)
    wrong()
    alarms.watch(NOW)
    assert sent() == 1
    alarms.mute(Alarm.objects.get(), now=NOW)
    end = gone(NOW + timedelta(hours=1))
    assert sent(end) == 0 and len(web.posts) == 1 and Alarm.objects.get().ended == end


def test_a_channel_is_told_of_what_it_asked_for(web: Sink, mail: Sink) -> None:
    web_channel(web, rules=["silence"])
    mail_channel(mail)
    wrong()
    alarms.watch(NOW)
    assert sent() == 1 and not web.posts and len(mail.mails) == 1


def test_quiet_hours_wait_and_what_is_over_by_then_is_not_told(web: Sink) -> None:
    channel = web_channel(web, quiet=(22 * 60, 7 * 60), timezone="Asia/Shanghai")
    night = datetime(2026, 3, 2, 16, 0, tzinfo=UTC)  # midnight in Shanghai
    wrong("a")
    wrong("b")
    alarms.watch(night)
    morning = datetime(2026, 3, 2, 23, 0, tzinfo=UTC)
    assert (
        alarms.not_before(channel, night) == morning == AlarmMessage.objects.order_by("pk")[0].due
    )
    del CAUSES["a"]
    alarms.watch(night + timedelta(hours=1))
    alarms.watch(night + timedelta(hours=2))
    assert sent(morning - timedelta(seconds=1)) == 0 and sent(morning) == 1
    assert web.posts[0][1]["cause"] == "b"
    assert sorted(AlarmMessage.objects.values_list("alarm__cause", "about", "state")) == [
        ("a", "begun", "dropped"),
        ("b", "begun", "sent"),
    ]


@pytest.mark.parametrize(
    ("start", "end", "at", "expected"),
    [
        (600, 660, "10:30", "11:00"),
        (600, 660, "11:00", "11:00"),
        (1320, 420, "23:00", "07:00"),
        (1320, 420, "06:59", "07:00"),
        (1320, 420, "07:00", "07:00"),
        (1320, 420, "12:00", "12:00"),
    ],
)
def test_quiet_hours_end_at_their_minute(start: int, end: int, at: str, expected: str) -> None:
    channel = AlarmChannel(quiet_from=start, quiet_to=end, timezone="UTC")
    when = datetime.fromisoformat(f"2026-03-02T{at}:00+00:00")
    assert alarms.not_before(channel, when).strftime("%H:%M") == expected


def test_what_the_receiver_refuses_is_tried_again_some_times(web: Sink, mail: Sink) -> None:
    web_channel(web)
    mail_channel(mail)
    wrong()
    web.answers[:] = [500, 429, 500, 500, 500, 500]
    mail.answers[:] = [451]
    alarms.watch(NOW)
    at = NOW
    for _try in range(8):
        sent(at)
        at += timedelta(hours=2)
    found = {
        message.channel.name: message for message in AlarmMessage.objects.select_related("channel")
    }
    assert (
        found["hook"].state == MessageState.FAILED and found["hook"].attempts == len(web.posts) == 5
    )
    assert (
        found["hook"].detail == "http_500: HTTP status 500"
        and len({document["id"] for _, document in web.posts}) == 1
    )
    assert found["post"].state == MessageState.SENT and len(mail.mails) == 2


def test_a_message_of_which_nobody_knows_whether_it_arrived_is_not_sent_again(
    web: Sink, mail: Sink
) -> None:
    web_channel(web)
    mail_channel(mail)
    wrong()
    web.answers[:], mail.answers[:] = [None], [None]
    alarms.watch(NOW)
    for hour in range(5):
        sent(NOW + timedelta(hours=hour))
    assert len(web.posts) == len(mail.mails) == 1
    assert set(AlarmMessage.objects.values_list("state", flat=True)) == {"unsure"}


@pytest.mark.parametrize("kind", ["mail", "webhook"])
def test_killed_at_any_moment_nothing_is_sent_twice(
    kind: str, web: Sink, mail: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends before and after each step of handling a message; the next process continues
    hours later."""
    channel = mail_channel(mail) if kind == "mail" else web_channel(web)
    inbox: list[Any] = mail.mails if kind == "mail" else web.posts
    left = [0]

    def step() -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    def dying(once: Any, *given: Any, **named: Any) -> Any:
        step()
        result = once(*given, **named)
        step()
        return result

    for name, owner in (
        ("_recover", alarms),
        ("_claim", alarms),
        ("hand_over", alarms),
        ("_begin", alarms),
    ):
        monkeypatch.setattr(owner, name, partial(dying, getattr(owner, name)))
    really = alarms.hand_over

    def handed(*given: Any) -> None:
        *rest, before = given

        def around() -> None:
            step()
            before()
            step()

        really(*rest, around)

    monkeypatch.setattr(alarms, "hand_over", handed)
    kills = 0
    for number in range(1, 16):
        inbox.clear()
        CAUSES.clear()
        wrong(f"cause {number}")
        left[0] = number
        at = NOW + timedelta(days=number)
        for _again in range(4):
            try:
                alarms.watch(at)
                alarms.send(lambda at=at: at)
            except Killed:
                kills += 1
            at += timedelta(hours=2)
        message = AlarmMessage.objects.get(alarm__cause=f"cause {number}", about="begun")
        arrived = [
            one
            for one in inbox
            if f"alarm-{message.pk}" in str(one["Message-ID"] if kind == "mail" else one[1]["id"])
        ]
        assert len(arrived) <= 1 and message.channel_id == channel.pk
        assert (message.state, len(arrived)) in (
            (MessageState.SENT, 1),
            (MessageState.UNSURE, 0),
            (MessageState.UNSURE, 1),
        )
    left[0] = 0
    assert kills >= 8
    states = set(AlarmMessage.objects.filter(about="begun").values_list("state", flat=True))
    assert states == {MessageState.SENT, MessageState.UNSURE}


def test_two_workers_at_once_send_one_message(web: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    web_channel(web)
    wrong()
    alarms.watch(NOW)
    once = alarms.hand_over

    def meanwhile(*given: Any) -> None:
        monkeypatch.setattr(alarms, "hand_over", once)
        assert sent() == 0, "claimed by the other"
        once(*given)

    monkeypatch.setattr(alarms, "hand_over", meanwhile)
    assert sent() == 1 and len(web.posts) == 1


def test_a_private_address_needs_to_be_allowed(web: Sink, mail: Sink) -> None:
    web_channel(web, allow_private=False)
    mail_channel(mail, allow_private=False)
    alarms.add("chat", "chat", {"url": f"ntfy://127.0.0.1:{web.port}/room"}, now=NOW)
    wrong()
    alarms.watch(NOW)
    assert sent() == 0 and not web.posts and not mail.mails
    for detail in AlarmMessage.objects.values_list("detail", flat=True):
        assert detail.startswith("private: ") and "private address (loopback)" in detail, detail


def test_a_chat_service_is_told_by_its_own_rules(web: Sink) -> None:
    channel = alarms.add(
        "chat", "chat", {"url": f"ntfy://127.0.0.1:{web.port}/room"}, now=NOW, allow_private=True
    )
    web.answers[:] = [200]
    alarms.test(channel, NOW)
    assert sent() == 1 and "Test message" in str(web.posts[0][1]["title"])


@pytest.mark.parametrize(
    ("kind", "values", "said"),
    [
        ("webhook", {"url": "ftp://x/"}, "begins with https"),
        ("webhook", {"url": "http://[x/"}, "begins with https"),
        ("chat", {"url": "file:///etc/passwd"}, "not a chat service"),
        ("chat", {"url": "slack://"}, "not an address of slack"),
        ("mail", {"host": "h", "sender": "a@b", "to": "nobody"}, "recipients"),
        ("mail", {"sender": "a@b", "to": "c@d"}, "its server"),
        ("mail", {"host": "h", "port": "0", "sender": "a@b", "to": "c@d"}, "port"),
        ("pigeon", {}, "no channel of kind"),
        ("mail", {"host": "h", "sender": "a@b\r\nBcc: x@y", "to": "c@d"}, "recipients"),
    ],
)
def test_a_channel_that_leads_nowhere_is_refused_in_one_line(
    kind: str, values: dict[str, str], said: str
) -> None:
    with pytest.raises(ValueError, match=said) as error:
        alarms.add("x", kind, values, now=NOW)
    assert "\n" not in str(error.value) and not AlarmChannel.objects.exists()


def test_secrets_are_kept_encrypted_and_never_shown(mail: Sink) -> None:
    channel = mail_channel(mail)
    values = {
        "host": "h.example",
        "sender": "a@b.example",
        "to": "c@d.example",
        "user": "me",
        "password": "geheim-77",
    }
    other = alarms.add("m", "mail", values, now=NOW)
    hook = alarms.add(
        "w", "webhook", {"url": "https://user:geheim-77@h.example/geheim-77"}, now=NOW
    )
    for one in (channel, other, hook):
        assert "geheim" not in str(vars(AlarmChannel.objects.get(pk=one.pk)))
    assert hook.shown == "https://h.example/…"


def test_the_dispatcher_watches_and_a_worker_sends(web: Sink) -> None:
    web_channel(web)
    wrong()
    real = datetime.now(UTC)
    assert alarms.dispatch(real) == 1 and alarms.dispatch(real) == 0
    assert OrmQ.objects.filter(key__endswith="/run/alarms").count() == 1
    assert queue.ALARMS in queue.TASKS and tasks.send_alarms() == 1 and len(web.posts) == 1


def test_a_connection_that_was_never_made_counts_as_not_sent() -> None:
    with pytest.raises(sending.NotSent):
        sending.post("http://127.0.0.1:1/", {}, "k", lambda: None, frozenset({"127.0.0.1:1"}))


def _told(send: Callable[[], None]) -> str:
    with pytest.raises((sending.NotSent, sending.Unsure)) as error:
        send()
    return str(error.value).partition(":")[0]


def test_each_failure_of_a_channel_has_a_code(web: Sink) -> None:
    def post(url: str, port: int = 0) -> Callable[[], None]:
        return lambda: sending.post(url, {}, "k", lambda: None, frozenset({f"127.0.0.1:{port}"}))

    mail = sending.Mail("127.0.0.1", 1, "none", "", "", "a@b.example", ("c@d.example",))
    assert (
        _told(
            lambda: sending.send_mail(mail, "s", "t", "k", lambda: None, frozenset({"127.0.0.1:1"}))
        )
        == "connect"
    )
    assert (
        _told(post("http://127.0.0.1:1/", 1)) == "connect"
        and _told(post("http://nowhere.invalid/")) == "dns"
    )
    assert (
        _told(post(f"https://127.0.0.1:{web.port}/", web.port)) == "tls"
        and _told(post("http://127.0.0.1:1/", 2)) == "private"
    )
    web.answers[:] = [None, 503]
    assert [_told(post(f"http://127.0.0.1:{web.port}/", web.port)) for _ in range(2)] == [
        "reset",
        "http_503",
    ]
