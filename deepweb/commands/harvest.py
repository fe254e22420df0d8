"""Runs the command `deepweb harvest`: harvests a form, or all forms of a cluster, and stores the
records."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.core.management.base import CommandError
from django.db.models import Q

from crawlmgr.clock import SYSTEM
from crawlmgr.conf import CrawlSettings
from crawlmgr.database import upgrade
from crawlmgr.management import foreground
from crawlmgr.management.base import Missing, Result, table
from crawlmgr.models import Run
from deepweb import harvests, reads
from deepweb.commands import find
from deepweb.forms import stored
from deepweb.harvest_options import HarvestOptions
from deepweb.models import Cluster, Form


def run(options: dict[str, Any]) -> Result:
    upgrade.ready()
    harvest_options = _harvest_options(options)
    chosen, left = _chosen(options), _left_out(options["cluster"])
    settings = foreground.web_settings(
        options, [form.source.url for form in chosen], stored=_stored(chosen)
    )
    if options["release"]:
        for form in chosen:
            stored.release(form, True)
            form.released = True
    run = _begin(chosen, harvest_options, settings, by_nodes=options["by_nodes"])
    run = foreground.work(run, f"harvest of {chosen[0].source.name}", by_nodes=options["by_nodes"])
    unasked = reads.nothing_was_asked(run)
    if unasked:
        raise CommandError(unasked)
    if not run.fetched and run.failed + run.refused:
        raise CommandError(f"No query was answered: {run.stopped_by}")
    document = {
        "run": run.pk,
        "state": run.state,
        **(run.result or reads.result_of(run)),
        "run_requests": run.requests,
    }
    missing = [*(foreground.unfinished(run) or ()), *left]
    return Result(document, _text(document), missing=missing or None)


def _harvest_options(options: dict[str, Any]) -> dict[str, Any]:
    details = options["details"]
    if details != "all" and not details.isdecimal():
        raise CommandError(f"--details: {details} is neither a number nor all", returncode=2)
    harvest_options = {
        "policy": options["policy"],
        "queries": options["queries"],
        "requests": options["requests"],
        "seed_terms": [
            word.strip()
            for word in options["seed_terms"].replace("，", ",").split(",")
            if word.strip()
        ],
        "stop_rules": not options["no_stop_rule"],
        "probes": options["probes"],
        "coverage": options["coverage"],
        "details": None if details == "all" else int(details),
        "max_pages": options["max_pages"],
        "random_seed": options["random_seed"],
    }
    try:
        HarvestOptions.from_mapping(harvest_options)
    except ValueError as error:
        raise CommandError(str(error), returncode=2) from None
    return harvest_options


def _stored(chosen: list[Form]) -> str:
    """Returns the private addresses that the settings of these forms' sites already allow,
    separated by commas."""
    allowed = (
        CrawlSettings.from_mapping(form.source.parameters).allowed_private for form in chosen
    )
    return ",".join(sorted(frozenset().union(*allowed)))


def _chosen(options: dict[str, Any]) -> list[Form]:
    if (options["cluster"] is None) == (options["form"] is None):
        raise CommandError(
            "give a form, the address of a page with one, or --cluster", returncode=2
        )
    if options["cluster"] is not None:
        cluster = Cluster.objects.filter(pk=options["cluster"]).first()
        if cluster is None:
            raise CommandError(
                f"There is no cluster {options['cluster']}; `deepweb cluster` makes some."
            )
        found = harvests.of_cluster(cluster)
        if not found:
            codes = ", ".join(one.reason for one in _left_out(cluster.pk))
            raise CommandError(f"No form of this cluster may be asked: {codes or 'it has none'}.")
        return found
    wanted = options["form"]
    rows = Form.objects.select_related("source", "cluster")
    if wanted.isdecimal():
        form = rows.filter(pk=int(wanted)).first()
        if form is None:
            raise CommandError(f"There is no form {wanted}; `deepweb find ADDRESS` looks for some.")
        return [form]
    return [_form_of_page(wanted, foreground.web_settings(options, [wanted]))]


def _left_out(cluster: int | None) -> list[Missing]:
    """Returns the forms of a cluster (None: no cluster) that must not be asked, counted by the
    reason."""
    rows = Form.objects.filter(cluster__isnull=False, cluster=cluster).select_related("source")
    codes = Counter(code for form in rows if (code := stored.refusal_code(form)))
    return [Missing("forms", number, code) for code, number in sorted(codes.items())]


def _form_of_page(url: str, settings: dict[str, Any]) -> Form:
    """Returns the form on the page `url` that is most likely a search form; if no form of this
    address is stored, the page is fetched first, with the crawl settings `settings`. Raises
    CommandError if the page cannot be read or has no search form.
    """
    known = _known(url)
    if known is not None:
        return known
    run = find.look([url], 0, 1, settings)
    if not run.fetched:
        raise CommandError(f"The page could not be read: {find.why_nothing(run)}")
    source = run.parameters["sources"][0]
    found = list(Form.objects.filter(source_id=source).select_related("source", "cluster"))
    best = max(found, key=lambda form: (form.searchable, form.confidence), default=None)
    if best is None or not best.searchable:
        kinds = ", ".join(sorted({form.kind for form in found})) or "none"
        raise CommandError(f"No search form was found at {url} (forms there: {kinds}).")
    return best


def _known(url: str) -> Form | None:
    """Returns the stored search form that was found at this address, or that submits to it; None if
    there is none."""
    rows = Form.objects.select_related("source", "cluster").filter(
        Q(page_url=url) | Q(action=url), searchable=True
    )
    return rows.order_by("-confidence").first()


def _begin(
    chosen: list[Form], harvest_options: dict[str, Any], settings: dict[str, Any], *, by_nodes: bool
) -> Run:
    def create() -> Run:
        return harvests.start(
            chosen, harvest_options, now=SYSTEM.now(), settings=settings, begin=False
        )

    try:
        return foreground.begun(create, "form", by_nodes=by_nodes)
    except harvests.Refused as refused:
        raise CommandError(str(refused)) from None
    except ValueError as error:
        raise CommandError(str(error), returncode=2) from None


def _text(found: dict[str, Any]) -> str:
    total, share = found["estimated_total"], found["coverage"]
    rows = [
        ("queries", found["queries"]),
        ("of these random probes", found["probes"]),
        ("valid", found["valid"]),
        ("efficiency", found["efficiency"]),
        ("records", found["records"]),
        ("records a query", found["records_per_query"]),
        ("overlap rate", found["overlap_rate"]),
        (
            "estimated total",
            (
                f"all {total[0]:.0f}"
                if found["all"]
                else f"{total[0]:.0f} to {total[1]:.0f}"
                if total
                else f"not estimable ({found['estimate_reason']})"
            ),
        ),
        ("coverage", f"{share[0]:.2f} to {share[1]:.2f}" if share else None),
        ("share of answers cut", found["policy_share_of_cuts"]),
        ("requests", found["requests"]),
        ("detail pages", found["details"]),
        ("stopped by", found["stopped_by"]),
        *([("doubt", found["doubt"])] if found["doubt"] else []),
    ]
    return table(("", ""), rows)
