"""Counts for a run's end report: responses by status, pages by media type, seeds by outcome, pages
by host, and the outcomes of all its addresses."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.db.models import Count

from crawlmgr.database import sql
from crawlmgr.models import Run, Url, UrlState
from crawlmgr.web.exchange import FetchResponse

STATUS, TYPE, SEED = "status", "type", "seed"
MAX_OUTCOMES = 40
_ADD = (
    "INSERT INTO crawlmgr_runtally (run_id, what, name, number, bytes) VALUES (%s, %s, %s, %s, %s)"
    " ON CONFLICT (run_id, what, name) DO UPDATE SET number = crawlmgr_runtally.number +"
    " excluded.number, bytes = crawlmgr_runtally.bytes + excluded.bytes"
)
_ADD_TO_HOST = (
    "UPDATE crawlmgr_runhost SET fetched = fetched + %s, failed = failed + %s, bytes = bytes + %s"
    " WHERE run_id = %s AND host_id = %s"
)


class Tally:
    """Counts collected during one transaction and written once at its end. `seeds`: the outcomes of
    seeds (start addresses of the run) are counted as well."""

    def __init__(self, *, seeds: bool) -> None:
        self._seeds = seeds
        self._numbers: Counter[tuple[str, str]] = Counter()
        self._bytes: Counter[tuple[str, str]] = Counter()
        self._hosts: dict[int, list[int]] = {}

    def answer(self, response: FetchResponse) -> None:
        """Counts a response, also if its address will be requested again."""
        name = str(response.status) if response.failure is None else response.failure.value
        self._add(STATUS, name, response.received_bytes)

    def page(self, item: Url, response: FetchResponse) -> None:
        """Counts a page that was stored."""
        self._add(
            TYPE,
            response.content_type.partition(";")[0].strip().lower() or "",
            response.received_bytes,
        )
        self._host(item, 1, 0, response.received_bytes)

    def ended(self, item: Url, state: UrlState, reason: str, received_bytes: int = 0) -> None:
        """Counts an address that ended, with the bytes received for it. Pages that were stored are
        counted by `page`."""
        if state != UrlState.DONE:
            self._host(item, 0, int(state == UrlState.FAILED), received_bytes)
        if self._seeds and item.parent_id is None and item.depth == 0:
            self._add(SEED, f"{state.name.lower()} {reason.partition(':')[0]}".strip(), 0)

    def write(self, run_id: int) -> None:
        """Adds the counts to those stored for the run."""
        if self._numbers:
            rows = [
                (run_id, what, name[:100], number, self._bytes[what, name])
                for (what, name), number in self._sorted()
            ]
            sql.execute_many(_ADD, rows)
        if self._hosts:
            sql.execute_many(
                _ADD_TO_HOST, [(*sums, run_id, host) for host, sums in sorted(self._hosts.items())]
            )

    def _sorted(self) -> list[tuple[tuple[str, str], int]]:
        return sorted(self._numbers.items())

    def _add(self, what: str, name: str, received_bytes: int) -> None:
        self._numbers[what, name] += 1
        self._bytes[what, name] += received_bytes

    def _host(self, item: Url, fetched: int, failed: int, received_bytes: int) -> None:
        sums = self._hosts.setdefault(item.host_id, [0, 0, 0])
        for place, number in enumerate((fetched, failed, received_bytes)):
            sums[place] += number


def outcomes(run_id: int) -> list[dict[str, Any]]:
    """Counts a run's addresses by state and reason; returns the MAX_OUTCOMES most frequent
    combinations as dicts with "state", "reason" and "count", most frequent first. Slow for a large
    run: all its addresses are counted.
    """
    rows = Url.objects.filter(run_id=run_id).values("state", "reason").annotate(count=Count("id"))
    return list(rows.order_by("-count", "state", "reason")[:MAX_OUTCOMES])


def store_final(run_id: int) -> None:
    """Stores the outcomes of the addresses of a run that is ending, so that they need not be
    counted again for each page view."""
    Run.objects.filter(pk=run_id).update(outcomes=outcomes(run_id))
