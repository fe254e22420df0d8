"""Requirements are correct: requirements.txt names exactly the packages that the program imports;
packages only for tests are in tests/requirements.txt."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from crawlmgr.installation import extras

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("crawlmgr", "forums", "focused", "deepweb")
LOADED_BY_NAME = {  # packages without an import, and what loads them
    "whitenoise": "MIDDLEWARE of crawlmgr/settings.py",
    "psycopg": "Django, for PostgreSQL",
    "psycopg-pool": "psycopg, for its pool",
}
COMPARED = {
    "scrapy",
    "twisted",
}  # used by benchmarks only: scrapy is a requirement of the tests, twisted is installed with it

pytestmark = pytest.mark.once


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned(path: str) -> set[str]:
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    return {normal(re.split(r"[\[=]", line)[0]) for line in lines if line and line[0] not in "#-"}


@cache
def imported() -> dict[str, str]:
    """Top-level names of third-party modules that the program imports, each with a file that
    does."""
    ours = {*PACKAGES, "tests"}
    found: dict[str, str] = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for name in _imports(path):
                if name not in sys.stdlib_module_names and name not in ours:
                    found.setdefault(name, path.relative_to(ROOT).as_posix())
    return found


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@cache
def distributions() -> dict[str, set[str]]:
    return {
        module: {normal(name) for name in names}
        for module, names in packages_distributions().items()
    }


def test_the_program_imports_each_of_its_requirements() -> None:
    used = {name for module in imported() for name in distributions().get(module, set())}
    unused = pinned("requirements.txt") - used - LOADED_BY_NAME.keys()
    assert not unused, "move these to tests/requirements.txt or drop them: " + ", ".join(
        sorted(unused)
    )
    assert pinned("requirements.txt") >= LOADED_BY_NAME.keys()


def test_each_import_of_the_program_is_a_requirement() -> None:
    named = pinned("requirements.txt")
    missing = {
        module: path
        for module, path in imported().items()
        if module not in COMPARED and not distributions().get(module, set()) & named
    }
    assert not missing, f"imported, but not in requirements.txt: {missing}"


def test_the_package_allows_the_pinned_versions_and_names_no_other_library() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    allowed = [
        Requirement(text)
        for texts in (project["dependencies"], *optional.values())
        for text in texts
    ]
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line.partition("#")[0]) for line in lines if line and line[0] != "#"]
    ranges = {normal(one.name): one for one in allowed}
    assert len(ranges) == len(allowed) == len(pins) and ranges.keys() == pinned("requirements.txt")
    wrong = [
        str(pin)
        for pin in pins
        if pin.extras != ranges[normal(pin.name)].extras
        or next(iter(pin.specifier)).version not in ranges[normal(pin.name)].specifier
    ]
    assert not wrong, "outside the ranges of pyproject.toml: " + ", ".join(wrong)


def test_the_extras_of_the_package_install_the_modules_that_are_looked_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    installed = {
        extra: {normal(Requirement(text).name) for text in texts}
        for extra, texts in project["optional-dependencies"].items()
    }
    assert installed == {
        extra: set().union(*(distributions()[module] for module in one.modules))
        for extra, one in extras.EXTRAS.items()
    }


def test_no_requirement_stands_twice() -> None:
    assert not pinned("requirements.txt") & pinned("tests/requirements.txt")
