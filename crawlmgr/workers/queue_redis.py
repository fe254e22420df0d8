"""Keeps the queue in Redis or Valkey instead of the database, if CRAWLMGR_BROKER_URL names a
server.

A task is deleted from the server when it is taken. If it is lost, because its worker was killed or
because the server was killed before saving its data, the dispatcher queues it again from the leases
in the database. If the server does not respond, `ask` and `Broker.enqueue` raise; `waits` and
`wait_or_were_taken` report every task as queued, so that no caller tries to add one; the other
functions do nothing, and those that return a number return 0."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any

import redis
from django.conf import settings
from django.utils import timezone
from django_q.conf import Conf

from crawlmgr import environment
from crawlmgr.workers import queue
from crawlmgr.workers.queue_rows import STANDING_SECONDS, Sharing

log = logging.getLogger("crawlmgr.queue")
AWAY: tuple[type[Exception], ...] = (redis.RedisError,)
"""Exceptions that mean that the server is unreachable."""
PAUSE_SECONDS = 1.0
"""Seconds until the next attempt after the server was unreachable."""
SECONDS = 5.0
"""Time limit of a request to the server, in seconds."""
TAKE = """
local function taken(id)
  local payload = redis.call('HGET', KEYS[2], id)
  redis.call('ZREM', KEYS[1], id)
  redis.call('HDEL', KEYS[2], id)
  redis.call('SET', KEYS[4] .. id, ARGV[4], 'EX', ARGV[5])
  return payload
end
for place = 1, 2 do
  if redis.call('HEXISTS', KEYS[2], ARGV[place]) == 1 then
    return {ARGV[place], taken(ARGV[place])}
  end
end
if ARGV[3] == '' then return nil end
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[3], 'LIMIT', 0, 1)
if #ids == 0 then return nil end
redis.call('ZADD', KEYS[3], ARGV[4], ids[1])
redis.call('EXPIRE', KEYS[3], ARGV[5])
return {ids[1], taken(ids[1])}
"""
"""Lua script that takes a task in one step: first one that only this node may take (with the key
ARGV[1] or ARGV[2]), otherwise the oldest task for any node, if it was queued at the time ARGV[3] or
earlier. The time at which it was taken, ARGV[4], is stored for ARGV[5] seconds, the longest time
that a taken task may stay in its cluster's memory."""
ADD = """
if redis.call('HSETNX', KEYS[2], ARGV[1], ARGV[2]) == 1 and ARGV[3] ~= '' then redis.call('ZADD', \
KEYS[1], ARGV[3], ARGV[1]) end
"""


@lru_cache(maxsize=1)
def _connected(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url, socket_timeout=SECONDS, socket_connect_timeout=SECONDS, decode_responses=True
    )


def server() -> redis.Redis:
    """Returns the connection to the Redis server."""
    return _connected(settings.BROKER_URL)


def _place(part: str, name: str) -> str:
    """Returns the key on the server of one part ("waiting", "tasks", ...) of the queue `name`."""
    return f"crawlmgr:{name}:{part}"


def _of(part: str, key: str) -> str:
    return _place(part, key.partition("/")[0])


def _taken(key: str) -> str:
    return _of("taken:", key) + key


