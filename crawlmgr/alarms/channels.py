"""Notification channels (mail, webhook, chat): stores their settings, encrypted, and delivers a
message through a channel."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from crawlmgr.access import vault
from crawlmgr.alarms import sending
from crawlmgr.alarms.causes import RULES
from crawlmgr.models import AlarmChannel, ChannelKind, events

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
