"""The sizes of files and functions, and that no modules import each other in a circle. Complexity is held by ruff (`make lint`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache

from tests.crawlmgr.test_layers import ROOT, imports, known, modules

FILE_LINES = 400
FUNCTION_LINES = 60


def test_files_and_functions_are_short_and_imports_run_in_no_circle() -> None:
    wrong = []
    for module in modules():
        if "migrations" in module.name:
            continue
        path = module.path.relative_to(ROOT)
        if (lines := module.path.read_text(encoding="utf-8").count("\n")) > FILE_LINES:
            wrong.append(f"{path} has {lines} lines, {FILE_LINES} are allowed")
        wrong += [f"{path}:{line} {name} has {size} lines, {FUNCTION_LINES} are allowed" for name, line, size in long_functions(module.tree)]
    graph: dict[str, set[str]] = {name: set() for name in known()}
    for one in imports():
        if one.target in graph and one.target != one.module.name and one.line not in without_effect(one.module.tree):
            graph[one.module.name].add(one.target)
    wrong += ["a circle of imports: " + " -> ".join(circle) for circle in circles(graph)]
    assert not wrong, "\n".join(wrong)


@cache
def without_effect(tree: ast.Module) -> set[int]:
    """Lines of imports that do not run when the module is imported: inside functions, and for type checkers only."""
    outer = [
        node for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    ]
    return {inner.lineno for node in outer for inner in ast.walk(node) if isinstance(inner, ast.Import | ast.ImportFrom)}


def long_functions(tree: ast.AST) -> Iterator[tuple[str, int, int]]:
    """Name, line and number of lines of each function that is too long."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            size = node.end_lineno - node.lineno + 1
            if size > FUNCTION_LINES:
                yield node.name, node.lineno, size


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """A circle for each group of nodes that reach each other; [] if there is none. Nodes without incoming or outgoing edges are
    taken away until none is left; what remains lies on circles or between them."""
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
    assert circles({"a": {"b"}, "b": {"c", "d"}, "c": {"b"}, "d": set(), "e": {"e"}}) == [["b", "c", "b"], ["e", "e"]]


def test_long_functions_are_found() -> None:
    body = "    pass\n" * FUNCTION_LINES
    tree = ast.parse(f"def short():\n{body[:-9]}\nclass A:\n  def long(self):\n{body}")
    assert [name for name, _line, _size in long_functions(tree)] == ["long"]
