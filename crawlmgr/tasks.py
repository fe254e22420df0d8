"""What django-q2's workers call, by dotted name: a slice of a run, a node's tick, the dispatcher, pruning. Thin."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.dispatch import receiver
from django_q.signals import post_spawn

from crawlmgr import engine
from crawlmgr.clock import SYSTEM
from crawlmgr.models import Run, RunState
from crawlmgr.services import dispatch, nodes, pruning, queue

BEAT_SECONDS = 2.0


@receiver(post_spawn)
def listen_for_the_end(**_: Any) -> None:
    """In every worker: SIGUSR1 ends the slice in hand after its page (see crawlmgr.supervisor)."""
    signal.signal(signal.SIGUSR1, lambda *_: engine.shutdown.set())


def _beater(node: str) -> Callable[..., None]:
    """A page callback that gives a sign of life, every two seconds at most."""
    last = SYSTEM.now()

    def beat(*_: Any) -> None:
        nonlocal last
        now = SYSTEM.now()
        if (now - last).total_seconds() >= BEAT_SECONDS:
            last = now
            nodes.beat(node, now)

    return beat


def run_slice(run_id: int) -> str:
    """Works a slice of the run and queues the next one if work is left that need not wait; answers the run's state."""
    node = nodes.own_name()
    nodes.beat(node, SYSTEM.now())
    if engine.shutdown.is_set():
        queue.run_slice(run_id)
        return "shutdown"
    state = engine.run_slice(run_id, seconds=settings.SLICE_SECONDS, on_page=_beater(node))
    if state == RunState.RUNNING and Run.objects.filter(pk=run_id, waiting_until__isnull=True).exists():
        queue.run_slice(run_id)
    return state


def tick(node: str) -> None:
    """The node's sign of life, asked for by its supervisor, and a round of the dispatcher."""
    now = SYSTEM.now()
    nodes.beat(node, now)
    dispatch.dispatch(now)


def dispatch_due() -> None:
    """A round of the dispatcher, for worker clusters that no supervisor ticks."""
    dispatch.dispatch(SYSTEM.now())


def prune() -> dict[str, int]:
    """Drops what only tells of the past."""
    return pruning.prune(SYSTEM.now())
