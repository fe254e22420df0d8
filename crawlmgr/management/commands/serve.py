"""`serve`: runs the web server and a worker cluster under one supervisor, and creates the first
administrator."""

from __future__ import annotations

import argparse
import os
import re
import secrets
import socket
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error as DatabaseProblem

from crawlmgr import environment
from crawlmgr.access import vault
from crawlmgr.database import upgrade
from crawlmgr.management.base import say
from crawlmgr.management.supervision import (
    PROGRAM,
    WEB,
    cluster,
    in_subprocess,
    only_one,
    run_system_checks,
    supervise,
)
from crawlmgr.upkeep import demonstration
from crawlmgr.workers import nodes, queue
from crawlmgr.workers.supervisor import Asker, Child, listen

ANY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - compared with, not bound to
WEB_PROCESSES, WEB_THREADS = 2, 8


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


DEFAULT_ADDRESS = Address("127.0.0.1", 8000)
ADDRESS = (  # name of the file in the data folder that holds the last address of the web server
    "serve.address"
)


def served_at() -> str:
    """Returns the address (HOST:PORT) at which the web server of this data folder is or was last
    reached; the default address if it never ran."""
    try:
        return (settings.DATA_DIR / ADDRESS).read_text(encoding="ascii").strip() or str(
            DEFAULT_ADDRESS
        )
    except OSError:
        return str(DEFAULT_ADDRESS)


def address(text: str) -> Address:
    """Parses HOST:PORT, with brackets around an IPv6 host. Raises ArgumentTypeError for any other
    text."""
    match = re.fullmatch(
        r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<host>[^\[\]:\s]+)):(?P<port>\d{1,5})", text
    )
    if match is None or int(match["port"]) > 65535:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an address; write HOST:PORT, for example 127.0.0.1:8000"
        )
    return Address(match["six"] or match["host"], int(match["port"]))


def worker_count(text: str) -> int:
    """Parses a number of workers from 1 to 64. Raises ArgumentTypeError for any other text."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 64:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of workers; enter 1 to 64")
    return int(text)


class Command(BaseCommand):
    help = (
        "Starts the web interface (desk) and workers, until Ctrl-C. Creates the database and the"
        " first administrator if they are missing."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        bind, workers = DEFAULT_ADDRESS, settings.WORKERS
        parser.add_argument(
            "--bind", type=address, default=bind, metavar="HOST:PORT", help=f"default {bind}"
        )
        parser.add_argument(
            "--workers",
            type=worker_count,
            default=workers,
            metavar="N",
            help=f"processes, default {workers}",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        in_subprocess(run_system_checks)
        lock = only_one("serve")
        bind: Address = options["bind"]
        listener = self._listen(bind)
        login = in_subprocess(self._prepare)
        # the password is left out of the children's environment: they do not need it, and other
        # programs could read it there
        os.environ.pop("CRAWLMGR_ADMIN_PASSWORD", None)
        bound = Address(bind.host, listener.getsockname()[1])
        self._greet(bound, login)
        with lock, listener:
            others = [_web(bound, listener), _demonstration()]
            workers = cluster(nodes.own_name(), settings.Q_CLUSTER["name"], options["workers"])
            supervise([workers], others, asker=Asker(listener, str(_reached(bound))))
        say("Stopped.")

    def _prepare(self) -> str:
        """Creates tables, static files, schedules and the first administrator; returns a line that
        tells how to log in."""
        try:
            upgrade.migrate()
            call_command("collectstatic", interactive=False, verbosity=0)
            queue.make_schedules()
            if names := vault.unreadable():
                say(
                    f"{settings.DATA_DIR / 'secret.key'} does not open these stored passwords and"
                    f" cookies: {vault.name_list(names)}. Put the key back with which they were"
                    " stored, or enter them again."
                )
            return self._first_login()
        except DatabaseProblem as error:
            raise CommandError(
                f"The database does not answer: {str(error).strip().splitlines()[0]}"
            ) from None

    def _listen(self, bind: Address) -> socket.socket:
        try:
            return listen(*bind)
        except OSError as error:
            raise CommandError(
                f"{bind} cannot be used ({error.strerror or error}); name another with --bind."
            ) from None

    def _first_login(self) -> str:
        """Creates the first administrator if there is none; returns a line that tells how to log
        in."""
        users = get_user_model()._default_manager
        if users.filter(is_superuser=True, is_active=True).exists():
            return "Log in with your account."
        name = (
            "admin"
            if not users.filter(username="admin").exists()
            else f"admin-{secrets.token_hex(2)}"
        )
        given = environment.admin_password()
        password = given or secrets.token_urlsafe(12)
        try:
            validate_password(password, users.model(username=name))
        except ValidationError as weak:
            raise CommandError(f"CRAWLMGR_ADMIN_PASSWORD: {' '.join(weak.messages)}") from None
        users.create_superuser(name, "", password)
        return f"First login: {name}, password " + (
            "from CRAWLMGR_ADMIN_PASSWORD." if given else f"{password} (shown only now)."
        )

    def _greet(self, bound: Address, login: str) -> None:
        """Stores the web server's address and prints how to reach it."""
        shown = _reached(bound)
        (settings.DATA_DIR / ADDRESS).write_text(str(shown), encoding="ascii", errors="replace")
        self.stdout.write(
            f"Crawl manager: http://{shown}/\n{login}\nData: {settings.DATA_DIR}\nStop with Ctrl-C."
        )
        self.stdout.flush()
        if bound.host in ANY_ADDRESS and "CRAWLMGR_ALLOWED_HOSTS" not in os.environ:
            say(
                "From other machines it can be reached only under host names listed in"
                " CRAWLMGR_ALLOWED_HOSTS."
            )
        if not settings.CONTACT:
            say(
                "Public addresses are refused until CRAWLMGR_CONTACT names a mail or web address"
                " for the user agent."
            )


