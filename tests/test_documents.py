"""Documents agree with the project: the files and names that they mention exist, links between them
are valid, and the version is stored in one place."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from crawlmgr import __version__
from crawlmgr.api import api
from crawlmgr.frontier.fetching import user_agent
from focused.graph import MemoryGraph
from focused.judge.relevance import Relevance
from focused.run.loop import crawl
from tests.benches.registry import BENCHES
from tests.focused.webs import OFF, ON, Web, topic, url

pytestmark = pytest.mark.once
ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
)  # the guide (folders in docs) is tested in test_docs.py
FOLDERS = (
    "crawlmgr/",
    "forums/",
    "focused/",
    "deepweb/",
    "templates/",
    "static/",
    "tests/",
    "docs/",
    ".ci/",
)
PLACEHOLDER = re.compile(r"[<>*…]|\bX\b|NAME|NNNN")

_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*$", re.MULTILINE)


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _code(path: Path) -> list[str]:
    """Code spans of a document that refer to a file of the project, with or without a name in it:
    "crawlmgr/engine.py:run_slice"."""
    spans = [
        span.strip() for span in _CODE.findall(_FENCE.sub("", path.read_text(encoding="utf-8")))
    ]
    return [
        span
        for span in spans
        if span.startswith(FOLDERS) and " " not in span and not PLACEHOLDER.search(span)
    ]


@cache
def _defined(path: Path) -> frozenset[str]:
    """Names defined in a module, without imported ones; members of classes as "Class.member"."""
    found: set[str] = set()

    def walk(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(prefix + node.name)
            if isinstance(node, ast.ClassDef):
                walk(node.body, f"{prefix}{node.name}.")
            targets = (
                node.targets
                if isinstance(node, ast.Assign)
                else [node.target]
                if isinstance(node, ast.AnnAssign)
                else []
            )
            names = [
                name
                for target in targets
                for name in ast.walk(target)
                if isinstance(name, ast.Name)
            ]
            found.update(prefix + name.id for name in names)

    walk(ast.parse(path.read_text(encoding="utf-8")).body, "")
    return frozenset(found)


def _anchors(path: Path) -> set[str]:
    """The anchors of a document: those generated from headings, and explicit ones: "Title
    {#anchor}"."""
    text = _FENCE.sub("", path.read_text(encoding="utf-8"))
    named = re.findall(r"^#{1,6} .*\{#([\w-]+)\}\s*$", text, re.MULTILINE)
    plain = [
        re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
        for heading in _HEADING.findall(text)
    ]
    return {*named, *(heading.strip().replace(" ", "-") for heading in plain)}


def _missing(span: str) -> bool:
    file, _, name = span.partition(":")
    path = ROOT / file
    if not path.exists():
        return True
    return bool(name) and (path.suffix != ".py" or name not in _defined(path))


@pytest.mark.parametrize("path", DOCUMENTS, ids=_name)
def test_files_and_names_in_documents_exist(path: Path) -> None:
    assert not [span for span in _code(path) if _missing(span)]


@pytest.mark.parametrize("path", DOCUMENTS, ids=_name)
def test_links_between_documents_hold(path: Path) -> None:
    broken = []
    for target in _LINK.findall(_FENCE.sub("", path.read_text(encoding="utf-8"))):
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            continue
        aim = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if not aim.exists() or (
            parts.fragment and aim.suffix == ".md" and unquote(parts.fragment) not in _anchors(aim)
        ):
            broken.append(target)
    assert not broken


def test_the_check_of_names_finds_what_is_missing() -> None:
    assert not _missing("crawlmgr/engine.py:run_slice") and not _missing(
        "focused/strategies/base.py:Strategy.expand"
    )
    assert (
        _missing("crawlmgr/engine.py:no_such_name")
        and _missing("crawlmgr/no_such_file.py")
        and _missing("static/desk.css:name")
    )


def test_the_strategy_of_the_guide_runs() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        exec(compile(block, "CONTRIBUTING.md", "exec"), names)  # noqa: S102 - our own text
    web = Web(
        {"s": (OFF, ["long", "a"]), "long": (ON, []), "a": (OFF, ["middle"]), "middle": (ON, [])}
    )
    graph = MemoryGraph()
    trail = crawl(
        names["ShortestFirst"](Relevance(topic(["s"])), graph), graph, web, [url("s")], 10
    )
    assert [step.url for step in trail.steps] == [
        url(name) for name in ("s", "a", "long", "middle")
    ]


def test_the_version_stands_in_one_place() -> None:
    described = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in described["project"] and "version" in described["project"]["dynamic"]
    assert described["tool"]["hatch"]["version"] == {"path": "crawlmgr/__init__.py"}
    assert user_agent().split(" ")[0] == f"crawlmgr/{__version__}"
    assert api.version == __version__


def test_benches_named_in_documents_exist() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (*DOCUMENTS, *ROOT.glob("docs/*/*.md"))]
    named = {name for text in texts for name in re.findall(r"\bbench ([a-z]+)\b[^`\n]*`", text)}
    assert len(named) > 15 and named <= {*BENCHES, "list"}


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_bytes()) <= 7000


def test_the_changelog_knows_the_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## (\d+\.\d+\.\d+)\b", text, re.MULTILINE)
    assert released[0] == __version__ and len(released) == len(set(released))
