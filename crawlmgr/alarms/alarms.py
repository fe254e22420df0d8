"""Opens an alarm when a problem (a `Cause`) appears, ends the alarm when the problem is gone, and
sends messages about its beginning and its end. A message is sent once; if it is uncertain whether a
delivery succeeded, it is not repeated.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from django.core.cache import cache
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import translation
from django.utils.translation import gettext, gettext_noop

from crawlmgr.access import vault
from crawlmgr.alarms import causes as alarm_causes
from crawlmgr.alarms import sending
from crawlmgr.alarms.causes import RULES
from crawlmgr.models import Alarm, AlarmChannel, AlarmMessage, ChannelKind, MessageState, events
from crawlmgr.runs import run_reads
from crawlmgr.upkeep import pruning
from crawlmgr.workers import queue

SECURITIES = ("starttls", "tls", "none")
LANGUAGES = ("en", "zh-hans")
MAX_RECIPIENTS = 20


def add(
    name: str,
    kind: str,
    values: Mapping[str, str],
    *,
    now: datetime,
    rules: list[str] | None = None,
    language: str = "en",
    quiet: tuple[int, int] | None = None,
    timezone: str = "UTC",
    allow_private: bool = False,
    user: Any = None,
) -> AlarmChannel:
    """Saves a new channel. Raises ValueError with a one-line message if a setting is invalid.

    `values` of a mail channel: host, port, security, user, password, sender, to; of a webhook or
    chat: url. `rules` are the kinds of causes (keys of alarm_causes.RULES) that are reported to the
    channel; none means all. `quiet` is the begin and end of the quiet hours, in minutes after
    midnight in `timezone`; None for no quiet hours."""
    if not name.strip() or len(name) > 100:
        raise ValueError("a channel needs a name of at most 100 characters")
    if wrong := [rule for rule in rules or [] if rule not in RULES]:
        raise ValueError(f"there is no kind of cause {wrong[0]!r}; there are {', '.join(RULES)}")
    if timezone not in available_timezones():
        raise ValueError(f"there is no time zone {timezone[:60]!r}; names look like Asia/Shanghai")
    if (
        language not in LANGUAGES
        or quiet is not None
        and not all(0 <= minute < 1440 for minute in quiet)
    ):
        raise ValueError("languages are en and zh-hans, quiet hours from 00:00 to 23:59")
    kept, shown = _checked(
        kind, {key: str(value).strip() for key, value in values.items() if value}
    )
    quiet_from, quiet_to = quiet if quiet is not None and quiet[0] != quiet[1] else (None, None)
    made = AlarmChannel.objects.create(
        name=name.strip(),
        kind=kind,
        sealed=vault.seal(kept),
        shown=shown[:200],
        rules=rules or [],
        language=language,
        quiet_from=quiet_from,
        quiet_to=quiet_to,
        timezone=timezone,
        allow_private=allow_private,
        created=now,
        created_by=user,
    )
    events.note("channel_made", made.name, now=now)
    return made


def remove(channel: AlarmChannel, now: datetime) -> None:
    """Deletes a channel together with the records of the messages sent through it."""
    channel.delete()
    events.note("channel_removed", channel.name, now=now)


def _checked(kind: str, values: dict[str, str]) -> tuple[dict[str, str], str]:
    """Validates the settings of a channel and returns (the settings to store encrypted, a text
    without secrets to display). Raises ValueError with a one-line message."""
    if kind == ChannelKind.MAIL:
        return _mail_values(values)
    url = values.get("url", "")
    if kind == ChannelKind.CHAT:
        return {"url": url}, sending.check_chat(url)[0]
    if kind != ChannelKind.WEBHOOK:
        raise ValueError(f"there is no channel of kind {kind[:20]!r}")
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            raise ValueError
    except ValueError:
        raise ValueError(
            "a webhook needs an address that begins with https:// or http://"
        ) from None
    return {"url": url}, f"{parts.scheme}://{_place(parts.hostname, parts.port)}/…"


def _place(host: str, port: int | None) -> str:
    named = f"[{host}]" if ":" in host else host
    return named if port is None else f"{named}:{port}"


def _mail_values(values: dict[str, str]) -> tuple[dict[str, str], str]:
    to = [one.strip() for one in values.get("to", "").replace(";", ",").split(",") if one.strip()]
    sender, host, port = values.get("sender", ""), values.get("host", ""), values.get("port", "587")
    security = values.get("security", "starttls")
    if not host or any(char.isspace() for char in host) or security not in SECURITIES:
        raise ValueError("a mail channel needs its server, and tls, starttls or none")
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError("the port of a mail server is a number from 1 to 65535")
    if not 0 < len(to) <= MAX_RECIPIENTS or any(not _address(one) for one in (*to, sender)):
        raise ValueError(
            f"a mail channel needs a sender and 1 to {MAX_RECIPIENTS} recipients, as"
            " name@example.org"
        )
    kept = {
        "host": host,
        "port": port,
        "security": security,
        "sender": sender,
        "to": ",".join(to),
        "user": values.get("user", ""),
        "password": values.get("password", ""),
    }
    return kept, f"{', '.join(to)} ({host}:{port})"


def _address(text: str) -> bool:
    name, at, host = text.rpartition("@")
    return (
        bool(name and at and host)
        and not any(char.isspace() or char in '<>,;"' for char in text)
        and text.isprintable()
    )


def hand_over(
    channel: AlarmChannel,
    title: str,
    text: str,
    facts: Mapping[str, Any],
    key: str,
    before: sending.Before,
) -> None:
    """Delivers one message through a channel.

    `facts` are further values for the JSON document of a webhook. `key` identifies the message, so
    that the receiver can recognise a repetition. `before` is called immediately before the message
    is sent. Raises deliver.NotSent if the message was certainly not delivered, deliver.Unsure if
    that is not known, and vault.Unreadable if the channel's secrets cannot be decrypted."""
    values = vault.unseal(channel.sealed)
    if channel.kind == ChannelKind.MAIL:
        mail = sending.Mail(
            values["host"],
            int(values["port"]),
            values["security"],
            values["user"],
            values["password"],
            values["sender"],
            tuple(values["to"].split(",")),
        )
        sending.send_mail(mail, title, text, key, before, _allowed(channel, mail.host, mail.port))
    elif channel.kind == ChannelKind.CHAT:
        _shown, host = sending.check_chat(values["url"])
        sending.send_chat(values["url"], title, text, before, _allowed(channel, host, None))
    else:
        parts = urlsplit(values["url"])
        document = {**facts, "id": key, "title": title, "text": text}
        sending.post(
            values["url"],
            document,
            key,
            before,
            _allowed(channel, parts.hostname or "", parts.port),
        )


