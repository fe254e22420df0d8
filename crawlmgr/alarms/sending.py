"""Delivery of notifications by mail, webhook or chat service. Like crawls, it connects only to
addresses that the address guard allows."""

from __future__ import annotations

import smtplib
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from email.message import EmailMessage
from functools import cache
from typing import Any

import requests
from urllib3.exceptions import HTTPError, NameResolutionError, NewConnectionError, ProtocolError
from urllib3.util import connection

from crawlmgr import installation
from crawlmgr.web.http.guard import AddressRefused, check_address

CONNECT_SECONDS, ANSWER_SECONDS = 10.0, 20.0
CHATS = frozenset(
    {
        "bark",
        "barks",
        "dingtalk",
        "discord",
        "feishu",
        "gchat",
        "gotify",
        "gotifys",
        "lark",
        "matrix",
        "matrixs",
        "mmost",
        "mmosts",
        "msteams",
        "ntfy",
        "ntfys",
        "pover",
        "rocket",
        "rockets",
        "slack",
        "tgram",
        "wecombot",
        "workflows",
        "zulip",
    }
)
"""Address schemes of the library apprise that are allowed: chat services reached by HTTP. Other
schemes write files, call programs or open sockets."""

Before = Callable[[], None]


class NotSent(Exception):
    """The message was not accepted and may be sent again. The exception's text gives the reason in
    one line: a code, a colon and the error."""


class Unsure(Exception):
    """It is unknown whether the message was accepted, because the connection failed after sending
    had begun. Sending it again may duplicate it."""


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail server with the sender and the recipients (`to`) of a message. `security` is "tls"
    (from the start), "starttls" or "none"."""

    host: str
    port: int
    security: str
    user: str
    password: str
    sender: str
    to: tuple[str, ...]


_allow: ContextVar[frozenset[str] | None] = ContextVar(
    "private addresses that may be reached", default=None
)
_unguarded = connection.create_connection


def _connect(
    address: tuple[str, int], timeout: Any = CONNECT_SECONDS, *given: Any, **named: Any
) -> socket.socket:
    """Opens a connection to `address`, a (host, port) pair; replaces `create_connection` of
    urllib3.

    Inside `_guarded`, all addresses of the host are checked by the address guard first, and the
    first one that answers is used; raises AddressRefused or OSError. Outside of it, this is
    urllib3's own function.
    """
    allow = _allow.get()
    if allow is None:
        return _unguarded(address, timeout, *given, **named)
    host, port = address[0].strip("[]"), address[1]
    found = [sockaddr for *_, sockaddr in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    for sockaddr in found:
        check_address(str(sockaddr[0]), address[0], port, allow)
    problem = OSError("no address")
    for sockaddr in found:
        try:
            return _unguarded((str(sockaddr[0]), port), timeout, *given, **named)
        except OSError as error:
            problem = error
    raise problem


# urllib3 opens all connections by this function, also for apprise, the library for chat services
connection.create_connection = _connect


@contextmanager
def _guarded(allow: frozenset[str]) -> Iterator[None]:
    """Context manager in which connections to private addresses are refused, except those that
    `allow` lists (see `guard.check_address`); raises NotSent for a refused one."""
    token = _allow.set(allow)
    try:
        yield
    except AddressRefused as error:
        raise NotSent(
            f"private: {error.host} is a private address ({error.reason}); the channel does not"
            " allow that"
        ) from None
    finally:
        _allow.reset(token)


class _Smtp(smtplib.SMTP):
    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        return _connect((host, port), timeout)


class _Smtps(smtplib.SMTP_SSL):
    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        return self.context.wrap_socket(_connect((host, port), timeout), server_hostname=host)


def send_mail(
    mail: Mail,
    subject: str,
    text: str,
    key: str,
    before: Before,
    allow: frozenset[str] = frozenset(),
) -> None:
    """Sends a mail through its server. `key` becomes the Message-ID; `before` is called immediately
    before the message itself is sent, so that the caller can record the attempt; `allow` lists
    private addresses that may be connected to. Raises NotSent, or Unsure if the failure came after
    that call."""
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = (
        " ".join(subject.split())[:200],
        mail.sender,
        ", ".join(mail.to),
    )
    message["Message-ID"], message["Auto-Submitted"] = f"<{key}@crawl-manager>", "auto-generated"
    message.set_content(text)
    with _guarded(allow):
        server, handed = None, False
        try:
            kind = _Smtps if mail.security == "tls" else _Smtp
            server = kind(mail.host, mail.port, timeout=ANSWER_SECONDS)
            if mail.security == "starttls":
                server.starttls(context=ssl.create_default_context())
            if mail.user:
                server.login(mail.user, mail.password)
            before()
            handed = True
            server.send_message(message)
        except (
            smtplib.SMTPResponseException,
            smtplib.SMTPRecipientsRefused,
            smtplib.SMTPNotSupportedError,
        ) as error:
            raise NotSent(_line(error)) from None
        except (OSError, smtplib.SMTPException, UnicodeError, ValueError) as error:
            raise (Unsure if handed else NotSent)(_line(error)) from None
        finally:
            if server is not None:
                server.close()


def post(
    url: str,
    document: Mapping[str, Any],
    key: str,
    before: Before,
    allow: frozenset[str] = frozenset(),
) -> None:
    """Sends a JSON document to `url` by POST; `key` is sent as the header `Idempotency-Key`,
    `before` is called immediately before sending, and `allow` lists private addresses that may be
    connected to. Any 2xx status means that the document was received. Raises NotSent, or Unsure if
    the connection failed after it had been opened."""
    with _guarded(allow), requests.Session() as session:
        session.trust_env = False
        try:
            asked = requests.Request(
                "POST", url, json=dict(document), headers={"Idempotency-Key": key}
            )
            request = session.prepare_request(asked)
        except (ValueError, requests.RequestException) as error:
            raise NotSent(_line(error)) from None
        before()
        try:
            answer = session.send(
                request,
                timeout=(CONNECT_SECONDS, ANSWER_SECONDS),
                allow_redirects=False,
                stream=True,
            )
        except (requests.RequestException, HTTPError, OSError) as error:
            raise (NotSent if _never_connected(error) else Unsure)(_line(error)) from None
        with answer:
            if not 200 <= answer.status_code < 300:
                raise NotSent(f"http_{answer.status_code}: HTTP status {answer.status_code}")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yields an error and the errors that caused it, outermost first; at most eight."""
    seen: BaseException | None = error
    for _step in range(8):
        if seen is None:
            return
        yield seen
        inner = (
            one
            for one in (getattr(seen, "reason", None), *seen.args)
            if isinstance(one, BaseException)
        )
        seen = next(inner, None) or seen.__cause__ or seen.__context__


