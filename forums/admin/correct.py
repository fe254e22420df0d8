"""Admin view for correcting how a page is read: shows its rows with fields in colours; the operator
clicks a text, chooses its field, and sees the effect on five pages.

Selectors and patterns are evaluated only for users who may change the forum, and only on POST."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from crawlmgr.admin.views import admin_view, back, page
from crawlmgr.archive import archive
from forums.admin import structure_words as words
from forums.admin.structures import corrections, load
from forums.anatomy import PageAnatomy, dissect
from forums.corrections import (
    NOTHING,
    ROLES,
    Effect,
    SamplePage,
    checked,
    effects,
    reading_by,
    with_address,
    with_selector,
)
from forums.models import Site
from forums.reading import PageKind
from forums.reading.rules import SiteRules
from forums.reads.structures import sample_pages
from forums.selectors.bounded import BUSY, TOO_COSTLY
from forums.services import structures

KINDS = (PageKind.threadlist, PageKind.thread, PageKind.index)
_SAME = {  # colours by field, the same for fields that mean the same in lists and in threads
    "a": ("title", "name"),
    "b": ("author",),
    "c": ("last_author", "board_name"),
    "d": ("replies", "threads", "number"),
    "e": ("posts", "views"),
    "f": ("last_reply", "posted"),
    "g": ("created", "post_id"),
    "h": ("text", "description"),
}
HUES = {role: hue for hue, roles in _SAME.items() for role in roles}


@dataclass(frozen=True, slots=True)
class CorrectionQuery:
    """The correction to try: the selector `selector` for the field `role` ("" to select the rows
    instead of a field). `problem`: why it cannot be tried, "" if it can; `effects`: what it changes
    on each sample page, None if no field was chosen yet.
    """

    role: str = ""
    selector: str = ""
    problem: str = ""
    effects: tuple[Effect, ...] | None = None


@admin_view(
    "forums/site/<int:pk>/correct/", "forum-correct", "forums.view_site", post="forums.change_site"
)
def correct(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows which records are read from a stored page of the forum. A POST with "try" shows how a
    correction would change the records; any other POST saves it as a rule of the site.
    """
    site = load(pk)
    kind = next((one for one in KINDS if str(one) == request.GET.get("kind")), PageKind.threadlist)
    samples = _samples(site, kind)
    if request.method == "POST" and "try" not in request.POST:
        return _save(request, site, kind, samples)
    shown = next(
        (one for one in samples if str(one.number) == request.GET.get("page")),
        samples[0] if samples else None,
    )
    query = _correction_query(request, site, kind, samples)
    anatomy = _dissected(site, shown, kind) if shown else None
    context = {
        "site": site,
        "kind": str(kind),
        "kinds": [
            (str(one), words.kind(str(one)), one is kind, f"?{urlencode({'kind': str(one)})}")
            for one in KINDS
        ],
        "samples": [
            (one, one is shown, f"?{urlencode({'kind': str(kind), 'page': one.number})}")
            for one in samples
        ],
        "shown": shown,
        "rows": _rows(anatomy, kind, shown) if anatomy and shown else [],
        "uncorrected": _told(anatomy.problem) if anatomy else "",
        "query": query,
        "picked": "selector" in request.GET,
        "roles": [
            *((role, words.role(role)) for role in ROLES[kind]),
            ("rows", _("the whole row")),
        ],
        "legend": [(words.role(role), HUES[role]) for role in ROLES[kind] if role in HUES],
        "effects": query.effects,
        "differ": any(one.changes for one in query.effects or ()),
        "corrections": corrections(site),
        "address": _pattern(shown.url) if shown else "",
        "nothing": NOTHING,
    }
    trail = [
        (_("Forums"), reverse("admin:forums")),
        (site.name, reverse("admin:forum", args=[pk])),
        (_("Model"), reverse("admin:forum-model", args=[pk])),
    ]
    return page(
        request,
        "forums/correct.html",
        context,
        title=_("Correct a page"),
        item=f"site:{pk}",
        trail=trail,
    )


def _samples(site: Site, kind: PageKind) -> list[SamplePage]:
    found = []
    for row in sample_pages(site, kind):
        record = archive.read_page(row)
        if record is not None:
            found.append(SamplePage(row.pk, row.final_url or row.url, record.text, row.fetched_at))
    return found


