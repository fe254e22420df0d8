"""HTTP API for databases behind search forms: operations that find forms on sites and harvest the
databases behind them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext_noop
from ninja import Router, Schema
from ninja.errors import HttpError

from crawlmgr.api import api, changes
from crawlmgr.api.base import page_of
from crawlmgr.api.shared import Key, Limit, Page, run_document
from deepweb import harvests
from deepweb.forms import sources
from deepweb.models import Form, Source

router = Router(tags=["search forms"])
FIELDS = ("id", "url", "name", "pages", "records", "created", "looked_at")


class Find(Schema):
    """Request body of `find`: addresses of the sites to crawl for search forms, and the number of
    links to follow from each (`depth`)."""

    urls: list[str]
    depth: int = sources.DEPTH


class Harvest(Schema):
    """Request body of `harvest`: number of queries, policy by which they are chosen, and first
    query words (empty: chosen by the program)."""

    queries: int = 100
    policy: str = "fresh"
    seed_terms: list[str] = []


@router.get(
    "/search-sites",
    response=Page,
    summary=gettext_noop("Sites that were searched for search forms"),
)
def source_list(request: HttpRequest, after: Key = 0, limit: Limit = 100) -> dict[str, Any]:
    found = list(Source.objects.filter(pk__gt=after).order_by("pk").values(*FIELDS)[:limit])
    return page_of(found, limit, [row["id"] for row in found])


@router.post(
    "/search-sites/find",
    auth=changes,
    summary=gettext_noop("Find search forms"),
    description=gettext_noop("The forms found are listed under `tables/forms`."),
)
def find(request: HttpRequest, wanted: Find) -> dict[str, Any]:
    if not wanted.urls:
        raise ValueError("urls: at least one address is needed")
    return run_document(sources.find(wanted.urls, depth=wanted.depth, now=datetime.now(UTC)).pk)


@router.post(
    "/forms/{int:form}/harvest",
    auth=changes,
    summary=gettext_noop("Harvest the database behind a form"),
    description=gettext_noop(
        "The records are listed under `tables/records`; once the run has ended, its `result` holds"
        " the totals (queries, records, estimated size)."
    ),
)
def harvest(request: HttpRequest, form: int, wanted: Harvest) -> dict[str, Any]:
    options = {"queries": wanted.queries, "policy": wanted.policy, "seed_terms": wanted.seed_terms}
    try:
        run = harvests.start(
            [Form.objects.select_related("source").get(pk=form)], options, now=datetime.now(UTC)
        )
    except harvests.Refused as refused:
        raise HttpError(409, f"This form is not sent: {refused.code}.") from None
    return run_document(run.pk)


api.add_router("", router)
