"""An SQLite connection for tests that refuses to write while a cursor of the same thread has unread
rows.

SQLite lets a connection with an unfinished SELECT write only while no other connection has written
since the SELECT began; after that it fails with "database is locked" at once, whatever the busy
timeout. Tests usually have only one connection and would not notice such code, so this connection
always refuses. Cursors of other threads do not count, because the live server of a browser test
uses the test's connection with an in-memory database, but has its own with a database file.
"""

from __future__ import annotations

import re
import sqlite3
import threading
import weakref
from collections import defaultdict
from functools import lru_cache
from typing import Any

_READS = re.compile(
    r"\s*(?:SELECT|WITH|EXPLAIN|PRAGMA|SAVEPOINT|RELEASE|ROLLBACK|COMMIT|END"
    r"|BEGIN\s*(?:DEFERRED)?\s*$)",
    re.IGNORECASE,
)


class OpenCursor(AssertionError):
    """A statement writes while a cursor of the same connection has unread rows."""


class WatchedConnection(sqlite3.Connection):
    """A connection that raises OpenCursor if a statement writes while a cursor of the same thread
    has unread rows. It is set as `factory` in the options of a Django database."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._unfinished: defaultdict[int, weakref.WeakSet[Any]] = defaultdict(
            weakref.WeakSet
        )  # unread cursors by thread id
        self._make_probe()

    def _make_probe(self) -> None:
        # SQLite refuses to replace a function if and only if a statement is unfinished; `check`
        # uses this.
        super().create_function("no_cursor_is_open", 0, int)

    def cursor(  # type: ignore[override]
        self, factory: type[sqlite3.Cursor] = sqlite3.Cursor
    ) -> sqlite3.Cursor:
        return super().cursor(_watched(factory))

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:  # type: ignore[override]
        return self.cursor().execute(statement, *values)

    def executemany(self, statement: str, rows: Any) -> sqlite3.Cursor:  # type: ignore[override]
        return self.cursor().executemany(statement, rows)

    def check(self, statement: str) -> None:
        """Raises OpenCursor if `statement` writes while a cursor of the same thread has unread
        rows."""
        here = threading.get_ident()
        if _READS.match(statement) or not self._unfinished[here]:
            return
        if any(cursors for thread, cursors in list(self._unfinished.items()) if thread != here):
            return  # the check below cannot tell which thread's statement is unfinished
        try:
            self._make_probe()
        except (
            sqlite3.OperationalError
        ):  # also after an insert into a full-text index in this transaction
            open_ones = "; ".join(sorted(one.statement[:200] for one in self._unfinished[here]))
            raise OpenCursor(f"{open_ones} is open over a write: {statement[:200]}") from None

    def begin(self, cursor: Any) -> None:
        """Notes that a cursor may have unread rows from now on."""
        self._unfinished[threading.get_ident()].add(cursor)

    def end(self, cursor: Any) -> None:
        """Notes that a cursor has no unread rows."""
        self._unfinished[threading.get_ident()].discard(cursor)


def _ended(cursor: Any) -> None:
    cursor.connection.end(cursor)


@lru_cache
def _watched(kind: type[sqlite3.Cursor]) -> Any:
    """A cursor class that tells its connection whether it may have unread rows."""

    class Watched(kind):  # type: ignore[misc, valid-type]
        statement = ""

        def execute(self, statement: str, *values: Any) -> Any:
            _ended(self)
            self.connection.check(statement)
            self.statement = statement
            self.connection.begin(
                self
            )  # before the statement runs, so that a check in another thread knows of it
            try:
                return super().execute(statement, *values)
            finally:
                if self.description is None:
                    _ended(self)

        def executemany(self, statement: str, rows: Any) -> Any:
            _ended(self)
            self.connection.check(statement)
            return super().executemany(statement, rows)

        def fetchall(self) -> list[Any]:
            rows = super().fetchall()
            _ended(self)
            return rows

        def fetchmany(self, size: int = 1) -> list[Any]:
            rows = super().fetchmany(size)
            if len(rows) < size:
                _ended(self)
            return rows

        def fetchone(self) -> Any:
            row = super().fetchone()
            if row is None:
                _ended(self)
            return row

        def __next__(self) -> Any:
            try:
                return super().__next__()
            except StopIteration:
                _ended(self)
                raise

        def close(self) -> None:
            super().close()
            _ended(self)

    return Watched
