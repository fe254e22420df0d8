"""The wheel, installed without extras into an empty environment: what it contains, how large it
is, and that the program runs from an empty folder."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path

import pytest

from crawlmgr import __version__, installation
from tests import packaged
from tests.serving import QUICK, ROOT, Serve
from tests.test_requirements import PACKAGES

pytestmark = [pytest.mark.slow, pytest.mark.once]
LARGEST_BYTES = 550e6
OWN = (*PACKAGES, f"crawlmgr-{__version__}.dist-info")


class Installed:
    """The installed program: its environment's folder, and commands run in an empty folder."""

    def __init__(self, folder: Path) -> None:
        self.root, self.here = folder / "environment", folder / "empty"
        self.here.mkdir()
        self.environment = packaged.clean_environment(**QUICK)

    @property
    def program(self) -> str:
        return str(self.root / "bin" / "crawlmgr")

    def run(self, *words: str, **more: str) -> tuple[int, str, str]:
        """Returns exit status, standard output and the last line of standard error."""
        done = packaged.run([self.program, *words], self.here, {**self.environment, **more})
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout, (done.stderr.splitlines() or [""])[-1]

    def python(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs Python with the installed program, isolated from the folder of a script."""
        python = str(self.root / "bin" / "python")
        return packaged.run([python, "-I", *words], self.here, self.environment)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packaged.built(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    one = Installed(tmp_path_factory.mktemp("stranger"))
    pins = one.root.with_name("pins.txt")
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pins.write_text(
        "\n".join(re.sub(r"\[.*?\]", "", line.partition("#")[0]) for line in lines),
        encoding="utf-8",
    )
    packaged.uv("venv", "--python", sys.executable, str(one.root))
    python = str(one.root / "bin" / "python")
    packaged.uv("pip", "install", "--python", python, "--constraint", str(pins), str(wheel))
    return one


def test_the_wheel_holds_the_four_packages_with_their_files(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {name.partition("/")[0] for name in names} == set(OWN)
    mapped = {
        f"crawlmgr/{path.relative_to(ROOT).as_posix()}"
        for folder in ("templates", "static", "docs/en", "docs/zh")
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
    }
    own = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.suffix not in (".pyc", ".po")
    }
    assert any(name.endswith("weights.npz") for name in own) and len(mapped) > 100
    assert {name for name in names if ".dist-info/" not in name} == mapped | own


def test_the_environment_holds_nothing_else_of_ours_and_is_small(installed: Installed) -> None:
    (site,) = (installed.root / "lib").glob("python*/site-packages")
    record = (site / OWN[-1] / "RECORD").read_text(encoding="utf-8").splitlines()
    assert {line.partition("/")[0] for line in record} == {*OWN, ".."}  # "..": bin/crawlmgr
    for extra in installation.EXTRAS.values():
        for module in extra.modules:
            assert not (site / module).exists()
    assert packaged.disk_bytes(installed.root) <= LARGEST_BYTES


@pytest.mark.parametrize(
    ("variable", "value", "extra"),
    [
        ("DATABASE_URL", "postgresql://user@host/name", "postgres"),
        ("CRAWLMGR_BROKER_URL", "redis://host/0", "redis"),
        ("CRAWLMGR_ARCHIVE_STORE", "s3://bucket", "s3"),
    ],
)
def test_a_missing_extra_is_one_line(
    installed: Installed, variable: str, value: str, extra: str
) -> None:
    status, _out, line = installed.run("node", "list", **{variable: value})
    assert status == 1 and line == f"{variable}: {installation.advice(extra)}."


def test_commands_say_what_they_are(installed: Installed) -> None:
    status, out, _line = installed.run("forum", "--help")
    assert status == 0 and out.startswith("usage: crawlmgr forum") and "simulate" in out
    status, out, _line = installed.run("--version")
    assert status == 0 and out


def test_the_desk_answers_from_an_empty_folder_and_the_demonstration_runs(
    installed: Installed,
) -> None:
    desk = Serve(
        installed.environment,
        installed.here.with_name("serve.log"),
        root=installed.here,
        program=[installed.program],
    )
    desk.start()
    try:
        assert desk.healthy(), desk.told()
        assert f"Data: {installed.here / 'var'}\n" in desk.told()
        assert (installed.here / "var" / "crawlmgr.sqlite3").is_file()
        assert [path.name for path in installed.here.iterdir()] == ["var"]
        for path, words in (
            ("admin/login/", "desk.css"),  # a template of ours
            ("static/desk.css", "{"),
            ("static/keys.js", "key"),
        ):
            # our own address
            with urllib.request.urlopen(desk.address() + path, timeout=60) as page:  # noqa: S310
                assert words in page.read().decode()
        words = "export runs --format parquet --out runs.parquet"
        status, _out, line = installed.run(*words.split())
        assert status == 1 and line == f"CommandError: {installation.advice('parquet')}."
        assert not (installed.here / "runs.parquet").exists()
        told = installed.python("-c", GUIDE)
        assert told.stdout.split() == ["True", "True"], told.stderr
        done = installed.python(str(ROOT / "tests" / "small_demo.py"), "--once", "--json")
        assert done.returncode == 0, done.stderr
        made = json.loads(done.stdout)
        assert made["forum"]["posts"] and made["topic"]["fetched"] and made["deepweb"]["records"]
    finally:
        status = desk.end(signal.SIGTERM)
    assert status == 0 and desk.told().rstrip().endswith("Stopped."), desk.told()


GUIDE = """
import os, django
os.environ["DJANGO_SETTINGS_MODULE"] = "crawlmgr.settings"
django.setup()
from django.utils.translation import gettext, override
from crawlmgr.admin.help import laid_out, pages
print(len(pages()) > 8 and "<h2" in laid_out("zh", "forums")[1])
with override("zh-hans"):
    print(gettext("Exports") != "Exports")
"""
