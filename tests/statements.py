"""Counts the statements of the four packages: `python -m tests.statements` prints them by folder,
and what is largest.

A statement is a node of Python's syntax tree, wherever its line breaks are, so that layout changes
no figure. Docstrings (of modules, classes, functions and attributes) and migrations are not
counted.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("crawlmgr", "forums", "focused", "deepweb")


class Size(NamedTuple):
    """A module, function or package with its number of statements, or of modules."""

    number: int
    name: str


@cache
def trees() -> dict[str, ast.Module]:
    """Returns the syntax trees of all modules but migrations, by path relative to the project."""
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if "migrations" not in path.parts
    }


def statements(node: ast.AST) -> int:
    """Returns the number of statements inside a node, without docstrings.

    >>> statements(ast.parse('"Text."\\nx = 1; y = 2\\nif x:\\n    "Text."\\n    pass'))
    4
    """
    return sum(
        isinstance(inner, ast.stmt) and not _is_docstring(inner)
        for inner in ast.walk(node)
        if inner is not node
    )


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Yields each function of a tree with its name, as "Class.method" or "outer.inner"."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if not isinstance(node, ast.ClassDef):
                yield prefix + node.name, node
            yield from functions(node, f"{prefix}{node.name}.")
        else:
            yield from functions(node, prefix)


def modules() -> list[Size]:
    """Returns the modules by statements, largest first."""
    return sorted((Size(statements(tree), path) for path, tree in trees().items()), reverse=True)


def long_functions() -> list[Size]:
    """Returns the functions by statements, largest first, named as "path:Class.method"."""
    found = (
        Size(statements(node), f"{path}:{name}")
        for path, tree in trees().items()
        for name, node in functions(tree)
    )
    return sorted(found, reverse=True)


def packages() -> list[Size]:
    """Returns the folders by number of modules (`__init__.py` is none), largest first."""
    found = Counter(
        Path(path).parent.as_posix() for path in trees() if not path.endswith("__init__.py")
    )
    return sorted((Size(number, name) for name, number in found.items()), reverse=True)


def bases() -> dict[str, list[str]]:
    """Returns for each class "path:Class" its bases that are defined in the same package folder."""
    at = {
        node.name: path
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    return {
        f"{path}:{node.name}": [
            f"{at[base.id]}:{base.id}"
            for base in node.bases
            if isinstance(base, ast.Name)
            and base.id in at
            and at[base.id] != path
            and Path(at[base.id]).parent == Path(path).parent
        ]
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }


def main() -> None:
    """Prints statements and modules of each package, and the ten largest of everything."""
    by_package: Counter[str] = Counter()
    nodes = 0
    for size in modules():
        by_package[size.name.split("/")[0]] += size.number
        nodes += sum(1 for _node in ast.walk(trees()[size.name]))
    for name, number in by_package.items():
        held = sum(path.startswith(f"{name}/") for path in trees())
        print(f"{name:10} {number:7,} statements in {held} modules")
    code = sum(len((ROOT / path).read_bytes()) for path in trees())
    print(
        f"{'all':10} {by_package.total():7,} statements in {len(trees())} modules,"
        f" {nodes:,} nodes, {code:,} bytes"
    )
    for title, sizes in (
        ("modules by statements", modules()),
        ("functions by statements", long_functions()),
        ("packages by modules", packages()),
    ):
        print(f"\n{title}:")
        for size in sizes[:10]:
            print(f"{size.number:6} {size.name}")


if __name__ == "__main__":
    main()