def _allowed(channel: AlarmChannel, host: str, port: int | None) -> frozenset[str]:
    """Returns the private addresses (host or host:port) that a delivery may connect to: that of the
    channel itself if its operator allowed it, otherwise none."""
    return frozenset({_place(host, port)}) if channel.allow_private and host else frozenset()


log = logging.getLogger("crawlmgr.alarms")
EVERY_SECONDS = 30  # all causes are checked at most once in this many seconds
SETTLES = timedelta(minutes=2)  # how long a cause must be absent before its alarm ends
# how long a worker may take to deliver a message before it counts as dead; longer than any delivery
# takes
CLAIM = timedelta(minutes=3)
# delays before the second and further tries to deliver a message
WAITS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60))
PRODUCT = gettext_noop("Crawl manager")


def dispatch(now: datetime) -> int:
    """Opens and ends alarms, at most once every half minute over all processes, and queues a task
    if messages are due. Called by the dispatcher. Returns the number of alarms opened."""
    begun = watch(now) if cache.add("alarms-watched", 1, EVERY_SECONDS) else 0
    if due(now):
        queue.send_alarms()
    return begun


def watch(now: datetime) -> int:
    """Opens an alarm for each cause that has none, and ends alarms whose cause has been absent for
    SETTLES. Returns the number of alarms opened. Several processes may call it at the same time."""
    causes = alarm_causes.all_causes(now)
    opened = {alarm.cause: alarm for alarm in Alarm.objects.filter(ended=None)}
    happened = [cause.key for cause in causes.values() if cause.once]
    known = set(Alarm.objects.filter(cause__in=happened).values_list("cause", flat=True))
    begun = sum(
        _begin(cause, now)
        for key, cause in causes.items()
        if key not in opened and key not in known
    )
    for key, alarm in opened.items():
        if key in causes:
            if alarm.missing is not None:
                Alarm.objects.filter(pk=alarm.pk).update(missing=None)
        elif alarm.missing is None:
            Alarm.objects.filter(pk=alarm.pk, missing=None).update(missing=now)
        elif now - alarm.missing >= SETTLES:
            _end(alarm, now)
    return begun


