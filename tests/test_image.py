"""The Dockerfile without a container engine: its RUN lines are executed in order in a folder that
stands for the file system of the image, then its CMD is started there."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from crawlmgr import installation
from tests import packaged
from tests.serving import QUICK, ROOT, Serve

pytestmark = pytest.mark.once

FOLDERS = ("/source", "/wheels", "/opt/crawlmgr", "/data")
"""The absolute paths of the Dockerfile, each of which is replaced by a folder of the test."""
ACCOUNTS = ("useradd", "chown")
"""Programs that would change accounts of this machine: their calls are only noted."""


LACKING = (
    "from crawlmgr import installation as own;"
    " print([*filter(own.missing, own.EXTRAS),"
    " *(one for one in (own.TEMPLATES, own.STATIC, own.GUIDE) if not any(one.iterdir()))])"
)


class Step(NamedTuple):
    """An instruction of a Dockerfile: its name in capitals, and the text behind it."""

    name: str
    text: str


def steps() -> list[Step]:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", "").splitlines()
    split = (line.split(maxsplit=1) for line in lines if line and line[0] != "#")
    return [Step(name, text.strip()) for name, text in split]


def stages() -> list[list[Step]]:
    """The instructions of each stage, without FROM."""
    found: list[list[Step]] = []
    for step in steps():
        if step.name == "FROM":
            found.append([])
        elif found:
            found[-1].append(step)
    return found


def settings_of(stage: list[Step]) -> dict[str, str]:
    """The variables that ENV and ARG of a stage set."""
    return dict(
        pair.split("=", 1)
        for step in stage
        if step.name in ("ENV", "ARG")
        for pair in step.text.split()
    )


def last(name: str) -> str:
    """The text of the only instruction of this name in the last stage, which is the image."""
    (text,) = (step.text for step in stages()[-1] if step.name == name)
    return text


def sent() -> list[str]:
    """What .dockerignore lets through: paths at the top of the checkout."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in lines
    return [line[1:] for line in lines if line.startswith("!")]


class Machine:
    """A folder that stands for the file system of the image and of the stages before it."""

    def __init__(self, root: Path) -> None:
        self.root, self.noted = root, root / "accounts"
        self.base, stubs = root / "python", root / "stubs"
        stubs.mkdir()
        for name in ACCOUNTS:
            (stubs / name).write_text(f'#!/bin/sh\necho "{name} $@" >> "{self.noted}"\n')
            (stubs / name).chmod(0o755)
        packaged.uv("venv", "--seed", "--python", sys.executable, str(self.base))
        path = os.pathsep.join([str(stubs), str(self.base / "bin"), os.environ["PATH"]])
        self.environment = packaged.clean_environment(PATH=path)

    def here(self, text: str) -> str:
        """Replaces the paths of the image in a text by those of this machine."""
        paths = "|".join(map(re.escape, FOLDERS))
        return re.sub(rf"(?<![\w.{{}}-])({paths})(?=[/\s,\"']|$)", rf"{self.root}\1", text)

    def build(self) -> None:
        for stage in stages():
            # compiling takes longer than all the rest together
            variables = {**settings_of(stage), "UV_COMPILE_BYTECODE": "0"}
            variables.pop("PATH", None)
            folder = self.root
            for step in stage:
                if step.name == "WORKDIR":
                    folder = Path(self.here(step.text))
                    folder.mkdir(parents=True, exist_ok=True)
                elif step.name == "COPY":
                    self.copy(step.text, folder)
                elif step.name == "RUN":
                    command = ["sh", "-ec", self.here(step.text)]
                    packaged.installing(command, folder, {**self.environment, **variables})

    def copy(self, text: str, folder: Path) -> None:
        """Copies as COPY does. All stages are in one folder, so that what one takes from another
        at the same path is there already."""
        words = text.split()
        if words[0].startswith("--from="):
            assert words[1] == words[2] and Path(self.here(words[1])).exists()
            return
        for word in sent() if words[0] == "." else words[:-1]:
            target = folder / self.here(words[-1]) / word
            target.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / word).is_dir():
                shutil.copytree(ROOT / word, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(ROOT / word, target)

    def running(self) -> tuple[list[str], dict[str, str]]:
        """The words of CMD, with a free port, and the environment in which it is started."""
        own = {name: self.here(text) for name, text in settings_of(stages()[-1]).items()}
        own["PATH"] = own["PATH"].replace("$PATH", os.environ["PATH"])
        # the port may be in use here
        words = [word.replace(":8000", ":0") for word in json.loads(last("CMD"))]
        return words, packaged.clean_environment(**QUICK, **own)


def test_every_path_of_the_dockerfile_is_replaced() -> None:
    used = {
        path
        for step in steps()
        for path in re.findall(r"(?<![\w.}/-])(/[a-z]+(?:/[a-z]+)*)", step.text)
        if step.name in ("RUN", "COPY", "WORKDIR", "VOLUME", "ENV")
    }
    assert used and all(path.startswith(FOLDERS) for path in used), used


def test_the_image_says_what_its_readers_rely_on() -> None:
    image = stages()[-1]
    assert last("USER") == "crawlmgr" and last("VOLUME") == "/data" and last("EXPOSE") == "8000"
    assert settings_of(image)["CRAWLMGR_DATA"] == "/data"
    assert "/healthz" in last("HEALTHCHECK") and "8000" in last("HEALTHCHECK")
    names = [step.name for step in image]
    assert names.index("USER") > max(at for at, name in enumerate(names) if name == "RUN")
    everything = set().union(
        *(settings_of(stage).get("EXTRAS", "").split(",") for stage in stages())
    )
    assert everything - {""} == set(installation.EXTRAS)
    pinned = (ROOT / "tests/requirements.lock").read_text(encoding="utf-8")
    (uv,) = re.findall(r"\buv==\S+", " ".join(step.text for step in steps()))
    assert f"\n{uv} " in pinned


@pytest.mark.slow
def test_its_lines_build_and_start_the_program(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.build()
    assert (
        "useradd" in machine.noted.read_text() and f"{tmp_path}/data" in machine.noted.read_text()
    )
    words, environment = machine.running()
    program = shutil.which(words[0], path=environment["PATH"])
    assert program == f"{tmp_path}/opt/crawlmgr/bin/crawlmgr"
    python = f"{tmp_path}/opt/crawlmgr/bin/python"
    told = packaged.run([python, "-c", LACKING], tmp_path, environment)
    assert told.stdout == "[]\n", told.stderr
    desk = Serve(
        {**environment, "CRAWLMGR_ALLOWED_HOSTS": "desk.example.org"},
        tmp_path / "log",
        *words[1:],
        root=tmp_path / "data",
        program=[program],
    )
    desk.start()
    try:
        assert desk.healthy(), desk.told()
        probe = json.loads(last("HEALTHCHECK").partition("CMD ")[2])
        port = desk.address().rstrip("/").rpartition(":")[2]
        probe[-1] = probe[-1].replace("8000", port)
        assert probe[0] == "python"
        checked = packaged.run([python, *probe[1:]], tmp_path, environment)
        assert checked.returncode == 0, checked.stderr
        assert (tmp_path / "data" / "crawlmgr.sqlite3").is_file()
    finally:
        status = desk.end(signal.SIGTERM)
    assert status == 0, desk.told()
    assert packaged.run([python, *probe[1:]], tmp_path, environment).returncode != 0
