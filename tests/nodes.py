"""A cluster for tests: a PostgreSQL server, an installation on it, and `node` processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.postgresql import MIGRATED, Server, find_binaries
from tests.serving import QUICK, ROOT, Serve, begun, manage, wait_for


class Cluster:
    """A group of worker nodes with common environment variables (`environment`): `start` starts
    nodes by name; other methods run commands, and drain or stop nodes."""

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        self.environment = {**QUICK, **environment}
        self.folder = folder
        self.root = ROOT  # root folder of the program to start; tests of upgrades use a copy
        self.nodes: dict[str, Serve] = {}

    def start(self, *names: str, **settings: str) -> None:
        """Starts nodes and waits until each accepts work; `settings` are environment variables for
        these nodes only."""
        for name in names:
            environment = {**self.environment, **settings}
            self.nodes[name] = Serve(
                environment, self.folder / f"{name}.log", "node", "--name", name, root=self.root
            )
            self.nodes[name].start()
        wait_for(lambda: self._signed(names))
        assert wait_for(lambda: all(self.states().get(name) == "active" for name in names)), (
            self.told()
        )

    def _signed(self, names: Collection[str]) -> bool:
        """Tells whether each of these nodes has sent a heartbeat since its start. Queries the
        database, since `node list` would take a second of CPU each time."""
        try:
            found = self.rows("SELECT name FROM crawlmgr_node WHERE heartbeat >= started")
        except psycopg.errors.UndefinedTable:
            return False
        ended = any(  # type: ignore[union-attr]
            self.nodes[name].process.poll() is not None for name in names
        )
        return ended or {name for (name,) in found} >= set(names)

    def listed(self) -> dict[str, dict[str, Any]]:
        """Runs `node list` and returns its rows by the name of the node."""
        said = manage(self.environment, "node", "list", "--json", root=self.root)
        assert said.returncode == 0, said.stderr
        return {row["name"]: row for row in json.loads(said.stdout)["nodes"]}

    def states(self) -> dict[str, str]:
        """The state of each node, by name."""
        return {name: row["state"] for name, row in self.listed().items()}

    def drain(self, *names: str) -> None:
        """Drains nodes and waits until their processes have exited."""
        for name in names:
            said = manage(self.environment, "node", "drain", name, root=self.root)
            assert said.returncode == 0, said.stderr
        for name in names:
            assert wait_for(lambda name=name: self.nodes[name].process.poll() is not None), (
                self.told()
            )  # type: ignore[misc]
            process = self.nodes.pop(name).process
            assert process is not None and process.returncode == 0, self.told()

    def stop(self) -> None:
        """Ends all nodes."""
        for node in self.nodes.values():
            if node.process is not None and node.process.poll() is None:
                node.process.send_signal(signal.SIGTERM)
        for node in self.nodes.values():
            node.end()
        self.nodes.clear()

    def command(self, *words: str) -> subprocess.Popen[str]:
        """Starts a command beside the nodes."""
        return begun(self.environment, "manage.py", *words, root=self.root)

    def json(self, *words: str) -> Any:
        """Runs a command to its end and returns its JSON document."""
        done = manage(self.environment, *words, "--json", root=self.root)
        assert done.returncode == 0, done.stderr + self.told()
        return json.loads(done.stdout)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Runs a query on the installation's database; returns the rows."""
        with psycopg.connect(self.environment["DATABASE_URL"]) as connection:
            return connection.execute(query).fetchall()  # type: ignore[arg-type]

    def told(self) -> str:
        """The last part of the nodes' output."""
        return "\n".join(f"{name}: {node.told()[-1500:]}" for name, node in self.nodes.items())


@pytest.fixture(scope="session")
def database_server() -> Iterator[Server]:
    """A PostgreSQL server for clusters."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed")
    server = Server(binaries)
    server.start()
    yield server
    server.stop()


def _migrated(server: Server, environment: Mapping[str, str]) -> str:
    """The name of a migrated, empty template database, made once per server."""
    if not (server.folder / MIGRATED).exists():
        server.create(MIGRATED)
        made = manage(
            {**environment, "DATABASE_URL": server.url(MIGRATED)}, "migrate", "--no-input"
        )
        assert made.returncode == 0, made.stderr
        (server.folder / MIGRATED).touch()
    return MIGRATED


@contextmanager
def cluster(
    server: Server, name: str, folder: Path, *, tables: bool = True, **settings: str
) -> Iterator[Cluster]:
    """Yields a cluster without nodes, and stops the nodes added to it at the end. Its database has
    all tables; if `tables` is False, it has none, and the cluster creates them."""
    kept = {key: text for key, text in os.environ.items() if not key.startswith("CRAWLMGR_")}
    folder.mkdir(parents=True, exist_ok=True)
    environment = {
        **kept,
        "CRAWLMGR_DATA": str(folder / "data"),
        "DATABASE_URL": server.url(name),
        **settings,
    }
    server.create(name, _migrated(server, environment) if tables else "template1")
    one = Cluster(environment, folder)
    try:
        yield one
    finally:
        one.stop()
