"""The command `deepweb find`: crawls sites for their forms."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.database import upgrade
from crawlmgr.management import foreground
from crawlmgr.management.base import Result, add_web_arguments, table
from crawlmgr.models import Run, Url
from deepweb.forms import sources, stored
from deepweb.models import Form


def add_arguments(parser: Any) -> None:
    parser.add_argument("urls", nargs="+", metavar="URL", help="address of a site")
    parser.add_argument(
        "--depth",
        type=int,
        default=sources.DEPTH,
        help=f"links followed from the address (default {sources.DEPTH})",
    )
    parser.add_argument(
        "--pages",
        type=int,
        default=sources.PAGES,
        help=f"pages read of a site at the most (default {sources.PAGES})",
    )
    add_web_arguments(parser)


def run(options: dict[str, Any]) -> Result:
    upgrade.ready()
    settings = foreground.web_settings(options, options["urls"])
    run = look(
        options["urls"], options["depth"], options["pages"], settings, by_nodes=options["by_nodes"]
    )
    found = (
        Form.objects.filter(source_id__in=run.parameters["sources"])
        .select_related("source")
        .order_by("source_id", "depth", "pk")
    )
    forms = [describe(form) for form in found]
    missing = foreground.unfinished(run)
    if not run.fetched and missing is None:
        raise CommandError(f"No page could be read: {why_nothing(run)}")
    rows = [
        (form["form"], form["type"], form["method"], form["depth"], form["page_url"])
        for form in forms
    ]
    document = {
        "run": run.pk,
        "state": run.state,
        "pages": run.fetched,
        "requests": run.requests,
        "forms": forms,
    }
    return Result(
        document,
        table(("form", "type", "method", "depth", "page"), rows)
        + f"\n{run.fetched} pages, {run.requests} requests",
        missing=missing,
    )


def look(
    urls: list[str], depth: int, pages: int, settings: dict[str, Any], *, by_nodes: bool = False
) -> Run:
    """Crawls the sites `urls` for forms while the user waits, to `depth` clicks and at most `pages`
    pages per site, in this process or (`by_nodes`) by worker nodes; an interrupted run on the same
    sites is continued. Returns the run. Raises CommandError for invalid arguments."""
    if depth < 0 or pages < 1:
        raise CommandError("--depth is at least 0 and --pages at least 1", returncode=2)
    try:
        run = foreground.begun(
            lambda: sources.find(
                urls, now=SYSTEM.now(), depth=depth, pages=pages, settings=settings, start=False
            ),
            "site",
            by_nodes=by_nodes,
        )
    except ValueError as error:
        raise CommandError(str(error), returncode=2) from None
    return foreground.work(run, run.label, by_nodes=by_nodes)


def why_nothing(run: Run) -> str:
    """Returns why a run read no page: up to five start addresses with the reason why each was not
    read; if no reason is stored for any of them, the code of the reason why the run ended.
    """
    rows = Url.objects.filter(run=run, depth=0).exclude(reason="").values_list("url", "reason")
    reasons = [f"{url}: {say_code(reason)}" for url, reason in rows[:5]]
    return "; ".join(reasons) or run.stopped_by


def say_code(reason: str) -> str:
    """Returns a reason code as printed to the user: for a refused private address, with a hint at
    the option that allows it."""
    if reason.startswith("refused_address") and "no_contact" not in reason:
        return f"{reason} (private addresses need --allow-private)"
    return reason


def describe(form: Form) -> dict[str, Any]:
    """Returns a form as a JSON document for the command line: its addresses, type and confidence,
    and its fields with their options."""
    fields = form.described.get("fields", [])
    shown = ("name", "kind", "label", "value", "role", "required")
    return {
        "form": form.pk,
        "page_url": form.page_url,
        "action": form.action,
        "method": form.method,
        "type": form.kind,
        "confidence": form.confidence,
        "searchable": form.searchable,
        "refused": stored.refusal_code(form),
        "fields": [
            {
                **{name: field.get(name) for name in shown},
                "options": [option["value"] for option in field.get("options", ())],
            }
            for field in fields
        ],
        "depth": form.depth,
        "cluster": form.cluster_id,
    }
