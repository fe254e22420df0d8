"""Keeps the queue in the database: django-q2's ORM broker, extended for several nodes that share a
queue, and the queries used by `workers.queue`."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.signing import BadSignature
from django.db import Error as DatabaseProblem
from django.db import connection, connections
from django.db.models import Case, Q, QuerySet, Value, When
from django.utils import timezone
from django_q.brokers import Broker as Brokers
from django_q.brokers.orm import ORM
from django_q.conf import Conf
from django_q.models import OrmQ

from crawlmgr import environment
from crawlmgr.workers import queue, ranking
from crawlmgr.workers.queue import files_key, node_key

AWAY: tuple[type[Exception], ...] = ()
"""Exceptions that mean that the broker's own server is unreachable: none, since errors of the
database are handled by the caller."""
STANDING_SECONDS = 2.0
"""Seconds for which a cluster caches the state of the other nodes."""
QUIET_SECONDS = 10.0
"""Seconds for which a cluster caches the state of the other nodes while the queue is empty."""
LONGEST_POLL_SECONDS = 1.0
STATE_SECONDS = 2
"""Seconds between two reports of a cluster's state."""


class Sharing(Brokers):
    """Common base of the brokers, for nodes that share a queue. A node leaves tasks for a moment to
    nodes with less work, and takes no more tasks than it has workers. A draining or paused node
    takes only tasks meant for it alone.
    """

    _turn = ranking.Turn(0.0, True)
    _looked = float("-inf")
    _empty = 0  # number of consecutive queries that found no task
    _told = float("-inf")

    def set_stat(self, key: str, value: str, timeout: int) -> Any:
        """Stores this cluster's reported state, at most every two seconds: django-q2 would write it
        to a file every second."""
        if time.monotonic() - self._told < STATE_SECONDS:
            return None
        self._told = time.monotonic()
        return super().set_stat(key, value, timeout + STATE_SECONDS)

    def _pause(self, node: str, now: datetime) -> float:
        """Returns the seconds until the next query of the queue. They grow while the queue is empty
        and other nodes query it too, so that ten idle nodes cost the database little."""
        if not self._empty or connection.vendor == "sqlite":
            return float(Conf.POLL)
        self._look(node, now, QUIET_SECONDS)
        return float(
            Conf.POLL
            if self._turn.alone
            else min(LONGEST_POLL_SECONDS, Conf.POLL * 2 ** min(self._empty // 4, 8))
        )

    def _look(self, node: str, now: datetime, seconds: float) -> None:
        """Stores in `_turn` whether this node may take a waiting task, and after how many seconds
        of waiting, from its speed and load compared with those of other nodes. Does nothing if
        `_turn` is less than `seconds` old.
        """
        if time.monotonic() - self._looked >= seconds:
            self._looked, self._turn = time.monotonic(), ranking.turn(node, self.list_key, now)


class Broker(Sharing, ORM):
    """django-q2's ORM broker, with several kinds of tasks in one queue, distinguished by their
    keys:

    - `crawl/run/7` is a slice of run 7 (one query tells whether one is queued), `crawl` a task
      without a key of its own.
    - `crawl/node/n` (a heartbeat, taken before all others) and `crawl/files/n` (moving files) are
      taken only by node n.

    All tasks of a cluster's workers pass through `dequeue`: a task that calls anything but a
    function of `TASKS` with plain arguments, or that this installation did not sign, is deleted and
    reported."""

    _in_hand: frozenset[int] = frozenset()
    _state: tuple[int, int] | None = None
    _asked = float("-inf")

    def dequeue(self) -> list[tuple[int, str]] | None:
        if self._nothing_since():
            time.sleep(Conf.POLL)
            return None
        node = environment.given("CRAWLMGR_NODE")
        own, files, now = (
            node_key(self.list_key, node),
            files_key(self.list_key, node),
            timezone.now(),
        )
        if not self._anything_free(own, files, now):
            self._empty += 1
            self._state, self._asked = _state_of_file(), time.monotonic()
            time.sleep(self._pause(node, now))
            return None
        self._state = None
        rows = self._rows().filter(Q(key__in=(own, files)) | _shared(self.list_key), lock__lt=now)
        due = list(
            rows.order_by(Case(When(key=own, then=Value(0)), default=Value(1)), "id")[: Conf.BULK]
        )
        taken = [
            (row.pk, row.payload)
            for row in due
            if (row.key in (own, files) or self._may_take(node, row, now))
            and self._rows().filter(pk=row.pk, lock=row.lock).update(lock=self.timeout(row))
        ]
        if not self._turn.alone:
            self._in_hand |= {
                row.pk
                for row in due
                if row.key not in (own, files) and (row.pk, row.payload) in taken
            }
        self._empty = (
            self._empty + 1 if all(row.key == own for row in due) else 0
        )  # a heartbeat alone does not count as work
        if not taken:
            time.sleep(self._pause(node, now))
        return [(pk, payload) for pk, payload in taken if self._allowed(pk, payload)] or None

    def _nothing_since(self) -> bool:
        """Tells whether nobody has written to the SQLite database file since a query found no free
        task. The check takes a tenth of the time of that query. A taken task that becomes free
        again because time has passed is found within LONGEST_POLL_SECONDS."""
        if self._state is None or time.monotonic() - self._asked >= LONGEST_POLL_SECONDS:
            return False
        return _state_of_file() == self._state

    @staticmethod
    def _rows() -> QuerySet[OrmQ]:
        """Returns the queue's rows without testing the connection first, as django-q2's
        `get_connection` would."""
        return OrmQ.objects.using(Conf.ORM)

    def _anything_free(self, own: str, files: str, now: datetime) -> bool:
        """Tells whether there is a task that this node may take. `own` and `files` are the keys of
        tasks for this node only. Uses one plain SQL statement, because idle clusters ask five times
        a second. If the connection is broken, repeats it once on a new one, except inside a
        transaction."""
        database = connections[Conf.ORM]
        table, shared = OrmQ._meta.db_table, f"{self.list_key}/run/%"
        asked = (
            # Django's own name
            f'SELECT EXISTS (SELECT 1 FROM "{table}" WHERE "lock" < %s'  # noqa: S608
            ' AND ("key" IN (%s, %s, %s) OR "key" LIKE %s))'
        )
        values = [database.ops.adapt_datetimefield_value(now), own, files, self.list_key, shared]
        for attempt in (1, 2):
            try:
                with database.cursor() as cursor:
                    cursor.execute(asked, values)
                    return bool(cursor.fetchone()[0])
            except DatabaseProblem:
                if attempt == 2 or database.in_atomic_block:
                    raise
                database.close()
        return False

    def _may_take(self, node: str, row: OrmQ, now: datetime) -> bool:
        """Tells whether this node may take a task for any node now: it has waited long enough in
        the queue, and a worker is free."""
        self._look(node, now, STANDING_SECONDS)
        wait, alone = self._turn
        if wait is None or row.lock > now - timedelta(seconds=wait):
            return False
        if alone:
            return True
        held = self._rows().filter(pk__in=self._in_hand, lock__gt=now).values_list("pk", flat=True)
        self._in_hand = frozenset(held)
        return len(self._in_hand) < settings.WORKERS

    def _allowed(self, pk: int, payload: str) -> bool:
        found = queue.allowed(payload)
        if not found:
            self.delete(pk)
        return found

    def queue_size(self) -> int:
        return int(
            self.get_connection().filter(_family(self.list_key), lock__lte=timezone.now()).count()
        )

    def lock_size(self) -> int:
        return int(
            self.get_connection().filter(_family(self.list_key), lock__gt=timezone.now()).count()
        )

    def purge_queue(self) -> Any:
        return self.get_connection().filter(_family(self.list_key)).delete()


def _state_of_file() -> tuple[int, int] | None:
    """Returns two numbers that change with every commit to the SQLite database file, by whatever
    connection; None for other databases."""
    open_ = connection.connection if connection.vendor == "sqlite" else None
    try:
        return (
            (open_.execute("PRAGMA data_version").fetchone()[0], open_.total_changes)
            if open_ is not None
            else None
        )
    except sqlite3.Error:
        return None


def _shared(queue: str) -> Q:
    return Q(key=queue) | Q(key__startswith=f"{queue}/run/")


def _family(queue: str) -> Q:
    return (
        _shared(queue) | Q(key__startswith=f"{queue}/node/") | Q(key__startswith=f"{queue}/files/")
    )


def ask() -> None:
    """Does nothing: a connection to the database need not be tested, as the one to Redis must."""


def waits(key: str) -> bool:
    """Tells whether a task is queued under a key and not taken."""
    return OrmQ.objects.filter(key=key, lock__lte=timezone.now()).exists()


def wait_or_were_taken(keys: Iterable[str], seconds: float, now: datetime) -> set[str]:
    """Returns those of `keys` under which a task is queued or was taken within the last `seconds`,
    since a taken task may still wait in its cluster's memory."""
    fresh = now + timedelta(seconds=settings.RETRY_SECONDS - seconds)
    rows = OrmQ.objects.filter(Q(lock__lte=now) | Q(lock__gt=fresh), key__in=list(keys))
    return set(rows.values_list("key", flat=True))


def forget_taken(key: str) -> None:
    """Deletes the task with this key if a worker has taken it. Called when that worker is dead."""
    OrmQ.objects.filter(key=key, lock__gt=timezone.now()).delete()


def forget(keys: Iterable[str]) -> None:
    """Deletes the tasks under these keys."""
    OrmQ.objects.filter(key__in=list(keys)).delete()


def release_all(name: str, now: datetime) -> int:
    """Makes every taken task of a queue available again; returns how many."""
    return int(OrmQ.objects.filter(_family(name), lock__gt=now).update(lock=now))


def length() -> int:
    """Returns the number of tasks in the queue, waiting or taken."""
    return OrmQ.objects.count()


def described(row: OrmQ) -> tuple[str, str]:
    """Returns the function and the arguments of a queued task as texts; ("–", "") if it is not
    signed or contains more than plain values."""
    try:
        task = queue.opened(row.payload, settings.Q_CLUSTER["name"])
    except (BadSignature, queue.NotPlain):
        return "–", ""
    return str(task.get("func")), ", ".join(str(one) for one in task.get("args") or ())


def free(rows: Iterable[int], now: datetime) -> int:
    """Makes queued tasks available at once, also those that were taken and not finished. Returns
    how many."""
    return int(OrmQ.objects.filter(pk__in=list(rows)).update(lock=now))


def drop(rows: Iterable[int]) -> int:
    """Deletes tasks from the queue; a run whose slice was deleted is queued again by the
    dispatcher. Returns how many."""
    return int(OrmQ.objects.filter(pk__in=list(rows)).delete()[0])
