"""Admin views of a forum's model: what was learned about its pages, corrections of how a page is
read, doubts, and changes between versions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from crawlmgr.admin.views import admin_view, attempt, back, page, post_view
from crawlmgr.admin.views import number as whole
from crawlmgr.archive import archive
from crawlmgr.models import ACTIVE, Run
from forums.admin import site_table, words
from forums.admin.add import EVIDENCE
from forums.admin.site_table import engine
from forums.admin.words import lessons
from forums.discovery import structures
from forums.discovery.correction_page import (
    NOTHING,
    ROLES,
    Effect,
    PageAnatomy,
    SamplePage,
    checked,
    dissect,
    effects,
    reading_by,
    with_address,
    with_selector,
)
from forums.discovery.structures import sample_pages, versions
from forums.models import Board, Doubt, Site
from forums.reading import PageKind
from forums.reading.corrections import SiteCorrections
from forums.selectors.bounded import BUSY, NOTHING_FOUND, TOO_COSTLY
from forums.sites import reads, rereads
from forums.visits import doubts

KINDS = ("index", "list", "thread", "alias")


DAY_FIRST = {"": None, "day": True, "month": False}


@dataclass(frozen=True, slots=True)
class KindRow:
    """One kind of page in the model: its address shapes, typical number of rows, fields, and how
    addresses of further pages are formed."""

    kind: str
    name: str
    patterns: tuple[str, ...]
    rows: int | None
    roles: tuple[str, ...]
    flip: str


@dataclass(frozen=True, slots=True)
class Correction:
    """One rule of the operator: a selector for a field or for the rows, or an address pattern with
    a stated kind of page."""

    key: str
    what: str
    selector: str


def load(pk: int) -> Site:
    """Loads a site with its model. Raises Http404 if there is none."""
    site = Site.objects.select_related("host").defer("host__robots_text").filter(pk=pk).first()
    if site is None:
        raise Http404(_("There is no such forum."))
    return site


@admin_view(
    "forums/site/<int:pk>/model/", "forum-model", "forums.view_site", post="forums.change_site"
)
def model_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows what is known about how a forum's pages are built; a POST saves an edit by hand as a
    new version."""
    site = load(pk)
    if request.method == "POST" and _save(request, site):
        return back(request, "forum-model", pk)
    structure = site.structure if structures.model_of(site) is not None else {}
    trail = [(_("Forums"), reverse("admin:forums")), (site.name, reverse("admin:forum", args=[pk]))]
    context = {
        "site": site,
        "tabs": site_table.of_forum(request, pk, "forum-model"),
        "known": bool(structure),
        "layout": layout_words(site),
        "facts": _facts(site, structure),
        "kinds": _kind_rows(structure),
        "lessons": lessons(site, structure),
        "order": {True: "day", False: "month", None: ""}[structure.get("day_first")],
        "posts_per_page": structure.get("posts_per_page") or "",
        "editable": [
            (kind, words.kind(kind), "\n".join((structure.get("patterns") or {}).get(kind, ())))
            for kind in KINDS
        ],
        "corrections": corrections(site),
        "boards": _board_rows(site),
        "versions": [_version(version) for version in versions(site)],
    }
    return page(
        request, "forums/model.html", context, title=_("Model"), item=f"site:{pk}", trail=trail
    )