class Broker(Sharing):
    """django-q2's broker for a queue in Redis. Tasks are checked with `queue.allowed` as those in
    the database are."""

    def enqueue(self, task: str) -> str:
        """Adds a task and returns its key. A task with a key of its own (such as "crawl/run/7") is
        added only if none waits under that key; any other task gets a unique key."""
        key = str(self.list_key)
        name, _slash, rest = key.partition("/")
        own = rest.startswith(("node/", "files/"))
        key = key if rest else f"{name}/task/{uuid.uuid4().hex}"
        server().eval(
            ADD,
            2,
            _place("waiting", name),
            _place("tasks", name),
            key,
            task,
            "" if own else f"{time.time():.6f}",
        )
        return key

    def dequeue(self) -> list[tuple[str, str]] | None:
        """Takes a task. If there is none or the server does not respond, pauses and returns
        None."""
        node, now = environment.given("CRAWLMGR_NODE"), timezone.now()
        try:
            found = self._take(node, self._before(node, now))
        except redis.RedisError as error:
            log.warning("the broker does not answer: %s", error, extra={"event": "broker_away"})
            time.sleep(PAUSE_SECONDS)
            return None
        if found is None:
            self._empty += 1
            time.sleep(Conf.POLL)
            return None
        self._empty = 0
        key, payload = found
        if not queue.allowed(payload):
            self.delete(key)
            return None
        return [(key, payload)]

    def _before(self, node: str, now: datetime) -> float | None:
        """Returns the time (epoch seconds) before which a task for any node must have been queued
        so that this node may take it; newer tasks are left for a while to nodes that rank higher.
        None if the node may take none.
        """
        if not server().exists(_place("waiting", self.list_key)):
            return None
        self._look(node, now, STANDING_SECONDS)
        wait, alone = self._turn
        if wait is None or (not alone and self._in_hand(node) >= settings.WORKERS):
            return None
        return time.time() - wait

    def _take(self, node: str, before: float | None) -> tuple[str, str] | None:
        name = self.list_key
        found: Any = server().eval(
            TAKE,
            4,
            _place("waiting", name),
            _place("tasks", name),
            _place(f"hand:{node}", name),
            _place("taken:", name),
            queue.node_key(name, node),
            queue.files_key(name, node),
            "" if before is None else f"{before:.6f}",
            f"{time.time():.6f}",
            settings.RETRY_SECONDS,
        )
        return (found[0], found[1]) if found else None

    def _in_hand(self, node: str) -> int:
        """Returns the number of tasks for any node that this node has taken and not finished. Tasks
        of killed workers are counted until RETRY_SECONDS have passed."""
        since = time.time() - settings.RETRY_SECONDS
        found: Any = server().zcount(_place(f"hand:{node}", self.list_key), since, "+inf")
        return int(found)

    def acknowledge(self, task_id: str) -> None:
        """Removes a finished task from the node's list of taken tasks."""
        node = environment.given("CRAWLMGR_NODE")
        _calmly(lambda: server().zrem(_place(f"hand:{node}", self.list_key), task_id))

    delete = fail = acknowledge

    def queue_size(self) -> int:
        return int(_calmly(lambda: server().hlen(_place("tasks", self.list_key)), 0))

    def lock_size(self) -> int:
        return 0

    def purge_queue(self) -> None:
        server().delete(_place("tasks", self.list_key), _place("waiting", self.list_key))

    def ping(self) -> bool:
        return bool(server().ping())

    def info(self) -> str:
        return "Redis"


def ask() -> None:
    """Tests the connection to the server. Raises redis.RedisError if it does not respond."""
    server().ping()


def waits(key: str) -> bool:
    """Tells whether a task is queued under a key; True if the server does not respond."""
    return bool(_calmly(lambda: server().hexists(_of("tasks", key), key), True))


def wait_or_were_taken(keys: Iterable[str], seconds: float, now: datetime) -> set[str]:
    """Returns those of `keys` under which a task is queued or was taken within the last `seconds`,
    since a taken task may still wait in its cluster's memory. Returns all of them if the server
    does not respond."""
    since, wanted = time.time() - seconds, list(keys)

    def ask_each() -> set[str]:
        with server().pipeline(transaction=False) as pipe:
            for key in wanted:
                pipe.hexists(_of("tasks", key), key)
                pipe.get(_taken(key))
            found = pipe.execute()
        told = zip(wanted, found[::2], found[1::2], strict=True)
        return {
            key
            for key, waiting, taken in told
            if waiting or (taken is not None and float(taken) > since)
        }

    answer = _calmly(ask_each)
    return set(wanted) if answer is None else answer


def forget_taken(key: str) -> None:
    """Marks the task under a key as not taken by any worker; called after the death of the worker
    that had taken it."""
    _calmly(lambda: server().delete(_taken(key)))


def forget(keys: Iterable[str]) -> None:
    """Deletes the tasks under these keys, and the marks that show which of them were taken by
    workers."""
    for key in keys:
        _calmly(lambda key=key: server().hdel(_of("tasks", key), key))
        _calmly(lambda key=key: server().zrem(_of("waiting", key), key))
        forget_taken(key)


def release_all(name: str, now: datetime) -> int:
    """Clears the records of tasks taken from a queue, so that the dispatcher queues the tasks again
    at once; returns their number."""

    def every() -> int:
        marks = list(server().scan_iter(_place("taken:", name) + "*"))
        hands = list(server().scan_iter(_place("hand:", name) + "*"))
        if marks or hands:
            server().delete(*marks, *hands)
        return len(marks)

    return int(_calmly(every, 0))


def length() -> int:
    """Returns the number of tasks that are queued and not taken; 0 if the server does not
    respond."""
    name = settings.Q_CLUSTER["name"]
    return int(_calmly(lambda: server().hlen(_place("tasks", name)), 0))


def _calmly(work: Any, otherwise: Any = None) -> Any:
    """Calls `work` and returns its result; if the Redis server fails, logs a warning and returns
    `otherwise`."""
    try:
        return work()
    except redis.RedisError as error:
        log.warning("the broker does not answer: %s", error, extra={"event": "broker_away"})
        return otherwise