def _reached(bound: Address) -> Address:
    """Returns the address at which the web server is reached from this machine."""
    loopback = dict(zip(ANY_ADDRESS, ("127.0.0.1", "::1"), strict=True))
    return Address(loopback.get(bound.host, bound.host), bound.port)


def _web(bound: Address, listener: socket.socket) -> Child:
    """Returns the child process that runs the web server on the listening socket."""
    hosts, host = list(settings.ALLOWED_HOSTS), _reached(bound).host
    own = f"[{host}]" if ":" in host else host
    if own not in hosts:
        hosts.append(own)
    program = [
        "gunicorn",
        "crawlmgr.wsgi:application",
        "--bind",
        f"fd://{listener.fileno()}",
        "--worker-class",
        "gthread",
        "--workers",
        str(WEB_PROCESSES),
        "--threads",
        str(WEB_THREADS),
        "--timeout",
        "60",
        "--graceful-timeout",
        "4",
        "--logger-class",
        "crawlmgr.management.web_log.WebLog",
        "--no-control-socket",
        "--preload",
    ]
    environment = {
        "CRAWLMGR_DATA": str(settings.DATA_DIR),
        "CRAWLMGR_ALLOWED_HOSTS": ",".join(hosts),
        "DJANGO_SETTINGS_MODULE": "crawlmgr.settings",
        demonstration.CAN: "1",
    }
    return Child(
        WEB,
        program,
        folder=settings.BASE_DIR,
        environment=environment,
        descriptors=[listener.fileno()],
    )


def _demonstration() -> Child:
    """Returns the child process that runs `demo`. It runs from when a user starts the demonstration
    in the web interface until it is stopped there."""
    environment = {"CRAWLMGR_DATA": str(settings.DATA_DIR)}
    return Child(
        "demonstration",
        [PROGRAM, "demo"],
        folder=settings.BASE_DIR,
        environment=environment,
        wanted=demonstration.is_requested,
    )
