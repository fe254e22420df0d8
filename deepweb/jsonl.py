"""Reads files of JSON lines, plain or gzip, one line at a time."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class LinesError(ValueError):
    """Raised for a file that is not valid JSON lines; its text names the line."""


def read_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields (line number, document) for every line that is not empty. Raises LinesError for an
    invalid line, OSError if the file cannot be opened."""
    number = 0
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8")
            if path.suffix == ".gz"
            else path.open(encoding="utf-8")
        ) as stream:
            for number, line in enumerate(stream, 1):
                if not line.strip():
                    continue
                document = json.loads(line)
                if not isinstance(document, dict):
                    raise LinesError(f"{path.name}, line {number}: not a JSON object")
                yield number, document
    except (UnicodeDecodeError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise LinesError(f"{path.name}, after line {number}: cannot be read: {error}") from error
    except json.JSONDecodeError as error:
        raise LinesError(f"{path.name}, line {number}: no JSON: {error.msg}") from error