def _never_connected(error: BaseException) -> bool:
    """Tells whether an error, or one that it wraps, arose before a connection was established, so
    that nothing can have been received."""
    never = (
        NewConnectionError,
        requests.ConnectTimeout,
        requests.exceptions.SSLError,
        socket.gaierror,
    )
    return any(isinstance(one, never) for one in _causes(error))


def check_chat(url: str) -> tuple[str, str]:
    """Checks the address of a chat service in apprise's notation, and returns it without its
    secrets, with the host that it names ("" if the address names none because the service has a
    fixed host). Raises ValueError with a one-line message.
    """
    scheme = url.partition("://")[0].lower()
    if scheme not in CHATS:
        raise ValueError(
            f"{scheme[:20]!r} is not a chat service; known ones are {', '.join(sorted(CHATS))}"
        )
    service = _apprise().instantiate(url)
    if service is None:
        raise ValueError(f"that is not an address of {scheme}")
    return str(service.url(privacy=True))[:200], str(getattr(service, "host", None) or "")


def send_chat(
    url: str, title: str, text: str, before: Before, allow: frozenset[str] = frozenset()
) -> None:
    """Sends a message to the chat service with apprise's address `url`. `before` is called
    immediately before sending; `allow` lists private addresses that may be connected to. Raises
    NotSent for every failure, because apprise does not tell whether the message may have arrived;
    ValueError for an invalid address."""
    check_chat(url)
    service = _apprise().instantiate(url)
    service.socket_connect_timeout, service.socket_read_timeout = CONNECT_SECONDS, ANSWER_SECONDS
    before()
    with _guarded(allow):
        if not service.notify(body=text, title=title):
            raise NotSent("service: the service did not accept the message")


@cache
def _apprise() -> Any:
    try:
        with installation.needed("chat"):
            import apprise  # imported on first use: it takes 30 MB
    except installation.Missing as error:
        raise ValueError(str(error)) from error
    return apprise.Apprise


CODES: tuple[tuple[str, tuple[type[BaseException], ...]], ...] = (
    ("login", (smtplib.SMTPAuthenticationError,)),
    ("receiver", (smtplib.SMTPRecipientsRefused, smtplib.SMTPSenderRefused)),
    ("mail", (smtplib.SMTPResponseException, smtplib.SMTPNotSupportedError)),
    ("dns", (socket.gaierror, NameResolutionError)),
    ("tls", (ssl.SSLError, requests.exceptions.SSLError)),
    ("timeout", (TimeoutError, requests.Timeout)),
    ("connect", (ConnectionRefusedError, NewConnectionError)),
    (
        "reset",
        (ConnectionError, smtplib.SMTPServerDisconnected, requests.ConnectionError, ProtocolError),
    ),
)
"""Codes of reasons by the errors that stand for them; the first line with which an error or one of
its causes agrees counts."""


def _line(error: BaseException) -> str:
    """Returns an error in one line of at most 300 characters: a code (one of CODES, or "unsent"), a
    colon, its type and message."""
    causes = list(_causes(error))
    code = next(
        (code for code, types in CODES if any(isinstance(one, types) for one in causes)), "unsent"
    )
    return " ".join(f"{code}: {type(error).__name__}: {error}".split())[:300]
