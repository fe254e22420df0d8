"""`bench harvest --forms`: measures harvests of local forms of every kind: records found compared
with a greedy oracle, correctness of the marks of truncated answers, and values of fields.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any, NamedTuple

import numpy as np

from crawlmgr import engine
from crawlmgr.clock import SYSTEM
from crawlmgr.database import upgrade
from crawlmgr.management.base import say
from crawlmgr.management.base import table as plain_table
from deepweb import harvests
from deepweb.answers.retrieved import Term
from deepweb.choice.terms import bindings
from deepweb.forms import sources, stored
from deepweb.models import Form, Harvest, Query, Record
from tests.benches import child
from tests.benches.forms.hidden_database import best_spans, greedy_cover
from tests.benches.forms.kinds import BY_NAME, KINDS, Kind, small
from tests.benches.forms.web import FormServer, FormSite

WORDS_ASKED = 6_000
WORDS_A_COLUMN = 300
SETTINGS = {"allow_private": "127.0.0.1", "delay_seconds": 0.0}


class _Query(NamedTuple):
    kind: str
    terms: list[list[str]]
    state: str
    returned: int
    new: int
    cut: bool
    partial: bool
    total: int | None
    requests: int
    reason: str


def measure(options: dict[str, Any]) -> dict[str, Any]:
    """Harvests each kind of form, or those named in `only_forms`. Returns the number of kinds
    ("kinds"), of queries for each ("queries") and of kinds with at least 85 % of the oracle's
    records ("at_85"), and the figures of each kind ("forms").
    """
    names = [name for name in options["only_forms"].split(",") if name] or [
        kind.name for kind in KINDS
    ]
    kinds = [small(BY_NAME[name], options["form_records"]) for name in names]
    with tempfile.TemporaryDirectory(prefix="forms-") as folder:
        side = subprocess.Popen(
            child.command(serve),
            cwd=child.ROOT,
            env={**os.environ, "CRAWLMGR_DATA": folder},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            rows = [_row(kind, side, options) for kind in kinds]
        finally:
            side.terminate()
            side.wait()
    good = [row for row in rows if row["of_oracle"] >= 0.85]
    return {"kinds": len(rows), "queries": options["queries"], "at_85": len(good), "forms": rows}


def _row(kind: Kind, side: Any, options: dict[str, Any]) -> dict[str, Any]:
    site = FormSite(kind, options["random_seed"])
    harvest_options = {
        "queries": options["queries"],
        "probes": options["form_probes"],
        "details": 0,
        "stop_rules": False,
    }
    with FormServer(site) as server:
        side.stdin.write(json.dumps({"url": server.url, "options": harvest_options}) + "\n")
        side.stdin.flush()
        told = json.loads(side.stdout.readline())
    found = told.get("result") or {}
    queries = [_Query(*row) for row in told.get("queries", ())]
    bar = oracle(site, options["queries"])
    size = found.get("estimated_total")
    records = right_records(site, told.get("records", ()))
    row = {
        "form": kind.name,
        "records": len(records),
        "oracle": bar,
        "of_oracle": len(records) / bar if bar else 0.0,
        "wrong_records": len(told.get("records", ())) - len(records),
        "queries": found.get("queries", 0),
        "valid": found.get("valid", 0),
        "requests": found.get("requests", 0),
        "efficiency": found.get("efficiency"),
        "cuts_right": _cuts_right(site, queries),
        "fields_right": float(np.mean(list(records.values()))) if records else None,
        "stopped_by": told.get("failed") or found.get("stopped_by"),
        "interval": size,
        "holds": size and size[0] <= len(site.all) <= size[1],
        "estimate_reason": found.get("estimate_reason"),
        "cpu_seconds": told.get("cpu_seconds", 0.0),
    }
    if options.get("keep_log"):
        row["log"] = [query._asdict() for query in queries]
    say(f"{kind.name}: {row['records']} of {bar} ({row['of_oracle']:.2f}), {row['stopped_by']}")
    return row


def right_records(site: FormSite, records: Iterable[tuple[str, dict[str, str]]]) -> dict[int, bool]:
    """Tells for each record of the site that was found, by its number, whether title and author are
    stored as complete, separate fields.
    """
    by_title = {record.title: record for record in site.all}
    found = {}
    for url, fields in records:
        values = {str(value).strip() for value in fields.values()}
        address = re.search(r"(?:/item/|[?&]show=|\.example/)(\d+)$", url)
        record = None
        if address is not None:
            place = int(address[1]) - 1
            record = site.all[place] if place < len(site.all) else None
        elif not url:
            record = next((by_title[value] for value in values if value in by_title), None)
        if record is not None:
            found[record.number] = record.title in values and any(
                value.removeprefix("by ").strip() == record.fields["author"] for value in values
            )
    return found


def _cuts_right(site: FormSite, queries: Sequence[_Query]) -> float | None:
    """Returns the share of valid queries whose answer the harvest correctly marked as truncated or
    not; None without any."""
    marks = []
    for query in queries:
        if (
            query.kind in ("seed", "trial", "policy")
            and query.state == "valid"
            and not query.partial
        ):
            bound = bindings(tuple(Term(*term) for term in query.terms))
            matching = site.matching(_as_sent(site, bound)) or ()
            marks.append(query.cut == bool(site.kind.cut and len(matching) > site.kind.cut))
    return float(np.mean(marks)) if marks else None


def _as_sent(site: FormSite, bound: dict[str, str]) -> dict[str, str]:
    return {"q": bound["words"]} if site.kind.answer == "script" and "words" in bound else bound


def oracle(site: FormSite, queries: int) -> int:
    """Returns the number of records found by a greedy oracle, which knows all records, with
    `queries` queries. Each query is a word together with the required choices; for a form without a
    text box, a choice of values or one of the best disjoint ranges."""
    kind, count = site.kind, len(site.all)
    if kind.by_script:
        return 0
    if kind.everything:
        return count
    if kind.between and not kind.box:
        return best_spans(
            [_place(record.fields[kind.between[0].field]) for record in site.all],
            kind.cut or count,
            queries,
        )
    if kind.filters:
        asked = [
            {"column": name, "op": "contains", "value": word}
            for name in site.all[0].fields
            for word in _said_in(site, name)
        ]
        return greedy_cover(
            [(site.matching(each) or [])[: kind.cut] for each in asked], count, queries
        )[-1]
    must = [select for select in kind.selects if select.required]
    choices = must or (list(kind.selects) if not kind.box else [])
    values = [
        [(select.name, value) for value in site.pages.values(select.field)] for select in choices
    ]
    bound: list[dict[str, str]] = (
        [dict(each) for each in itertools.product(*values)] if must else [{}]
    )
    if kind.box:
        words = sorted(site.words, key=lambda word: -len(site.words[word]))[
            : WORDS_ASKED // len(bound)
        ]
        asked = [{kind.box: word, **more} for word in words for more in bound]
    else:
        parts = [part for size in (1, 2) for part in itertools.combinations(values, size)]
        asked = [dict(each) for part in parts for each in itertools.product(*part)]
    answers = [(site.matching(each) or [])[: kind.cut] for each in asked]
    return greedy_cover(answers, count, queries)[-1]


def _said_in(site: FormSite, name: str) -> list[str]:
    """Returns the `WORDS_A_COLUMN` words that occur in the field `name` of the most records, the
    most frequent first."""
    counts = Counter(
        word
        for record in site.all
        for word in set(re.findall(r"\w+", str(record.fields[name]).lower()))
    )
    return [word for word, _ in counts.most_common(WORDS_A_COLUMN)]


def _place(value: Any) -> float:
    return float(date.fromisoformat(value).toordinal() if isinstance(value, str) else value)


def table(result: dict[str, Any]) -> str:
    names = (
        "form",
        "records",
        "oracle",
        "of_oracle",
        "queries",
        "valid",
        "requests",
        "efficiency",
        "cuts_right",
        "fields_right",
        "stopped_by",
        "interval",
        "holds",
        "estimate_reason",
    )
    rows = [tuple(row[name] for name in names) for row in result["forms"]]
    return (
        plain_table(names, rows)
        + f"\n{result['at_85']} of {result['kinds']} kinds at .85 of the oracle or above"
    )


def harvested(url: str, options: dict[str, Any]) -> dict[str, Any]:
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
        stored.release(chosen, True)
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


def serve() -> None:
    """Reads lines of JSON {"url", "options"} from standard input, and writes one line of JSON with
    the result for each."""
    upgrade.ready()
    for line in sys.stdin:
        wanted = json.loads(line)
        result = harvested(wanted["url"], wanted["options"])
        sys.stdout.write(json.dumps(result, default=str) + "\n")
        sys.stdout.flush()
