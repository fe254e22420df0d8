"""`node`: runs a worker cluster of this machine under supervision; `node list` lists all nodes;
`node drain NAME`, `pause` and `resume` control one."""

from __future__ import annotations

import argparse
import re
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error as DatabaseProblem

from crawlmgr.clock import SYSTEM
from crawlmgr.database import upgrade
from crawlmgr.management.base import say, table, write_json
from crawlmgr.management.supervision import (
    cluster,
    in_subprocess,
    only_one,
    run_system_checks,
    supervise,
)
from crawlmgr.models import Node, NodeState
from crawlmgr.workers import nodes, queue


def queue_names(text: str) -> list[str]:
    """Parses a comma-separated list of queue names. Raises ArgumentTypeError if it is empty or a
    name is invalid or repeated."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if (
        not names
        or not all(re.fullmatch(r"[A-Za-z0-9_-]{1,30}", name) for name in names)
        or len(set(names)) < len(names)
    ):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of queues; write comma-separated names, for example crawl"
        )
    return names


def node_name(text: str) -> str:
    """Parses a node's name, which is used in leases and locks. Raises ArgumentTypeError if the name
    is not allowed."""
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,60}", text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a valid node name; use letters, digits, dots, dashes and underscores"
        )
    return text


STATES = {"drain": NodeState.DRAINING, "pause": NodeState.PAUSED, "resume": NodeState.ACTIVE}


class Command(BaseCommand):
    help = (
        "Makes this machine a worker node until Ctrl-C; `node list` lists all nodes, `node"
        " drain|pause|resume NAME` controls one."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "action",
            nargs="?",
            choices=["list", *STATES],
            help="list shows all nodes; drain, pause and resume control one",
        )
        parser.add_argument(
            "node", nargs="?", type=node_name, help="the node to drain, pause or resume"
        )
        parser.add_argument(
            "--name",
            type=node_name,
            default=None,
            help="name of the node (default: the host's name)",
        )
        own = [settings.Q_CLUSTER["name"]]
        parser.add_argument(
            "--queues",
            type=queue_names,
            default=own,
            metavar="A,B",
            help=f"queues, default {own[0]}",
        )
        parser.add_argument(
            "--json", action="store_true", help="one JSON document on standard output"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if (options["action"] in STATES) != bool(options["node"]):
            raise CommandError(
                "name one node: `node drain NAME`, `node pause NAME` or `node resume NAME`."
            )
        try:
            if options["action"] == "list":
                upgrade.ready_for_nodes()
                self._list(options["json"])
            elif options["node"]:
                self._request(options["node"], STATES[options["action"]])
            else:
                self._work(options["name"] or nodes.own_name(), options["queues"])
        except DatabaseProblem as error:
            raise CommandError(
                f"The database does not answer: {str(error).strip().splitlines()[0]}"
            ) from None

    def _work(self, name: str, queues: list[str]) -> None:
        own = [name] if len(queues) == 1 else [f"{name}-{one}" for one in queues]
        upgrade.ready_for_nodes()
        in_subprocess(run_system_checks)
        with only_one(f"node-{name}"):
            try:
                nodes.admit(own, SYSTEM)
            except nodes.Refused as error:
                raise CommandError(str(error)) from None
            queue.make_schedules()
            say(f"Node {name} takes from {', '.join(queues)}. Stop with Ctrl-C.")
            clusters = [
                cluster(node, one, settings.WORKERS) for node, one in zip(own, queues, strict=True)
            ]
            supervise(clusters, may_drain=True)
            say("Stopped.")

    def _request(self, name: str, state: NodeState) -> None:
        node = Node.objects.filter(name=name).first()
        if node is None:
            raise CommandError(f"There is no node {name}; `node list` shows all.")
        nodes.request_state(node, state, SYSTEM.now())
        say(f"Node {name}: {state.label}.")

    def _list(self, as_json: bool) -> None:
        rows = nodes.listing(SYSTEM.now())
        if as_json:
            write_json({"nodes": rows})
        elif rows:
            self.stdout.write(
                table(list(rows[0]), ([_plain(value) for value in row.values()] for row in rows))
            )
        else:
            say("No node has ever run.")


def _plain(value: Any) -> Any:
    return value.isoformat(timespec="seconds") if hasattr(value, "isoformat") else value
