"""What django-q2's workers call, by dotted name: a slice of a run, a node's tick, the dispatcher, pruning. Thin."""

from __future__ import annotations

import signal
from typing import Any

from django.conf import settings
from django.dispatch import receiver
from django.utils.module_loading import import_string
from django_q.signals import post_spawn

from crawlmgr import engine, jobs
from crawlmgr.clock import SYSTEM
from crawlmgr.models import Run, RunState
from crawlmgr.services import dispatch, nodes, pruning, queue

BEAT_SECONDS = 2.0


@receiver(post_spawn)
def listen_for_the_end(**_: Any) -> None:
    """In every worker: SIGUSR1 ends the slice in hand after its page (see crawlmgr.supervisor)."""
    signal.signal(signal.SIGUSR1, lambda *_: engine.shutdown.set())


class _Beat:
    """A page callback that counts pages and gives a sign of life, every two seconds at most."""

    def __init__(self, node: str) -> None:
        self.node, self.pages, self.last = node, 0, SYSTEM.now()

    def __call__(self, *_: Any) -> None:
        self.pages += 1
        if (SYSTEM.now() - self.last).total_seconds() >= BEAT_SECONDS:
            self.give()

    def give(self) -> None:
        self.last, pages, self.pages = SYSTEM.now(), self.pages, 0
        nodes.beat(self.node, self.last, pages)


def run_slice(run_id: int) -> str:
    """Works a slice of the run and queues the next one if work is left that need not wait; answers the run's state."""
    beat = _Beat(nodes.own_name())
    beat.give()
    if engine.shutdown.is_set():
        queue.run_slice(run_id)
        return "shutdown"
    kind = Run.objects.filter(pk=run_id).values_list("kind", flat=True).first()
    if kind in settings.JOBS:
        state = jobs.run_slice(run_id, seconds=settings.SLICE_SECONDS, on_step=beat.give)
    else:
        state = engine.run_slice(run_id, seconds=settings.SLICE_SECONDS, on_page=beat)
    beat.give()
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


def watch() -> None:
    """Looks for what is missing: forums that should have had news and had none."""
    for name in settings.WATCHERS:
        import_string(name)(SYSTEM.now())


def prune() -> dict[str, int]:
    """Drops what only tells of the past."""
    return pruning.prune(SYSTEM.now())
