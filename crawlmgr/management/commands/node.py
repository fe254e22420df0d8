"""`node`: a worker cluster of this machine under supervision; `node list`: every node of the installation."""

from __future__ import annotations

import argparse
import re
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error as DatabaseProblem

from crawlmgr.clock import SYSTEM
from crawlmgr.management import database
from crawlmgr.management.base import say, table, write_json
from crawlmgr.management.supervision import cluster, only_one, run_system_checks, supervise
from crawlmgr.services import nodes, queue


def queue_names(text: str) -> list[str]:
    """Names of queues by comma. Raises ArgumentTypeError."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names or not all(re.fullmatch(r"[A-Za-z0-9_-]{1,30}", name) for name in names) or len(set(names)) < len(names):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of queues; write names by comma, for example crawl")
    return names


def node_name(text: str) -> str:
    """A node's name: what leases and locks are named after. Raises ArgumentTypeError."""
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,60}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name of a node; use letters, digits, dots, dashes and underscores")
    return text


class Command(BaseCommand):
    help = "Makes this machine a worker node until Ctrl-C; `node list` shows all nodes."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", choices=["list"], help="list: show all nodes")
        parser.add_argument("--name", type=node_name, default=None, help="default the host's name")
        own = [settings.Q_CLUSTER["name"]]
        parser.add_argument("--queues", type=queue_names, default=own, metavar="A,B", help=f"queues, default {own[0]}")
        parser.add_argument("--json", action="store_true", help="one JSON document on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        database.ready()
        try:
            if options["action"] == "list":
                self._list(options["json"])
                return
            run_system_checks()
            name, queues = options["name"] or nodes.own_name(), options["queues"]
            with only_one(f"node-{name}"):
                queue.make_schedules()
                say(f"Node {name} takes from {', '.join(queues)}. Stop with Ctrl-C.")
                own = [name] if len(queues) == 1 else [f"{name}-{one}" for one in queues]
                supervise([cluster(node, one, settings.WORKERS) for node, one in zip(own, queues, strict=True)])
                say("Stopped.")
        except DatabaseProblem as error:
            raise CommandError(f"The database does not answer: {str(error).strip().splitlines()[0]}") from None

    def _list(self, as_json: bool) -> None:
        rows = nodes.listing(SYSTEM.now())
        if as_json:
            write_json({"nodes": rows})
        elif rows:
            self.stdout.write(table(list(rows[0]), ([_plain(value) for value in row.values()] for row in rows)))
        else:
            say("No node has ever run.")


def _plain(value: Any) -> Any:
    return value.isoformat(timespec="seconds") if hasattr(value, "isoformat") else value