def _dissected(site: Site, sample: SamplePage, kind: PageKind) -> PageAnatomy:
    options = structures.reading_options(site)
    return dissect(sample.html, sample.url, sample.fetched_at, expect=kind, **options)


def _options(
    site: Site, rules: SiteRules | None
) -> tuple[SiteRules | None, SiteRules, dict[str, Any]]:
    """Returns the rules by which visits read the site's pages now, those with the corrections
    `rules`, and the other arguments for reading them."""
    options = structures.reading_options(site)
    return options.pop("rules"), structures.reading_rules(site, rules) or SiteRules(), options


def _correction_query(
    request: HttpRequest, site: Site, kind: PageKind, samples: list[SamplePage]
) -> CorrectionQuery:
    """Returns the selector that the user picked and, on POST, what it would change."""
    if request.method != "POST":
        return CorrectionQuery("", request.GET.get("selector", "").strip())
    role, selector = request.POST.get("role", ""), request.POST.get("selector", "").strip()
    role = "" if role == "rows" else role
    try:
        selector = checked(kind, role, selector)
        rules = with_selector(structures.rules_of(site), kind, role, selector)
        before, after, options = _options(site, rules)
        found = effects(samples, before, after, kind, role, **options)
    except ValueError as error:
        return CorrectionQuery(role, selector, _told(str(error)))
    return CorrectionQuery(role, selector, effects=tuple(found))


def _told(problem: str) -> str:
    """Returns why a selector or pattern cannot be used, in the user's language unless the message
    is that of a parser."""
    if problem == BUSY:
        return _("Other selectors are being evaluated; try again.")
    selector, costly, _rest = problem.partition(TOO_COSTLY)
    if not costly:
        return problem
    return _("%(selector)s takes too long or too much memory on a stored page.") % {
        "selector": selector
    }


def _rows(anatomy: PageAnatomy, kind: PageKind, shown: SamplePage) -> list[dict[str, Any]]:
    """Returns the rows for the template: every text of a row with the colour of its field, and the
    link by which a click selects it."""
    base = {"kind": str(kind), "page": shown.number}
    rows = []
    for row in anatomy.rows:
        pieces = [
            {
                "text": piece.text,
                "source": "" if piece.source == "text" else piece.source,
                "hue": HUES.get(piece.role, ""),
                "role": words.role(piece.role) if piece.role else "",
                "link": f"?{urlencode({**base, 'selector': piece.selector})}#say",
            }
            for piece in row.pieces
        ]
        rows.append(
            {"pieces": pieces, "values": [(words.role(name), value) for name, value in row.values]}
        )
    return rows


def _pattern(url: str) -> str:
    """Returns an address as a regular expression in which numbers match any number."""
    rest = re.sub(r"^[a-z]+://[^/]+", "", url)
    return re.sub(r"\d+", r"\\d+", re.escape(rest).replace(r"\-", "-")) or "/"


def _save(
    request: HttpRequest, site: Site, kind: PageKind, samples: list[SamplePage]
) -> HttpResponse:
    now, before = datetime.now(UTC), structures.rules_of(site)
    try:
        if request.POST.get("pattern"):
            stated = PageKind(request.POST.get("stated", ""))
            rules = with_address(before, request.POST["pattern"].strip(), stated)
            change = ["rule", "", f"{request.POST['pattern'].strip()} = {stated}"]
        else:
            role = request.POST.get("role", "")
            role = "" if role == "rows" else role
            selector = checked(kind, role, request.POST.get("selector", ""))
            rules = with_selector(before, kind, role, selector)
            own = before.for_kind(kind) if before else None
            was = (dict(own.fields).get(role, "") if role else own.records) if own else ""
            change = [f"rule.{kind}.{role}".rstrip("."), was, selector]
        _before, after, options = _options(site, rules)
        for sample in samples:
            reading_by(after, sample, kind, **options)
        made = structures.correct(site.pk, rules, change, now=now, user=request.user)
    except ValueError as error:
        messages.error(request, _told(str(error)))
        return back(request, "forum-correct", site.pk)
    messages.success(
        request,
        _("The correction is saved as version %(number)s of the model.") % {"number": made.number},
    )
    messages.info(
        request,
        _("What is stored stays as it was read before until you choose “Read stored pages again”."),
    )
    return back(request, "forum-model", site.pk)
