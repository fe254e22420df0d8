"""The user guide: the same pages in both languages, valid links, and a notebook whose calls exist
in the API."""

from __future__ import annotations

import ast
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands, load_command_class
from django.test import Client
from django.utils import translation
from django.utils.translation import gettext

from crawlmgr.admin import help as guide
from crawlmgr.alarms.causes import RULES
from crawlmgr.api.base import api
from crawlmgr.exports import exports, saved_exports
from deepweb.exports import OF_RECORD
from focused.strategies.base import BUILT_IN
from forums.models import Policy
from tests.crawlmgr.admin.rows import user

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
LANGUAGES = ("en", "zh")
PACKAGES = ("crawlmgr", "forums", "focused", "deepweb")
PAGES = sorted(path.name for path in (DOCS / "en").glob("*.md"))
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def _anchors(path: Path) -> set[str]:
    return set(re.findall(r"\{#([a-z-]+)\}", path.read_text(encoding="utf-8")))


@pytest.mark.once
def test_both_languages_have_the_same_pages_with_the_same_parts() -> None:
    assert sorted(path.name for path in (DOCS / "zh").glob("*.md")) == PAGES and len(PAGES) >= 9
    for name in PAGES:
        one, other = (
            (DOCS / language / name).read_text(encoding="utf-8") for language in LANGUAGES
        )
        for mark in ("\n## ", "\n| ", "\n1. ", "\n- ", "```"):
            assert one.count(mark) == other.count(mark), (name, mark)
        assert not re.search(r"[\u4e00-\u9fff]", one) and re.search(r"[\u4e00-\u9fff]", other)


@pytest.mark.once
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_link_leads_to_a_page_and_its_place(language: str) -> None:
    found = 0
    for name in PAGES:
        for target in LINK.findall((DOCS / language / name).read_text(encoding="utf-8")):
            path, _hash, place = target.partition("#")
            where = (DOCS / language / path).resolve()
            assert where.is_file(), (name, target)
            assert not place or place in _anchors(where), (name, target)
            found += 1
    assert found >= 12
    listed = {
        target.partition("#")[0]
        for target in LINK.findall((DOCS / language / "index.md").read_text(encoding="utf-8"))
    }
    assert listed == set(PAGES) - {"index.md"}


@pytest.mark.once
@pytest.mark.parametrize("language", LANGUAGES)
def test_what_can_be_counted_is_whole(language: str) -> None:
    formats = (
        (DOCS / language / "exports.md")
        .read_text(encoding="utf-8")
        .lower()
        .replace("json lines", "jsonl")
    )
    assert all(name in formats for name in (*exports.FORMATS, saved_exports.WARC))
    causes = (DOCS / language / "alarms.md").read_text(encoding="utf-8").split("\n## ")[0]
    assert causes.count("\n|") - 2 == len(RULES)


@pytest.mark.once
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_policy_and_described_strategy_has_its_part_with_a_picture(language: str) -> None:
    described = {one: sections(one) for one in LANGUAGES}
    assert (
        described["en"] == described["zh"]
        and set(described["en"]) <= set(BUILT_IN)
        and len(described["en"]) >= 14
    )
    for name, count in (("policies", len(Policy.values)), ("strategies", len(described[language]))):
        _head, *parts, last = (
            (DOCS / language / f"{name}.md").read_text(encoding="utf-8").split("\n## ")
        )
        assert len(parts) == count and last.endswith("\n") and "{#which}" in last
        assert all(part.count("```") == 2 for part in parts)


