"""Adds the deep web to the home page (a panel and figures), the navigation tree, the command
palette and the general page of a run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Count, Q, Sum
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext

from crawlmgr.admin import tables as removal_views
from crawlmgr.admin import words
from crawlmgr.admin.dashboard import DAY, Tile, remembered
from crawlmgr.admin.palette import KINDS as PALETTE_KINDS
from crawlmgr.admin.palette import Item, Kind, Verb
from crawlmgr.admin.site import Beginning, Step, desk_site
from crawlmgr.admin.tags import number
from crawlmgr.admin.tree import Node, address
from crawlmgr.models import Run
from crawlmgr.runs import desk, run_reads
from crawlmgr.upkeep.demonstration import MARK
from deepweb import harvests, reads
from deepweb.forms import sources
from deepweb.models import Harvest, Query, QueryKind, Source

CODES = {
    "queries": gettext_noop("the number of queries is used up"),
    "requests": gettext_noop("the number of requests is used up"),
    "gain": gettext_noop("the last ten queries brought hardly anything new"),
    "good_turing": gettext_noop("nearly everything that comes back is known already"),
    "coverage": gettext_noop("the wanted share of the database was reached"),
    "rounds": gettext_noop("the paper's stop rule: all rounds were made"),
    "too_few_candidates": gettext_noop(
        "the paper's stop rule: too few words are left for another round"
    ),
    "no_more_words": gettext_noop("there is no query word left"),
    "no_results": gettext_noop("no query returned a record"),
    "all": gettext_noop("all records were found"),
    "answered_by_script": gettext_noop(
        "a script of the page fetches the answers: the pages must be fetched with a browser"
    ),
    "invented_pages": gettext_noop(
        "the site makes up further pages of results; they are not counted"
    ),
    "needs_browser": gettext_noop("a script sends this form: it needs a browser"),
    "login_required": gettext_noop("the site asks to log in"),
    "sent_once": gettext_noop("a POST that may have arrived is not sent again"),
    "page_limit": gettext_noop("the limit of pages for one site was reached"),
    "no_forms": gettext_noop("no form was found"),
    "not_search": gettext_noop("this is not a search form"),
    "personal_fields": gettext_noop("the form asks for personal data or a password"),
    "unsure": gettext_noop("this may not be a search form: correct the type or release it"),
    "nothing_to_fill": gettext_noop("there is nothing to fill in"),
    "post_textarea": gettext_noop("a POST form with a text area is never sent"),
    "post_unsure": gettext_noop("a POST form that is not certainly a search form is not sent"),
    "post_encoding": gettext_noop("a POST form of this encoding is not sent"),
    "post_not_released": gettext_noop("a POST form is sent only after it was released"),
    "other_site": gettext_noop("the form sends to another site"),
    "not asked": gettext_noop("no query could be sent"),
    "no_records": gettext_noop("no record was found"),
    "more_probes": gettext_noop("more random probes"),
    "more_queries": gettext_noop("more queries, so that more words are known"),
    "a_partition": gettext_noop(
        "queries whose results the site does not truncate: words combined with an option, a date or"
        " a number"
    ),
    "details": gettext_noop("the records' detail pages"),
    "other_words": gettext_noop("other initial query words"),
    "no_probes": gettext_noop("no random probe was sent"),
    "too_few_words": gettext_noop("too few words for random probes"),
    "too_few_probes": gettext_noop("too few random probes without truncated results"),
    "too_few_recaptured": gettext_noop("too few records came back twice"),
    "too_many_cut": gettext_noop("too many random probes had truncated results"),
    "probes_not_read": gettext_noop("too many random probes were not read to their end"),
    "more_requests": gettext_noop("more pages for each random probe"),
    "too_wide": gettext_noop("the interval would be too wide to be useful"),
    "answers_not_understood": gettext_noop("the records shown do not reveal which words find them"),
    "below_records_seen": gettext_noop("the estimate contradicts the records found"),
}


POLICIES = {
    "policy_fresh": gettext_noop("new records first"),
    "policy_frequency": gettext_noop("frequent words first"),
    "policy_paper": gettext_noop("as in the deep-web paper"),
}


WAYS = {
    "by_words": gettext_noop("single words"),
    "by_pairs": gettext_noop("pairs of words"),
    "by_choices": gettext_noop("choices, with or without a word"),
    "by_ranges": gettext_noop("ranges"),
}


KINDS = {
    "deepweb-find": gettext_noop("discovery of search forms"),
    "deepweb-harvest": gettext_noop("harvest of search forms"),
}


words.SAID.update(CODES)


words.SAID.update(POLICIES)


words.SAID.update(WAYS)


words.KINDS.update(KINDS)


def harvest_detail(request: HttpRequest, run: Run, now: datetime) -> dict[str, Any]:
    """Returns the harvests of a run, one per form, as context for the template of the run's
    page."""
    rows = (
        Harvest.objects.filter(run=run)
        .select_related("form__source")
        .defer("state", "form__words", "form__described")
    )
    return {"template": "deepweb/run_harvests.html", "harvests": list(rows.order_by("position"))}


def find_detail(request: HttpRequest, run: Run, now: datetime) -> dict[str, Any]:
    """Returns a link as context for the page of a run that searches for forms: to the site it
    crawls, or to the list of sites if it crawls several or the site was deleted."""
    source = Source.objects.only("id").filter(pk=run.target).first()
    if source is None:
        return {"link": reverse("admin:sources"), "link_text": _("To the search sites")}
    return {"link": reverse("admin:source", args=[source.pk]), "link_text": _("To the forms found")}


for _kind, _detail in zip(KINDS, (find_detail, harvest_detail), strict=True):
    desk.details[_kind] = _detail


desk.details[sources.REMOVAL] = removal_views.deletion_detail


SOURCES_SHOWN = 8


def panel(request: HttpRequest, now: datetime) -> dict[str, Any] | None:
    """Returns the context of the panel with search sites, their forms and records; None if there is
    no site or the user may not see them.
    """
    if not request.user.has_perm("deepweb.view_source"):
        return None
    rows = reads.newest_sources(SOURCES_SHOWN + 1)
    shown = {
        "template": "deepweb/panel.html",
        "rows": rows[:SOURCES_SHOWN],
        "more": len(rows) > SOURCES_SHOWN,
    }
    return shown if rows else None


def branch(request: HttpRequest, item: str) -> Node | None:
    """Returns the branch of the navigation tree with search sites by name, records, harvests and
    clusters; None if the user may not see them. `item`, the key of the page that is open, is not
    used.
    """
    if not request.user.has_perm("deepweb.view_source"):
        return None
    rows = reads.tree_sources()
    shown = rows[: reads.TREE_LIMIT]
    working = reads.working("deepweb-find", [row.pk for row in shown])
    nodes = [
        Node(
            row.name,
            address("admin:source", row.pk),
            "",
            f"source:{row.pk}",
            "working" if row.pk in working else "",
        )
        for row in shown
    ]
    if len(rows) > reads.TREE_LIMIT:
        nodes.append(
            Node(_("All search sites"), reverse("admin:sources"), "more_horiz", "sources:all")
        )
    if request.user.has_perm("deepweb.add_source"):
        nodes.append(Node(_("Add search sites"), reverse("admin:source-add"), "add", "source-add"))
    if rows:
        nodes.append(Node(_("Records"), reverse("admin:records"), "dataset", "deep-records"))
        nodes.append(Node(_("Harvests"), reverse("admin:harvests"), "agriculture", "harvests"))
        nodes.append(
            Node(
                _("Form clusters"), reverse("admin:form-clusters"), "bubble_chart", "form-clusters"
            )
        )
    return Node(
        _("Search sites"),
        reverse("admin:sources"),
        "manage_search",
        "sources",
        children=tuple(nodes),
        unfolded=True,
    )


desk_site.add_branch(14, branch)


desk_site.add_panel(14, panel)


def _coverage() -> Step | None:
    about = gettext_lazy(
        "Each query returns fewer new records. Random probes estimate how much of the database has"
        " been harvested."
    )
    harvest = Harvest.objects.filter(form__source__parameters__has_key=MARK).order_by("-pk").first()
    return (
        Step(gettext_lazy("A coverage curve"), about, address("admin:harvest", harvest.pk))
        if harvest is not None
        else None
    )


desk_site.add_tour(40, _coverage)


desk_site.add_beginning(
    14,
    Beginning(
        gettext_lazy("A database behind a search form"),
        gettext_lazy("The form is found and queried until nearly all records are stored."),
        "source-add",
        "deepweb.add_source",
        "manage_search",
    ),
)


def _sources(words: Sequence[str], most: int) -> Sequence[Item]:
    rows = Source.objects.order_by("name", "pk")
    for word in words:
        rows = rows.filter(Q(name__icontains=word) | Q(url__icontains=word))
    return [Item(*row) for row in rows.values_list("pk", "name", "url")[:most]]


SEE, SEE_RECORDS = "deepweb.view_source", "deepweb.view_record"


LOOK = ("look for forms", "find forms", "查找表单")


FILE = ("records", "csv")  # table and format of the exported file


EXPORT = ("export records of", "export records", "导出记录")


VERBS = (
    Verb(
        gettext_lazy("Find forms again"), LOOK, "crawlmgr.add_run", "admin:source-find", "refresh"
    ),
    Verb(
        gettext_lazy("Records"),
        ("records of", "records", "记录"),
        SEE_RECORDS,
        "admin:records",
        "dataset",
        opens=True,
        query="site",
    ),
    Verb(
        gettext_lazy("Export records"),
        EXPORT,
        SEE_RECORDS,
        "admin:export",
        "download",
        opens=True,
        query="site",
        arguments=FILE,
    ),
)


PALETTE_KINDS.append(
    Kind(gettext_lazy("Search site"), "manage_search", SEE, "admin:source", _sources, VERBS)
)


def _sums(now: datetime) -> dict[str, int]:
    """Returns the numbers of new records ("new") and of queries ("queries") of the last 24 hours.
    Nonsense queries are not counted, as in the figures of harvests."""
    active = [run.pk for run in run_reads.lately(harvests.KIND, now - DAY)]
    asked = Query.objects.filter(harvest__run_id__in=active, ended_at__gte=now - DAY)
    return asked.aggregate(
        new=Sum("new", default=0), queries=Count("id", filter=~Q(kind=QueryKind.NONSENSE))
    )


def tiles(request: HttpRequest, now: datetime) -> Sequence[Tile]:
    """Returns one figure: the number of new records of the last 24 hours. Empty if there is no
    search site or the user may not see them."""
    if not request.user.has_perm("deepweb.view_source") or not Source.objects.exists():
        return ()
    found = remembered("records", lambda: _sums(now))
    note = ngettext("%(count)s query", "%(count)s queries", found["queries"]) % {
        "count": number(found["queries"])
    }
    return (Tile(_("New records in 24 h"), number(found["new"]), reverse("admin:records"), note),)


desk_site.add_tile(30, tiles)
