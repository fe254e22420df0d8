"""The process that `bench harvest --forms` measures: finds and harvests the form of each given
site, with a database of its own.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crawlmgr.settings")
django.setup()

from crawlmgr import engine  # noqa: E402 - Django has to be set up first
from crawlmgr.clock import SYSTEM  # noqa: E402
from crawlmgr.management import database  # noqa: E402
from deepweb.models import Form, Harvest, Query, Record  # noqa: E402
from deepweb.services import forms, harvests, sources  # noqa: E402

SETTINGS = {"allow_private": "127.0.0.1", "delay_seconds": 0.0}


def work(url: str, options: dict[str, Any]) -> dict[str, Any]:
    """Finds and harvests the form of one site. Returns the run's result with its stored queries and
    records; "failed" gives the reason if the form was not found or may not be sent.
    """
    began = time.process_time()
    look = sources.find([url], now=SYSTEM.now(), depth=0, pages=1, settings=SETTINGS, start=False)
    engine.run_slice(look.pk, seconds=None)
    found = Form.objects.filter(source_id__in=look.parameters["sources"]).order_by(
        "-searchable", "-confidence"
    )
    told = {"types": [[form.kind, form.confidence, form.method] for form in found]}
    chosen = next(iter(found), None)
    if chosen is None:
        return {**told, "failed": "no form"}
    if chosen.method == "post":
        forms.release(chosen, True)
        chosen.refresh_from_db()
    try:
        run = harvests.start([chosen], options, now=SYSTEM.now(), settings=SETTINGS, begin=False)
    except ValueError as error:
        return {**told, "failed": str(error)}
    engine.run_slice(run.pk, seconds=None)
    run.refresh_from_db()
    row = Harvest.objects.get(run=run)
    columns = (
        "kind",
        "terms",
        "state",
        "returned",
        "new",
        "overflowed",
        "partial",
        "total",
        "requests",
        "reason",
    )
    return {
        **told,
        "state": run.state,
        "detail": run.detail,
        "result": run.result,
        "queries": [
            list(values)
            for values in Query.objects.filter(harvest=row).order_by("number").values_list(*columns)
        ],
        "records": list(
            Record.objects.filter(source_id=chosen.source_id).values_list("url", "fields")
        ),
        "cpu_seconds": time.process_time() - began,
    }


def main() -> None:
    """Reads lines of JSON {"url", "options"} from standard input, and writes one line of JSON with
    the result for each."""
    database.ready()
    for line in sys.stdin:
        wanted = json.loads(line)
        # output for the parent process
        print(  # noqa: T201
            json.dumps(work(wanted["url"], wanted["options"]), default=str), flush=True
        )


if __name__ == "__main__":
    main()
