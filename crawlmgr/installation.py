"""What belongs to an installation of the program. Its own files are at the top of a checkout, or
inside the package `crawlmgr` when it is installed (pyproject.toml maps the folders into it).
Libraries that only one feature needs are extras of the package, so that they may be missing; the
feature then says in one line what to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple


class Extra(NamedTuple):
    """The feature that an extra is for, and the modules that it installs."""

    feature: str
    modules: tuple[str, ...]


EXTRAS = {
    "postgres": Extra("PostgreSQL", ("psycopg", "psycopg_pool")),
    "redis": Extra("a queue in Redis or Valkey", ("redis",)),
    "s3": Extra("an archive in object storage", ("boto3", "botocore")),
    "parquet": Extra("Parquet", ("pyarrow",)),
    "chat": Extra("a chat service", ("apprise",)),
    "documents": Extra("the text of PDF and Office files", ("pypdf", "mammoth")),
}


class Missing(Exception):
    """The libraries of an extra are not installed. The text says in one line what to install."""

    def __init__(self, extra: str) -> None:
        super().__init__(advice(extra))


def command(extra: str) -> str:
    """Returns the command that installs an extra.

    >>> command("parquet")
    'pip install crawlmgr[parquet]'
    """
    return f"pip install crawlmgr[{extra}]"


def advice(extra: str) -> str:
    """Returns one line that says what to install for a feature."""
    return f"{EXTRAS[extra].feature} needs libraries that are not installed: {command(extra)}"


def missing(extra: str) -> bool:
    """Tells whether a library of an extra is not installed. Imports none of them."""
    return any(find_spec(module) is None for module in EXTRAS[extra].modules)


@contextmanager
def needed(extra: str) -> Iterator[None]:
    """Context manager around the imports of an extra's libraries; raises Missing if one of them is
    not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRAS[extra].modules:
            raise
        raise Missing(extra) from error


BASE = Path(__file__).resolve().parents[1]
"""The folder from which the four packages are imported."""
_PACKAGE = BASE / "crawlmgr"
INSTALLED = (_PACKAGE / "templates").is_dir()
_ROOT = _PACKAGE if INSTALLED else BASE
TEMPLATES, STATIC, GUIDE = _ROOT / "templates", _ROOT / "static", _ROOT / "docs"


def default_data() -> Path:
    """Returns the data folder of an installation whose environment names none: `var` in the
    checkout. An installed program shares its folder with other packages, so that it uses `var` in
    the folder in which it was started."""
    return (Path.cwd() if INSTALLED else BASE) / "var"