def _begin(cause: alarm_causes.Cause, now: datetime) -> int:
    try:
        with transaction.atomic():
            alarm = Alarm.objects.create(
                cause=cause.key,
                rule=cause.rule,
                text=cause.text,
                facts=cause.facts,
                path=cause.path,
                once=cause.once,
                begun=now,
                ended=now if cause.once else None,
            )
            for channel in AlarmChannel.objects.all():
                if not channel.rules or cause.rule in channel.rules:
                    AlarmMessage.objects.create(
                        channel=channel,
                        alarm=alarm,
                        about="begun",
                        due=not_before(channel, now),
                        created=now,
                    )
    except IntegrityError:
        return 0  # another worker has opened this alarm in the meantime
    log.info("%s", cause.key, extra={"event": "alarm_begun"})
    return 1


def _end(alarm: Alarm, now: datetime) -> None:
    """Ends an alarm and queues messages about its end for the channels to which its beginning was
    reported. Messages about the beginning that have not been sent yet are dropped."""
    with transaction.atomic():
        if not Alarm.objects.filter(pk=alarm.pk, ended=None).update(ended=now):
            return
        waiting = alarm.messages.filter(about="begun", state=MessageState.WAITING)
        waiting.update(state=MessageState.DROPPED, detail="ended: the alarm had already ended")
        if Alarm.objects.filter(pk=alarm.pk, muted=None).exists():
            told = alarm.messages.filter(about="begun").exclude(
                state__in=[MessageState.DROPPED, MessageState.FAILED]
            )
            for message in told.select_related("channel"):
                AlarmMessage.objects.create(
                    channel=message.channel,
                    alarm=alarm,
                    about="ended",
                    due=not_before(message.channel, now),
                    created=now,
                )
    log.info("%s", alarm.cause, extra={"event": "alarm_ended"})


def mute(alarm: Alarm, *, now: datetime, user: Any = None) -> None:
    """Mutes an alarm: no further message about it is sent, not even about its end."""
    with transaction.atomic():
        Alarm.objects.filter(pk=alarm.pk).update(muted=now, muted_by=user)
        alarm.messages.filter(state=MessageState.WAITING).update(
            state=MessageState.DROPPED, detail="silenced: by a user"
        )


def test(channel: AlarmChannel, now: datetime) -> AlarmMessage:
    """Queues a test message for a channel. It is due at once, even in the channel's quiet hours."""
    message = AlarmMessage.objects.create(channel=channel, about="test", due=now, created=now)
    queue.send_alarms()
    return message