def sections(language: str) -> list[str]:
    return re.findall(
        r"^## (\w+) \{#(?!which)",
        (DOCS / language / "strategies.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("language", "meaning"), [("en", "Weight of the anchor text"), ("zh-hans", "锚文本")]
)
def test_the_guide_on_the_desk_has_a_part_of_every_strategy(
    language: str, meaning: str, settings: Any
) -> None:
    """The guide also shows a strategy without a section of its own, with the texts and parameters
    from its class."""
    settings.TOPIC_STRATEGIES = {"undescribed": "focused.strategies.best_first.BestFirst"}
    guide.laid_out.cache_clear()
    client = Client(headers={"Accept-Language": language})
    client.force_login(user("viewer"))
    text = client.get("/admin/help/strategies/").content.decode()
    guide.laid_out.cache_clear()
    for name in (*BUILT_IN, "undescribed"):
        assert text.count(f'<h2 id="{name.replace("_", "-")}"') == 1, name
    added = text.split('<h2 id="undescribed"')[1].split("<h2")[0]
    assert "<code>anchor=0.4</code>" in added and meaning in added


@pytest.mark.once
def test_names_of_buttons_and_pages_are_those_of_the_desk() -> None:
    """What the guide sets in italics with a capital stands in the interface; the Chinese page has
    its Chinese name."""
    named = 0
    for name in PAGES:
        one, other = (
            _FENCE.sub("", (DOCS / language / name).read_text(encoding="utf-8"))
            for language in LANGUAGES
        )
        for text in re.findall(r"(?<![*\w])\*([A-Z][^*\n]+)\*(?!\*)", one):
            with translation.override("zh-hans"):
                chinese = gettext(text)
            assert chinese != text and chinese in other, (name, text, chinese)
            named += 1
    assert named > 20


@pytest.mark.once
def test_readme_links_lead_somewhere() -> None:
    for target in LINK.findall((ROOT / "README.md").read_text(encoding="utf-8")):
        assert target.startswith("http") or (ROOT / target.partition("#")[0]).exists(), target


@pytest.mark.once
def test_the_notebook_has_ten_cells_that_compile_and_ask_for_what_there_is() -> None:
    cells = json.loads((DOCS / "posts.ipynb").read_text(encoding="utf-8"))["cells"]
    assert len(cells) == 10
    source = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    ast.parse(source)
    paths = set(api.get_openapi_schema()["paths"])
    assert (
        "/api/v1/status" in paths
        and "/api/v1/tables/{table}" in paths
        and 'ask("status")' in source
    )
    columns = set(exports.tables()["posts"].columns)
    assert {"posted", "first_seen"} <= columns and "tables/{table}" in source


@pytest.mark.django_db
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_desk_shows_every_page_of_the_guide(language: str) -> None:
    client = Client(headers={"Accept-Language": language})
    client.force_login(user("viewer"))
    for name in [path.removesuffix(".md") for path in PAGES]:
        text = client.get(
            "/admin/help/" if name == "index" else f"/admin/help/{name}/"
        ).content.decode()
        for address in re.findall(r'href="(/admin/help/[^"#]*)', text):
            assert client.get(address).status_code == 200, (name, address)
        body = text.split('class="box guide"')[1]
        assert ".md" not in body and bool(re.search(r"[\u4e00-\u9fff]", body)) == (
            language == "zh-hans"
        )
    assert client.get("/admin/help/nothing/").status_code == 404
    beside = client.get("/admin/exports/").content.decode()
    assert 'href="/admin/help/exports/"' in beside and set(guide.BESIDE.values()) <= set(
        guide.pages()
    )


@pytest.mark.once
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("name", "least"), [("cluster", 12), ("commands", 13), ("operation", 7)])
def test_commands_of_the_guide_can_be_given(language: str, name: str, least: int) -> None:
    text = (DOCS / language / f"{name}.md").read_text(encoding="utf-8")
    given = re.findall(r"manage\.py ((?!NAME)[a-z]+\b[^`\n]*)", text) + re.findall(
        r"`(node [a-z]+ NAME)`", text
    )
    assert len(given) >= least
    for words in (shlex.split(one) for one in given):
        command = load_command_class(get_commands()[words[0]], words[0])
        command._words = words[1:]
        command.create_parser("manage.py", words[0]).parse_args(words[1:])


@pytest.mark.once
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_command_is_listed(language: str) -> None:
    """All but `cluster`, which `serve` and `node` start themselves; of the benches only their
    list."""
    page = (DOCS / language / "commands.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `([a-z]+(?: [a-z-]+)?)", page, re.MULTILINE))
    existing = {"bench list"}
    for name in (
        name
        for name, app in get_commands().items()
        if app in PACKAGES and name not in ("bench", "cluster")
    ):
        parts = getattr(load_command_class(get_commands()[name], name), "subcommands", {"": ""})
        existing |= {f"{name} {part}".strip() for part in parts}
    assert listed == existing


@pytest.mark.once
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_operation_of_the_api_is_listed(language: str) -> None:
    page = (DOCS / language / "api.md").read_text(encoding="utf-8")
    listed = {
        path: set(methods.split())
        for methods, path in re.findall(r"^\| ([A-Z ]+) \| `(\S+)` \|", page, re.MULTILINE)
    }
    paths = api.get_openapi_schema()["paths"]
    assert listed == {
        path.removeprefix("/api/v1"): {one.upper() for one in methods}
        for path, methods in paths.items()
    }


@pytest.mark.once
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_environment_variable_is_described(language: str) -> None:
    """Those whose names stand in strings of the product's code, and no others."""
    name = re.compile(r"\bCRAWLMGR_[A-Z0-9_]*[A-Z0-9]\b")
    code = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    read = {found for path in code for text in _strings(path) for found in name.findall(text)}
    page = (DOCS / language / "operation.md").read_text(encoding="utf-8")
    described = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert len(described) == len(set(described)) and len(read) > 30
    assert set(described) == {*read, "DATABASE_URL"}


def _strings(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    nodes = ast.walk(ast.parse(text)) if "CRAWLMGR_" in text else ()
    return [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


@pytest.mark.once
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_columns_of_every_export_are_listed_in_their_order(language: str) -> None:
    page = (DOCS / language / "exports.md").read_text(encoding="utf-8")
    parts = dict(re.findall(r"^\*\*(\w+)\*\*.*?\n\n((?:\|.*\n)+)", page, re.MULTILINE))
    listed = {
        name: re.findall(r"^\| `(\w+)` \|", rows, re.MULTILINE) for name, rows in parts.items()
    }
    columns = {name: list(table.columns) for name, table in exports.tables().items()}
    columns["records"] += OF_RECORD
    assert listed == columns