def _facts(site: Site, structure: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Returns the facts about the whole site as (name, value, evidence)."""
    evidence = (
        structure.get("timezone_evidence", "none")
        if site.timezone == structure.get("timezone")
        else "given"
    )
    counts = structure.get("counts_posts")
    return [
        (_("Software"), engine(site), ""),
        (_("Time zone"), site.timezone, _(EVIDENCE.get(evidence, EVIDENCE["none"]))),
        (_("Order of day and month"), _(words.ORDERS[structure.get("day_first")]), ""),
        (
            _("Meaning of the counts in lists"),
            _(words.COUNTS[counts if counts in words.COUNTS else None]),
            "",
        ),
        (_("Posts per page"), str(structure.get("posts_per_page") or "–"), ""),
        (_("Pages inspected"), str(structure.get("pages_read", "–")), ""),
    ]


def _kind_rows(structure: Mapping[str, Any]) -> list[KindRow]:
    patterns = structure.get("patterns") or {}
    layouts = {one["kind"]: one for one in structure.get("layouts") or ()}
    rows = []
    for kind in KINDS:
        layout = layouts.get("threadlist" if kind == "list" else kind, {})
        flip = structure.get({"list": "list_flip", "thread": "thread_flip"}.get(kind, "")) or {}
        if kind in patterns or layout:
            roles = tuple(words.role(role) for role in layout.get("roles", ()))
            rows.append(
                KindRow(
                    kind,
                    words.kind(kind),
                    tuple(patterns.get(kind, ())),
                    layout.get("rows"),
                    roles,
                    _flip(flip),
                )
            )
    return rows


def _flip(flip: Mapping[str, Any]) -> str:
    """Describes how the addresses of further pages are formed, for example "?page={n}, so page 2 is
    ?page=2"; "" if unknown."""
    if not flip:
        return ""
    if flip.get("cursor"):
        return _(
            "%(pattern)s (only the link to the next page is followed; page numbers cannot be "
            "computed)"
        ) % {"pattern": flip["pattern"]}
    second = flip["pattern"].replace("{n}", str(flip["first"] + flip["step"]))
    return _("%(pattern)s, so page 2 is %(second)s") % {
        "pattern": flip["pattern"],
        "second": second,
    }


def _board_rows(site: Site) -> list[tuple[Board, str]]:
    boards = Board.objects.filter(site=site).only(
        "id", "name", "parent_id", "position", "sort", "has_last_reply", "site_id"
    )
    return [
        (board, _(words.SORTS.get(board.sort, board.sort)))
        for board, _depth in reads.ordered(list(boards))
    ][:200]


def corrections(site: Site) -> list[Correction]:
    """Returns the operator's rules one by one; `key` identifies a rule for deleting it."""
    rules = structures.rules_of(site)
    if rules is None:
        return []
    found = []
    for kind, own in rules.kinds:
        if own.records:
            found.append(
                Correction(
                    f"{kind}.", _("%(kind)s: the rows") % {"kind": words.kind(kind)}, own.records
                )
            )
        for role, selector in own.fields:
            what = _("%(kind)s: %(role)s") % {"kind": words.kind(kind), "role": words.role(role)}
            found.append(Correction(f"{kind}.{role}", what, selector))
    for pattern, kind in rules.addresses:
        found.append(
            Correction(
                f"address.{pattern}",
                _("addresses of kind %(kind)s") % {"kind": words.kind(kind)},
                pattern,
            )
        )
    return found


def layout_words(site: Site) -> dict[str, Any] | None:
    """Returns the data for the banner about a changed layout; None if there is none."""
    told = site.layout
    if not told.get("reasons"):
        return None
    if (
        told.get("state") == "learning"
        and not Run.objects.filter(pk=told.get("run"), state__in=ACTIVE).exists()
    ):
        return None  # the run was stopped meanwhile; the next visit will detect the change again
    return {
        "at": datetime.fromisoformat(told["at"]),
        "run": told.get("run"),
        "kind": words.kind(told.get("kind", "")),
        "reasons": [words.reason(code) for code in told["reasons"]],
        "roles": [words.role(code) for code in told.get("roles", ())],
        "state": told.get("state", ""),
        "verdict": [words.reason(code) for code in told.get("verdict", ())],
        "version": told.get("version"),
    }


def _version(version: Any) -> dict[str, Any]:
    return {
        "row": version,
        "changes": [
            (words.what(what), before, after) for what, before, after in version.changes[:12]
        ],
        "more": max(0, len(version.changes) - 12),
    }


def _save(request: HttpRequest, site: Site) -> bool:
    """Saves a site's learned structure as the user edited it; returns False, after a message, if
    the input is invalid."""
    values: dict[str, Any] = {"patterns": dict(site.structure.get("patterns") or {})}
    for kind in KINDS:
        shapes = [
            line.strip()
            for line in request.POST.get(f"pattern_{kind}", "").splitlines()
            if line.strip()
        ]
        if any(len(shape) > 300 or re.search(r"\s", shape) for shape in shapes) or len(shapes) > 20:
            messages.error(
                request, _("Address patterns: one per line without spaces, 20 lines at most.")
            )
            return False
        values["patterns"][kind] = shapes
    if request.POST.get("order") in DAY_FIRST:
        values["day_first"] = DAY_FIRST[request.POST["order"]]
    number = request.POST.get("posts_per_page", "").strip()
    if number and not (number.isascii() and number.isdigit() and len(number) < 6):
        messages.error(request, _("Posts per page must be a whole number."))
        return False
    values["posts_per_page"] = int(number) if number else None
    try:
        made = structures.edit(site.pk, values, now=datetime.now(UTC), user=request.user)
    except ValueError as error:
        messages.error(request, str(error))
        return False
    if made is None:
        messages.info(request, _("Nothing was changed."))
    else:
        messages.success(
            request, _("Version %(number)s of the model is now in use.") % {"number": made.number}
        )
    return True


@post_view("forums/site/<int:pk>/model/restore/", "forum-model-restore", "forums.change_site")
def restore(request: HttpRequest, pk: int) -> HttpResponse:
    """Restores a version, or accepts a proposed one."""
    site, number = load(pk), request.POST.get("version", "")
    wanted = int(number) if number.isascii() and number.isdigit() and len(number) < 9 else 0
    done = _("The model now has the content of version %(number)s, saved as a new version.") % {
        "number": wanted
    }
    attempt(
        request,
        done,
        lambda: structures.restore(site.pk, wanted, now=datetime.now(UTC), user=request.user),
    )
    return back(request, "forum-model", pk)


@post_view("forums/site/<int:pk>/model/keep/", "forum-model-keep", "forums.change_site")
def keep(request: HttpRequest, pk: int) -> HttpResponse:
    """Dismisses the banner of a changed layout; the model is not changed."""
    structures.dismiss(load(pk).pk, now=datetime.now(UTC), user=request.user)
    messages.success(request, _("The model is unchanged."))
    return back(request, "forum-model", pk)


@post_view("forums/site/<int:pk>/model/take-back/", "forum-rule-remove", "forums.change_site")
def take_back(request: HttpRequest, pk: int) -> HttpResponse:
    """Deletes one correction (rule) of a forum."""
    site, key = load(pk), request.POST.get("key", "")
    done = _("The correction is undone.")
    attempt(
        request,
        done,
        lambda: structures.take_back(site.pk, key, now=datetime.now(UTC), user=request.user),
    )
    return back(request, "forum-model", pk)


@post_view("forums/site/<int:pk>/doubts/", "forum-doubt", "forums.change_site")
def settle(request: HttpRequest, pk: int) -> HttpResponse:
    """Dismisses a doubt, because the user says that the page is read correctly."""
    site, wanted = load(pk), whole(request.POST.get("doubt", "")) or 0
    if Doubt.objects.filter(pk=wanted, site=site).exists() and doubts.settle(
        wanted, datetime.now(UTC), request.user
    ):
        messages.success(request, _("Accepted as correct."))
    else:
        messages.info(request, _("This doubtful reading no longer exists."))
    return back(request, "forum", pk)


@post_view("forums/site/<int:pk>/reread/", "forum-reread", "crawlmgr.add_run")
def reread(request: HttpRequest, pk: int) -> HttpResponse:
    """Starts reading the stored pages again with the current model; nothing is requested from the
    forum."""
    site, now = load(pk), datetime.now(UTC)
    attempt(
        request,
        _("The stored pages are being read again."),
        lambda: rereads.start(site, now=now, user=request.user),
    )
    return back(request, "forum-model", pk)


CORRECTED_KINDS = (PageKind.threadlist, PageKind.thread, PageKind.index)


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
    kind = next(
        (one for one in CORRECTED_KINDS if str(one) == request.GET.get("kind")), PageKind.threadlist
    )
    samples = _samples(site, kind)
    if request.method == "POST" and "try" not in request.POST:
        return _save_correction(request, site, kind, samples)
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
            for one in CORRECTED_KINDS
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
    site: Site, rules: SiteCorrections | None
) -> tuple[SiteCorrections | None, SiteCorrections, dict[str, Any]]:
    """Returns the rules by which visits read the site's pages now, those with the corrections
    `rules`, and the other arguments for reading them."""
    options = structures.reading_options(site)
    return options.pop("rules"), structures.reading_rules(site, rules) or SiteCorrections(), options


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
    for ending, text in (
        (TOO_COSTLY, _("%(selector)s takes too long or too much memory on a stored page.")),
        (NOTHING_FOUND, _("%(selector)s finds nothing on a stored page that has rows.")),
    ):
        if problem.endswith(ending):
            return text % {"selector": problem.removesuffix(ending)}
    return problem


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


def _save_correction(
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