def not_before(channel: AlarmChannel, now: datetime) -> datetime:
    """Returns the earliest time, not before `now`, that is outside the channel's quiet hours."""
    if channel.quiet_from is None or channel.quiet_to is None:
        return now
    local = now.astimezone(ZoneInfo(channel.timezone))
    minute = local.hour * 60 + local.minute
    start, end = channel.quiet_from, channel.quiet_to
    quiet = start <= minute < end if start < end else minute >= start or minute < end
    if not quiet:
        return now
    day = local.date() + timedelta(days=minute >= end)
    ends = datetime(day.year, day.month, day.day, end // 60, end % 60, tzinfo=local.tzinfo)
    return max(now, ends.astimezone(UTC))


def due(now: datetime) -> bool:
    """Tells whether a message waits to be sent, or was being sent by a worker that has not finished
    in time and counts as dead."""
    waiting = AlarmMessage.objects.filter(state=MessageState.WAITING, due__lte=now)
    lost = AlarmMessage.objects.filter(
        state__in=[MessageState.CLAIMED, MessageState.HANDED], claimed_until__lte=now
    )
    return waiting.exists() or lost.exists()


def send(now: Callable[[], datetime], on_step: Callable[[], None] = lambda: None) -> int:
    """Sends all due messages one after the other. `on_step` is called before each and may raise to
    end the sending. Returns how many messages were accepted by their receivers."""
    _recover(now())
    sent = 0
    while True:
        on_step()
        message = _claim(now())
        if message is None:
            _forget(now())
            return sent
        sent += _send(message, now)


def _recover(now: datetime) -> None:
    lost = AlarmMessage.objects.filter(claimed_until__lte=now)
    lost.filter(state=MessageState.CLAIMED).update(state=MessageState.WAITING)
    lost.filter(state=MessageState.HANDED).update(
        state=MessageState.UNSURE, detail="killed: the process was killed while it sent the message"
    )


def _claim(now: datetime) -> AlarmMessage | None:
    while True:
        rows = AlarmMessage.objects.filter(state=MessageState.WAITING, due__lte=now).order_by("pk")
        message = rows.select_related("channel", "alarm").first()
        if message is None:
            return None
        claimed = AlarmMessage.objects.filter(
            pk=message.pk, state=MessageState.WAITING, attempts=message.attempts
        )
        if claimed.update(
            state=MessageState.CLAIMED, attempts=F("attempts") + 1, claimed_until=now + CLAIM
        ):
            message.attempts += 1
            return message


class _Gone(Exception):
    """Raised just before sending if another worker has claimed the message in the meantime."""


def _send(message: AlarmMessage, now: Callable[[], datetime]) -> int:
    own = AlarmMessage.objects.filter(pk=message.pk, attempts=message.attempts)

    def before() -> None:
        if not own.filter(state=MessageState.CLAIMED).update(state=MessageState.HANDED):
            raise _Gone

    title, text = worded(message)
    facts = {"about": message.about, "at": now().isoformat()}
    if message.alarm is not None:
        facts |= {
            "cause": message.alarm.cause,
            "kind": message.alarm.rule,
            "since": message.alarm.begun.isoformat(),
        }
    try:
        hand_over(message.channel, title, text, facts, f"alarm-{message.pk}", before)
    except _Gone:
        return 0
    except sending.Unsure as error:
        own.update(state=MessageState.UNSURE, detail=str(error)[:300])
        return 0
    except (sending.NotSent, vault.Unreadable, ValueError) as error:
        last = message.attempts > len(WAITS) or message.about == "test"
        state = MessageState.FAILED if last else MessageState.WAITING
        wait = WAITS[min(message.attempts, len(WAITS)) - 1]
        told = f"unreadable: {error}" if isinstance(error, vault.Unreadable) else str(error)
        own.update(state=state, detail=told[:300], due=now() + wait)
        return 0
    own.update(state=MessageState.SENT, sent=now(), detail="")
    return 1


def worded(message: AlarmMessage) -> tuple[str, str]:
    """Returns the title and the text of a message in the language of its channel."""
    with translation.override(message.channel.language):
        product, alarm = gettext(PRODUCT), message.alarm
        if alarm is None:
            return f"{product}: {gettext('Test message')}", gettext(
                "This channel works: alarms will be sent here."
            )
        said = sentence(alarm)
        if message.about == "ended":
            said = gettext("Resolved: %(text)s") % {"text": said}
        lines = [
            said,
            "",
            gettext("Since %(time)s UTC.")
            % {"time": f"{alarm.begun.astimezone(UTC):%Y-%m-%d %H:%M}"},
        ]
        if alarm.ended is not None and not alarm.once:
            lines.append(
                gettext("Until %(time)s UTC.")
                % {"time": f"{alarm.ended.astimezone(UTC):%Y-%m-%d %H:%M}"}
            )
        if alarm.path:
            lines.append(gettext("In the web interface: %(path)s") % {"path": alarm.path})
        return f"{product}: {said}"[:200], "\n".join(lines) + "\n"


def sentence(alarm: Alarm) -> str:
    """Returns the sentence that describes an alarm, in the language that is active now."""
    facts = dict(alarm.facts)
    if "reason" in facts:
        facts["reason"] = run_reads.say(str(facts["reason"]))
    return gettext(alarm.text) % facts


def _forget(now: datetime) -> None:
    """Deletes ended alarms, and test messages, that are older than the retention time of events."""
    days = pruning.kept()["events"]
    if days:
        Alarm.objects.filter(ended__lt=now - timedelta(days=days)).delete()
        AlarmMessage.objects.filter(alarm=None, created__lt=now - timedelta(days=days)).delete()
