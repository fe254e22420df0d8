"""Functions, modules and packages are small, counted in statements, which no layout changes; and no
class is cut into pieces that inherit from each other. The exceptions are named, and a name that no
longer needs to stand here fails the test."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from tests import statements
from tests.statements import ROOT, Size

pytestmark = pytest.mark.once

FUNCTION_STATEMENTS, MODULE_STATEMENTS, PACKAGE_MODULES = 40, 300, 20

# Larger than allowed today, with the number that may not grow.
FUNCTIONS: dict[str, int] = {}
MODULES: dict[str, int] = {}
PACKAGES: dict[str, int] = {}
# One object in two files: the class that inherits, and what it inherits from.
SLICES: set[tuple[str, str]] = {
    ("forums/reading/document.py:Page", "forums/reading/page_times.py:TimedPage"),
    (
        "forums/reading/lists/thread_people.py:ThreadPeople",
        "forums/reading/lists/thread_columns.py:ThreadFields",
    ),
    (
        "forums/reading/lists/thread_records.py:ThreadRows",
        "forums/reading/lists/thread_people.py:ThreadPeople",
    ),
}


def test_no_line_of_python_is_longer_than_a_hundred_characters() -> None:
    files = [
        path for folder in (*statements.PACKAGES, "tests") for path in (ROOT / folder).rglob("*.py")
    ]
    wrong = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files
        if "migrations" not in path.parts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 100
    ]
    assert not wrong


@pytest.mark.parametrize(
    ("sizes", "allowed", "exceptions"),
    [
        pytest.param(statements.long_functions, FUNCTION_STATEMENTS, FUNCTIONS, id="functions"),
        pytest.param(statements.modules, MODULE_STATEMENTS, MODULES, id="modules"),
        pytest.param(statements.packages, PACKAGE_MODULES, PACKAGES, id="packages"),
    ],
)
def test_sizes(sizes, allowed: int, exceptions: dict[str, int]) -> None:
    found = sizes()
    print("\n".join(f"{size.number:6} {size.name}" for size in found[:10]))
    assert not _too_large(found, allowed, exceptions)
    assert not _needless(found, allowed, exceptions), "these exceptions are no longer needed"


def _too_large(sizes: list[Size], allowed: int, exceptions: dict[str, int]) -> list[Size]:
    return [size for size in sizes if size.number > exceptions.get(size.name, allowed)]


def _needless(sizes: list[Size], allowed: int, exceptions: dict[str, int]) -> set[str]:
    """Returns the exceptions for what is small by now, is gone, or has become smaller than its
    exception says."""
    numbers = {size.name: size.number for size in sizes}
    return {
        name
        for name, most in exceptions.items()
        if not allowed < numbers.get(name, 0) or numbers[name] < most
    }


def test_what_is_too_large_is_found() -> None:
    sizes = [Size(9, "a"), Size(7, "b"), Size(5, "c")]
    assert _too_large(sizes, 5, {"a": 9}) == [Size(7, "b")]
    assert _too_large(sizes, 5, {"a": 8, "b": 7}) == [Size(9, "a")]
    assert _needless(sizes, 5, {"a": 9, "b": 8, "c": 5, "d": 6}) == {"b", "c", "d"}


def test_statements_are_counted_and_not_lines() -> None:
    tree = ast.parse('def f(a):\n    """Text."""\n    b = [\n        a,\n    ]; return b\n')
    assert statements.statements(tree) == 3
    assert [(n, statements.statements(f)) for n, f in statements.functions(tree)] == [("f", 2)]


def test_no_class_is_cut_into_pieces() -> None:
    """A base class in another module of the same folder that has only one subclass is a piece of
    that subclass."""
    bases = statements.bases()
    heirs = Counter(base for found in bases.values() for base in found)
    pieces = {(name, base) for name, found in bases.items() for base in found if heirs[base] == 1}
    pieces = {(name, base) for name, base in pieces if not _is_used_alone(base)}
    assert pieces == SLICES


def _is_used_alone(base: str) -> bool:
    """Tells whether objects of a base class are made, or a module beside the one of its only
    subclass uses it: it stands for something of its own then."""
    own, name = base.split(":")
    made, beside = False, set()
    for path, tree in statements.trees().items():
        for node in ast.walk(tree):
            used: list[ast.expr] = []
            if isinstance(node, ast.Call):
                used = [node.func, *node.args]
            elif isinstance(node, ast.ClassDef) and path == own:
                used = node.bases
            made |= any(isinstance(one, ast.Name) and one.id == name for one in used)
            if isinstance(node, ast.Name) and node.id == name and path != own:
                beside.add(path)
    return made or len(beside) > 1
