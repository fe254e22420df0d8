"""Runs the commands of compose.yaml without Docker: checks that the web server and three nodes can
start at the same time on an empty database."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from tests.nodes import database_server
from tests.postgresql import Server
from tests.serving import ROOT, Serve, manage, wait_for
from tests.test_image import last, settings_of, stages

__all__ = ["database_server"]
CONTAINERS = ("node-1", "node-2", "node-3")


def services() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "compose.yaml").read_text())["services"])


def words(service: dict[str, Any]) -> list[str]:
    """Returns the arguments that a service passes to the program: those of its command, or of the
    image if it names none."""
    assert service["build"] == "." and service["image"] == "crawlmgr"
    own = service.get("command")
    program, *arguments = shlex.split(own) if own else json.loads(last("CMD"))
    assert program == "crawlmgr"
    return list(arguments)


def environment(
    service: dict[str, Any], server: Server, folder: Path, container: str
) -> dict[str, str]:
    """The environment of the image and the service, with this machine's database and folder in
    place of the containers'."""
    own = {name: str(value) for name, value in service["environment"].items()}
    given = {**settings_of(stages()[-1]), **own}
    del given["PATH"]  # the image's; the commands run from the checkout
    assert (
        given["DATABASE_URL"].endswith("@database/crawlmgr") and given["CRAWLMGR_DATA"] == "/data"
    )
    kept = {name: text for name, text in os.environ.items() if not name.startswith("CRAWLMGR_")}
    here = {
        "DATABASE_URL": server.url("composed"),
        "CRAWLMGR_DATA": str(folder),
        "CRAWLMGR_NODE": container,
    }
    return {**kept, **given, **here}


@pytest.mark.slow
@pytest.mark.once
def test_desk_and_nodes_start_as_the_file_says(database_server: Server, tmp_path: Path) -> None:
    described = services()
    database, web, node = (described[name] for name in ("database", "web", "node"))
    assert web["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert node["depends_on"] == {"web": {"condition": "service_started"}}, (
        "started, not ready: both find an empty database"
    )
    assert web["volumes"] == node["volumes"] == [f"data:{last('VOLUME')}"]
    assert web["ports"] == [f"127.0.0.1:8000:{last('EXPOSE')}"] and not node["ports"]
    assert node["healthcheck"] == {"disable": True}, "the image's asks the desk, which it has not"

    database_server.create("composed")
    probe, *options = database["healthcheck"]["test"][1:]
    at = ["-h", str(database_server.folder)]
    assert (
        subprocess.run(
            [database_server.binaries / probe, *options, *at], check=False, capture_output=True
        ).returncode
        == 0
    )

    asked = [
        word if word != "0.0.0.0:8000" else "127.0.0.1:0" for word in words(web)
    ]  # the port may be in use here, noqa: S104
    assert asked[0] == "serve" and words(node) == ["node"]
    desk = Serve(environment(web, database_server, tmp_path, "web"), tmp_path / "web.log", *asked)
    nodes = [
        Serve(
            environment(node, database_server, tmp_path, name),
            tmp_path / f"{name}.log",
            *words(node),
        )
        for name in CONTAINERS
    ]
    try:
        for one in (desk, *nodes):
            one.start()
        assert desk.healthy(), desk.told()
        alive = "SELECT name FROM crawlmgr_node WHERE heartbeat >= started ORDER BY name"
        with psycopg.connect(database_server.url("composed"), autocommit=True) as connection:
            wanted = [(name,) for name in (*CONTAINERS, "web")]
            assert wait_for(lambda: connection.execute(alive).fetchall() == wanted, every=0.5), [
                one.told() for one in nodes
            ]
        said = manage(desk.environment, "node", "list")
        assert said.returncode == 0 and all(name in said.stdout for name in CONTAINERS)
        for one in nodes:
            assert (
                "Traceback" not in one.told()
                and one.process is not None
                and one.process.poll() is None
            ), one.told()
    finally:
        ends = [
            one.end(signal.SIGTERM) for one in (*nodes, desk)
        ]  # what `docker compose stop` sends
    assert ends == [0, 0, 0, 0], [one.told() for one in (*nodes, desk)]
