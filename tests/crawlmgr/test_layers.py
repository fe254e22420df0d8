"""Imports point down the layers and have no cycles; only a few modules use sockets, WARC files and
the queue."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("crawlmgr", "forums", "focused", "deepweb")
CRAWLERS = ("forums", "focused", "deepweb")

ADMIN, ENTRY, CRAWLER, ENGINE, SERVICES, MODELS, PURE = range(1, 8)

# Modules whose layer does not follow from their folder.
SINGLE = {
    "crawlmgr.urls": ADMIN,
    "crawlmgr.wsgi": ADMIN,
    "crawlmgr.tasks": ENTRY,
    "crawlmgr.engine": ENGINE,
    "crawlmgr.storing": ENGINE,
    "crawlmgr.jobs": ENGINE,
    "crawlmgr": PURE,
    "crawlmgr.access.login": ADMIN,
    "crawlmgr.access.roles": ADMIN,
    "crawlmgr.alarms.sending": PURE,
    "crawlmgr.schedule.opening_hours": PURE,
    "crawlmgr.workers.child": PURE,
    "crawlmgr.workers.supervisor": PURE,
    "crawlmgr.workers.work_sharing": PURE,
    "forums.simulation.delay_simulation": PURE,
    "forums.simulation.fetch_simulation": PURE,
    "forums.simulation.simulated_lists": PURE,
    "forums.sites.login_pages": PURE,
    "forums.visits.incremental": PURE,
}
# Folders of `crawlmgr` that hold what belongs to one noun: its services and reads, and in these
# modules its views.
NOUNS = {
    *("access", "alarms", "archive", "database", "exports", "frontier", "runs", "schedule"),
    *("upkeep", "workers"),
}
VIEWS = {"desk", "downloads", "metrics"}
# Settings, app configurations and checks: Django loads them itself; modules of every layer but PURE
# may import them.
DJANGO_GROUND = {
    "crawlmgr.settings",
    "crawlmgr.apps",
    "forums.apps",
    "focused.apps",
    "deepweb.apps",
}
# Files and folders of a crawler that may use Django; the other ones are in the layer PURE.
CRAWLER_DJANGO = {
    *("crawler", "discovery_crawler", "dispatch", "exports", "reads"),
    *("plans", "simulation", "sites", "visits"),
}
# Modules beside pure ones in the folder of a noun that may use Django, too.
CRAWLER_MODULES = {
    "deepweb.answers.storing",
    "deepweb.choice.next_query",
    "deepweb.choice.opening",
    "deepweb.forms.clusters",
    "deepweb.forms.sources",
    "deepweb.forms.stored",
    "deepweb.harvest_session",
    "deepweb.harvests",
    "deepweb.size.probing",
    "focused.lab.stored_comparisons",
    "focused.lab.tuning",
    "focused.run.archived_pages",
    "focused.run.search",
    "focused.run.sessions",
    "focused.run.stored_graph",
    "focused.run.stored_pages",
    "focused.topic.marks",
    "focused.topic.readings",
    "focused.topic.samples",
    "focused.topic.topics",
    "forums.discovery.structures",
}
# Folders inside a crawler: a folder imports only folders before it, and the modules and folders
# that are not named here import all of them.
FOLDERS = {
    "forums": (
        *("selectors", "reading", "schedule", "models", "discovery", "plans", "visits"),
        *("simulation", "sites"),
    ),
    "focused": ("judge", "strategies", "run", "topic", "lab"),
}

SOCKET_MODULES = {
    "socket",
    "ssl",
    "socketserver",
    "asyncio",
    "http.client",
    "http.server",
    "urllib.request",
}
SOCKET_LIBRARIES = {"requests", "urllib3", "httpx", "aiohttp"}
OPENS_SOCKETS = {
    "crawlmgr.alarms.sending",
    "crawlmgr.web.http.direct",
    "crawlmgr.web.http.fetch",
    "crawlmgr.web.http.wire",
}
LISTENS = {  # modules that pass a listening socket to the web server, or listen themselves
    "crawlmgr.workers.supervisor",
    "crawlmgr.management.commands.serve",
    "crawlmgr.demo.site",
}
PAGE_FILES = {
    "crawlmgr.archive.archive",
    "crawlmgr.archive.warc_files",
    "crawlmgr.archive.offload",
    "crawlmgr.web.warc",
    "crawlmgr.web.warc.writer",
}
KNOWS_FASTWARC = {
    "crawlmgr.web.http.exchange",
    "crawlmgr.web.warc.reader",
    "crawlmgr.web.warc.stream",
}
KNOWS_DJANGO_Q = {
    *(f"crawlmgr.workers.{name}" for name in ("desk", "queue", "queue_redis", "queue_rows")),
    "crawlmgr.apps",
    "crawlmgr.tasks",
}


class Module(NamedTuple):
    name: str
    path: Path
    tree: ast.Module


class Import(NamedTuple):
    module: Module
    line: int
    target: str
    nested: bool


@cache
def modules() -> list[Module]:
    """All modules of the project, parsed on first use: every worker process imports this file, but
    only one of them runs it."""
    found = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found.append(Module(name, path, ast.parse(path.read_text(encoding="utf-8"), str(path))))
    return found


@cache
def known() -> set[str]:
    return {module.name for module in modules()}


def _imports(module: Module) -> Iterator[Import]:
    inside = {
        id(node)
        for function in _functions(module.tree)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                anchor = module.name.split(".")[
                    : -(node.level - (module.path.name == "__init__.py")) or None
                ]
                base = ".".join([*anchor, *([base] if base else [])])
            names = [
                full if (full := f"{base}.{alias.name}") in known() else base
                for alias in node.names
            ]
        else:
            continue
        for name in names:
            yield Import(module, node.lineno, name, id(node) in inside)


def _functions(tree: ast.Module) -> list[ast.AST]:
    return [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


@cache
def imports() -> list[Import]:
    return [one for module in modules() for one in _imports(module)]


def layer(name: str) -> int | None:
    """The layer of a module; None for modules outside the layers (Django's own files,
    migrations)."""
    parts = name.split(".")
    if name in DJANGO_GROUND or "migrations" in parts:
        return None
    if name in SINGLE:
        return SINGLE[name]
    second = parts[1] if len(parts) > 1 else ""
    if second in ("admin", "api"):
        return ADMIN
    if second in ("management", "commands"):
        return ENTRY
    if second == "models":
        return MODELS
    if parts[0] == "crawlmgr":
        return (ADMIN if parts[-1] in VIEWS else SERVICES) if second in NOUNS else PURE
    django = second in CRAWLER_DJANGO or not second or name in CRAWLER_MODULES
    return CRAWLER if django else PURE


def _ours(name: str) -> bool:
    return name.split(".")[0] in PACKAGES


def _told(wrong: list[Import]) -> str:
    return "\n".join(
        f"{one.module.path.relative_to(ROOT)}:{one.line} imports {one.target}" for one in wrong
    )


def test_imports_point_down() -> None:
    wrong = []
    for one in imports():
        above, below = layer(one.module.name), layer(one.target) if _ours(one.target) else None
        if above is not None and below is not None and below < above:
            wrong.append(one)
    assert not wrong, _told(wrong)


def test_folders_of_a_crawler_point_down() -> None:
    wrong = []
    for one in imports():
        crawler, own, *_ = [*one.module.name.split("."), ""]
        other, folder, *_ = [*one.target.split("."), ""]
        order = FOLDERS.get(crawler, ())
        if crawler == other and own in order and folder != own:
            wrong += [one] * (folder in order[order.index(own) :])
    assert not wrong, _told(wrong)


def test_crawlers_never_import_each_other() -> None:
    wrong = [
        one
        for one in imports()
        if (own := one.module.name.split(".")[0]) in CRAWLERS
        and (other := one.target.split(".")[0]) in CRAWLERS
        and own != other
    ]
    assert not wrong, _told(wrong)


def test_the_shared_package_knows_crawlers_by_dotted_name_only() -> None:
    wrong = [
        one
        for one in imports()
        if one.module.name.split(".")[0] == "crawlmgr" and one.target.split(".")[0] in CRAWLERS
    ]
    assert not wrong, _told(wrong)


def test_pure_files_do_not_know_django() -> None:
    wrong = [
        one
        for one in imports()
        if layer(one.module.name) == PURE
        and (
            one.target.split(".")[0] in ("django", "django_q", "unfold")
            or one.target in DJANGO_GROUND
        )
    ]
    assert not wrong, _told(wrong)


def test_types_of_every_file_are_checked_and_strictly_in_pure_ones() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert (
        wanted["strict"] is True
        and wanted["files"] == [*PACKAGES, "tests/benches", "tests/training"]
        and wanted["exclude"] == "/migrations/"
    )
    relaxed = [
        name
        for one in wanted["overrides"]
        if "disallow_subclassing_any" in one
        for name in one["module"]
    ]
    wrong = [
        module.name
        for module in modules()
        if layer(module.name) == PURE
        and any(fnmatch(module.name, name) or f"{module.name}.*" == name for name in relaxed)
    ]
    assert not wrong, "pure modules whose types are checked less strictly: " + ", ".join(wrong)


def test_ignored_types_have_a_reason() -> None:
    """Every `type: ignore` has a comment with the reason behind it, or on the line above."""
    silent = []
    for module in modules():
        above = ""
        for number, line in enumerate(module.path.read_text(encoding="utf-8").splitlines(), 1):
            told = re.search(r"# type: ignore\[[a-z, -]+\]  # \w", line)
            if "# type: ignore" in line and not told and not re.match(r"\s*# \w", above):
                silent.append(f"{module.path.relative_to(ROOT)}:{number}")
            above = line
    assert not silent, "say why types are ignored: " + ", ".join(silent)


def test_only_listed_modules_open_sockets() -> None:
    wrong = [
        one
        for one in imports()
        if (one.target in SOCKET_MODULES or one.target.split(".")[0] in SOCKET_LIBRARIES)
        and one.module.name not in OPENS_SOCKETS | LISTENS
        and not (
            one.target == "socket"
            and _attributes(one.module, "socket") <= {"gethostname", "AF_INET", "AF_INET6"}
        )
    ]
    assert not wrong, _told(wrong)


def test_listeners_never_connect() -> None:
    """The supervisor connects to the socket that it listens on, to ask its own web server."""
    for name in LISTENS & known():
        module = next(module for module in modules() if module.name == name)
        tree = module.tree
        if name == "crawlmgr.workers.supervisor":
            body = [node for node in tree.body if getattr(node, "name", "") != "Asker"]
            tree = ast.Module(body, [])
        calls = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not calls & {"connect", "connect_ex", "create_connection", "sendto"}, name


def _attributes(module: Module, name: str) -> set[str]:
    return {
        node.attr
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
    }


def test_only_listed_modules_touch_page_files() -> None:
    """Any module may read a WARC file that a user names; only PAGE_FILES use the
    archive's folder and its writer."""
    wrong = []
    for module in modules():
        if module.name in PAGE_FILES:
            continue
        froms = [node for node in ast.walk(module.tree) if isinstance(node, ast.ImportFrom)]
        taken = {
            alias.name
            for node in froms
            if (node.module or "").startswith("crawlmgr.web.warc")
            for alias in node.names
        }
        wrong += [
            f"{module.name} uses {name}" for name in sorted(taken & {"WarcWriter", "read_record"})
        ]
        if module.name not in DJANGO_GROUND and any(
            isinstance(node, ast.Attribute) and node.attr == "ARCHIVE_DIR"
            for node in ast.walk(module.tree)
        ):
            wrong.append(f"{module.name} reads settings.ARCHIVE_DIR")
    readers = [
        one
        for one in imports()
        if one.target.split(".")[0] == "fastwarc" and one.module.name not in KNOWS_FASTWARC
    ]
    wrong += [_told([one]) for one in readers]
    assert not wrong, "\n".join(wrong)


