"""Additions to the general page of a run: the harvests of the run, and a link to its site."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from crawlmgr.admin import removals as removal_views
from crawlmgr.admin import runs, words
from crawlmgr.models import Run
from deepweb.models import Harvest, Source
from deepweb.services import removals

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
    "too_wide": gettext_noop("the interval would be too wide to be useful"),
    "answers_not_understood": gettext_noop("the records shown do not reveal which words find them"),
    "below_records_seen": gettext_noop("the estimate contradicts the records found"),
}


POLICIES = {
    "policy_fresh": gettext_noop("new records first"),
    "policy_frequency": gettext_noop("frequent words first"),
    "policy_paper": gettext_noop("as in the deep-web paper"),
}


KINDS = {
    "deepweb-find": gettext_noop("discovery of search forms"),
    "deepweb-harvest": gettext_noop("harvest of search forms"),
}


words.SAID.update(CODES)


words.SAID.update(POLICIES)


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
    runs.details[_kind] = _detail


runs.details[removals.KIND] = removal_views.detail