def test_only_listed_modules_know_django_q() -> None:
    wrong = [
        one
        for one in imports()
        if one.target.split(".")[0] == "django_q" and one.module.name not in KNOWS_DJANGO_Q
    ]
    assert not wrong, _told(wrong)


def test_an_import_inside_a_function_has_its_reason() -> None:
    """In a comment on its line or above it; imports below each other share one."""
    wrong = [
        f"{module.path.relative_to(ROOT)}:{line}"
        for module in modules()
        if "migrations" not in module.name
        for line in unreasoned(module.path.read_text(encoding="utf-8"))
    ]
    assert not wrong, "say why these imports are inside a function: " + ", ".join(wrong)


def unreasoned(text: str) -> list[int]:
    """Returns the lines of the imports inside functions that have no reason beside or above
    them."""
    lines = text.splitlines()
    nested = {
        node.lineno: node
        for function in _functions(ast.parse(text))
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    found, reasoned = [], set[int]()
    for line, node in sorted(nested.items()):
        beside = "# " in lines[(node.end_lineno or line) - 1].split("# noqa")[0]
        beside |= bool(re.search(r"# noqa: [A-Z0-9, ]+ - \w", lines[line - 1]))
        above = lines[line - 2].lstrip()
        if beside or above.startswith("# ") or line - 1 in reasoned:
            reasoned.add(node.end_lineno or line)
        else:
            found.append(line)
    return found


def test_unreasoned_imports_are_found() -> None:
    text = "import a\ndef f():\n    {}import b\n    from c import d{}\n    e()\n    import g{}"
    assert unreasoned(text.format("", "", "")) == [3, 4, 6]
    assert unreasoned(text.format("", "", "  # noqa: F401")) == [3, 4, 6]
    assert unreasoned(text.format("", "  # slow", "  # noqa: F401 - slow")) == [3]
    assert unreasoned(text.format("# slow\n    ", "", "")) == [7]


def test_modules_are_imported_by_name_only_if_the_name_is_computed() -> None:
    """`import_module("a.b")` would be an import that no rule sees."""
    wrong = [
        f"{module.path.relative_to(ROOT)}:{node.lineno}"
        for module in modules()
        if "migrations" not in module.name
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__")
        and node.args
        and isinstance(node.args[0], ast.Constant)
    ]
    assert not wrong, "\n".join(wrong)


def test_settings_are_not_read_at_import_time() -> None:
    wrong = [
        f"{module.path.relative_to(ROOT)}:{node.lineno} reads settings.{node.attr}"
        for module in modules()
        if module.name != "crawlmgr.settings"
        for node in _import_time(module.tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in ("settings", "django_settings")
        and node.attr != "AUTH_USER_MODEL"
    ]
    assert not wrong, "\n".join(wrong)


def _import_time(tree: ast.AST) -> Iterator[ast.AST]:
    """Yields the nodes that are executed when the module is imported: everything except function
    bodies."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            early = [
                *node.args.defaults,
                *node.args.kw_defaults,
                *getattr(node, "decorator_list", []),
            ]
            for part in early:
                if part is not None:
                    yield part
                    yield from _import_time(part)
            continue
        yield node
        yield from _import_time(node)


def test_every_module_says_what_it_is() -> None:
    silent = [
        str(module.path.relative_to(ROOT))
        for module in modules()
        if (module.path.name != "__init__.py" or module.tree.body)
        and "migrations" not in module.name
        and not ast.get_docstring(module.tree)
    ]
    assert not silent, "a module docstring is missing: " + ", ".join(silent)


def test_no_bare_except() -> None:
    wrong = [
        f"{module.path.relative_to(ROOT)}:{node.lineno}"
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ExceptHandler) and node.type is None
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("crawlmgr.web.url", PURE),
        ("crawlmgr.conf", PURE),
        ("crawlmgr.runs.runs", SERVICES),
        ("crawlmgr.archive.warc_files", SERVICES),
        ("crawlmgr.archive.desk", ADMIN),
        ("crawlmgr.models.runs", MODELS),
        ("forums.models", MODELS),
        ("forums.admin", ADMIN),
        ("crawlmgr.admin.site", ADMIN),
        ("forums.sites.sites", CRAWLER),
        ("forums.schedule.delay_report", PURE),
        ("forums.management.commands.forum", ENTRY),
        ("crawlmgr.settings", None),
    ],
)
def test_layers_are_told_apart(name: str, expected: int | None) -> None:
    assert known() >= CRAWLER_MODULES
    assert layer(name) == expected


def test_imports_run_in_no_circle() -> None:
    """Imports inside functions and for type checkers only are counted too. Names in settings are
    not, by which a module calls what it does not know; one of these closes a circle: QUEUE_STORE
    names `queue_rows` or `queue_redis`, which `workers.queue` calls and which import it."""
    graph: dict[str, set[str]] = {name: set() for name in known()}
    for one in imports():
        if one.target in graph and one.target != one.module.name:
            graph[one.module.name].add(one.target)
    wrong = ["a circle of imports: " + " -> ".join(circle) for circle in circles(graph)]
    assert not wrong, "\n".join(wrong)


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Returns cycles of a graph, at least one if it has any. Nodes without edges to remaining nodes
    are removed repeatedly; a walk from any other node then reaches a cycle."""
    left = {name: set(targets) for name, targets in graph.items()}
    while ends := {name for name, targets in left.items() if not targets & left.keys()}:
        for name in ends:
            del left[name]
    found: list[list[str]] = []
    seen: set[str] = set()
    for start in sorted(left):
        walk: list[str] = []
        name = start
        while name not in seen and name not in walk:
            walk.append(name)
            name = min(left[name] & left.keys())
        if name in walk:
            found.append([*walk[walk.index(name) :], name])
        seen.update(walk)
    return found


def test_circles_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert circles({"a": {"b"}, "b": {"c", "d"}, "c": {"b"}, "d": set(), "e": {"e"}}) == [
        ["b", "c", "b"],
        ["e", "e"],
    ]
