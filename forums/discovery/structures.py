"""Versions of site models: every change of a model or of its rules is stored as a version and
recorded as an event, and any version can be restored."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Max

from crawlmgr.models import Event, Page, events
from crawlmgr.web.url import url_hash
from forums.discovery import SiteModel
from forums.models import Board, Origin, Site, StructureVersion, Thread
from forums.reading import PageKind, PageReading
from forums.reading.corrections import KindRules, SiteCorrections
from forums.reading.model import Shapes
from forums.reading.page import UNCORRECTED

log = logging.getLogger("crawlmgr.forums")


Change = Sequence[str]  # a change in a version: what changed, its value before, its value after


_NOTED = ("engine", "timezone", "day_first", "posts_per_page", "counts_posts")


def model_of(site: Site) -> SiteModel | None:
    """Returns the learned model of a site; None if there is none, or if an incompatible version of
    the program stored it."""
    try:
        return SiteModel.from_json(site.structure)
    except (KeyError, TypeError, ValueError):
        return None


def rules_of(site: Site) -> SiteCorrections | None:
    """Returns the operator's corrections of a site; None if there are none, or if they cannot be
    parsed."""
    if not site.rules:
        return None
    try:
        return SiteCorrections.from_json(site.rules)
    except (KeyError, TypeError, ValueError):
        return None


def reading_rules(site: Site, own: SiteCorrections | None = None) -> SiteCorrections | None:
    """Returns the rules for reading the site's pages: the operator's corrections (`own`, by default
    those that are stored), which take precedence, combined with learned ones; None if there are
    neither."""
    own, stored = own or rules_of(site), site.structure.get("rules")
    try:
        learned = SiteCorrections.from_json(stored) if stored else None
    except (KeyError, TypeError, ValueError):
        learned = None
    return (own or SiteCorrections()).over(learned) if own or learned else None


def reading_options(site: Site) -> dict[str, Any]:
    """Returns how visits read the site's pages: the arguments of `read_page` that depend on the
    site."""
    model = model_of(site)
    return {
        "timezone": site.timezone,
        "day_first": site.structure.get("day_first"),
        "rules": reading_rules(site),
        "counts_posts": site.structure.get("counts_posts"),
        "known": model.known if model is not None else Shapes(),
        "former": frozenset(model.former_hosts) if model is not None else frozenset(),
    }


def refusal(site: Site, url: str, reading: PageReading) -> str:
    """Returns the code of the reason why the reading of a page must not be stored: the operator's
    corrections could not be evaluated (the log says which); "" if it may be stored."""
    if UNCORRECTED not in reading.evidence:
        return ""
    log.warning("%s: %s is not read: %s", site.name, url, reading.doubts[0])
    return UNCORRECTED


def learn_pager(
    site: Site, kind: str, source: str, *, now: datetime, run_id: int | None = None
) -> None:
    """Stores, as a new version of the site's model, which of several candidates for the next-page
    link a visit found to be the right one on pages of this kind. source: where in the page that
    link is found. Does nothing if the model has this already, or if the site has no model."""
    site = Site.objects.get(pk=site.pk)
    ways = dict(site.structure.get("pagers") or {})
    if ways.get(kind) == source or not site.structure:
        return
    structure = {**site.structure, "pagers": {**ways, kind: source}}
    record(
        site,
        Origin.RELEARNED,
        [[f"pager.{kind}", ways.get(kind, ""), source]],
        now=now,
        structure=structure,
        run_id=run_id,
    )
    record_event(site, "pager_learned", f"{kind}: {source}", now=now, run_id=run_id)


def changes_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """Returns the differences between two learned models (as JSON objects), each as three texts:
    what changed, its value before, its value after. They are in a fixed order."""
    found: list[Change] = [
        [name, _text(before.get(name)), _text(after.get(name))]
        for name in _NOTED
        if before.get(name) != after.get(name) and (name in before or name in after)
    ]
    for name in ("list_flip", "thread_flip"):
        was, now = ((side.get(name) or {}).get("pattern", "") for side in (before, after))
        if was != now:
            found.append([name, was, now])
    patterns = before.get("patterns") or {}, after.get("patterns") or {}
    for kind in sorted({*patterns[0], *patterns[1]}):
        was, now = (", ".join(side.get(kind, ())) for side in patterns)
        if was != now:
            found.append([f"patterns.{kind}", was, now])
    layouts = [{one["kind"]: one for one in side.get("layouts") or ()} for side in (before, after)]
    for kind in sorted({*layouts[0], *layouts[1]}):
        found += _layout_changes(kind, layouts[0].get(kind, {}), layouts[1].get(kind, {}))
    return found


def _layout_changes(kind: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    found: list[Change] = []
    if before.get("rows") != after.get("rows"):
        found.append([f"rows.{kind}", _text(before.get("rows")), _text(after.get("rows"))])
    for name in ("roles", "marks"):
        was, now = set(before.get(name, ())), set(after.get(name, ()))
        if was != now:
            found.append(
                [f"{name}.{kind}", " ".join(sorted(was - now)[:8]), " ".join(sorted(now - was)[:8])]
            )
    return found


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def record(
    site: Site,
    origin: str,
    changes: Sequence[Change],
    *,
    now: datetime,
    structure: Mapping[str, Any] | None = None,
    rules: Mapping[str, Any] | None = None,
    user: Any = None,
    run_id: int | None = None,
    proposed: bool = False,
) -> StructureVersion:
    """Stores a new version of a site's model and rules (None: that part unchanged) and, unless it
    is only `proposed`, puts it into use. Both happen in one transaction.

    A site saved before versions existed gets its current state as the first version, so that
    nothing is lost.
    """
    with transaction.atomic():
        site = Site.objects.select_for_update().get(pk=site.pk)
        last = StructureVersion.objects.filter(site=site).aggregate(n=Max("number"))["n"]
        if last is None and (site.structure or site.rules) and origin != Origin.LEARNED:
            StructureVersion.objects.create(
                site=site,
                number=1,
                at=site.added,
                origin=Origin.LEARNED,
                structure=site.structure,
                rules=site.rules,
            )
            last = 1
        made = StructureVersion.objects.create(
            site=site,
            number=(last or 0) + 1,
            at=now,
            origin=origin,
            by=user if user is not None and user.pk else None,
            run_id=run_id,
            proposed=proposed,
            changes=[list(change) for change in changes],
            structure=dict(site.structure if structure is None else structure),
            rules=dict(site.rules if rules is None else rules),
        )
        if not proposed:
            Site.objects.filter(pk=site.pk).update(
                structure=made.structure, rules=made.rules, version=made.number
            )
    return made


def begun(site: Site, now: datetime, user: Any = None, run_id: int | None = None) -> None:
    """Stores the learned model of a site as a new version after an inspection, unless it equals the
    newest version. `user` and `run_id` (who or what asked for the inspection) are stored with it.
    """
    last = StructureVersion.objects.filter(site=site).order_by("-number").first()
    if last is None:
        record(site, Origin.LEARNED, [], now=now, user=user, run_id=run_id)
    elif last.structure != site.structure:
        record(
            site,
            Origin.LEARNED,
            changes_between(last.structure, site.structure),
            now=now,
            user=user,
            run_id=run_id,
        )


def edit(
    site_id: int, values: Mapping[str, Any], *, now: datetime, user: Any = None
) -> StructureVersion | None:
    """Changes the learned model by hand: `day_first` (True, False, None), `posts_per_page`,
    `patterns` ({kind: [shapes]}).

    Returns the new version, None if nothing changes. Raises ValueError with a one-line message.
    """
    site = Site.objects.get(pk=site_id)
    after = dict(site.structure)
    if "day_first" in values:
        after["day_first"] = values["day_first"]
    if "posts_per_page" in values:
        number = values["posts_per_page"]
        if number is not None and not 1 <= number <= 10_000:
            raise ValueError("posts a page lie between 1 and 10,000")
        after["posts_per_page"] = number
    if "patterns" in values:
        after["patterns"] = {
            kind: list(shapes) for kind, shapes in values["patterns"].items() if shapes
        }
    if after == site.structure:
        return None
    changes = changes_between(site.structure, after)
    made = record(site, Origin.EDITED, changes, now=now, structure=after, user=user)
    record_event(site, "structure_edited", _summary(changes), now=now, user=user)
    return made


def correct(
    site_id: int, rules: SiteCorrections, change: Change, *, now: datetime, user: Any = None
) -> StructureVersion:
    """Stores the operator's rules as a new version. `change`: what was corrected, its value before
    and its value after."""
    site = Site.objects.get(pk=site_id)
    made = record(site, Origin.CORRECTED, [change], now=now, rules=rules.to_json(), user=user)
    record_event(site, "structure_corrected", _summary([change]), now=now, user=user)
    return made


def take_back(site_id: int, key: str, *, now: datetime, user: Any = None) -> StructureVersion:
    """Deletes one correction by the operator and returns the new version of the site's model. key:
    "thread.author" for the rule of one field, "thread." for the rule that selects the rows of a
    kind of page, or "address.PATTERN". Raises ValueError if there is no such rule."""
    site = Site.objects.get(pk=site_id)
    rules, (head, _dot, rest) = rules_of(site) or SiteCorrections(), key.partition(".")
    kinds = tuple(
        (
            (
                kind,
                KindRules(
                    own.records if rest else "",
                    tuple(pair for pair in own.fields if pair[0] != rest),
                ),
            )
            if str(kind) == head
            else (kind, own)
        )
        for kind, own in rules.kinds
    )
    addresses = tuple(pair for pair in rules.addresses if head != "address" or pair[0] != rest)
    left = SiteCorrections(
        tuple((kind, own) for kind, own in kinds if own.records or own.fields), addresses
    )
    if left == rules:
        raise ValueError(f"{site.name} has no such correction")
    return correct(
        site_id,
        left,
        [f"rule.{key}" if head != "address" else "rule", rest or key, ""],
        now=now,
        user=user,
    )


def layout_after_dismissal(site: Site) -> dict[str, Any]:
    """Returns the value of `Site.layout` after a layout change was dismissed: {"moved": True} if
    the site's addresses have changed, otherwise {}."""
    return {"moved": True} if site.layout.get("moved") else {}


def dismiss(site_id: int, *, now: datetime, user: Any = None) -> None:
    """Dismisses a layout change of a site and leaves its model unchanged."""
    site = Site.objects.get(pk=site_id)
    Site.objects.filter(pk=site.pk).update(layout=layout_after_dismissal(site))
    record_event(site, "structure_kept", f"version {site.version}", now=now, user=user)


def restore(site_id: int, number: int, *, now: datetime, user: Any = None) -> StructureVersion:
    """Restores a version, or accepts a proposed one: its content becomes a new version, which is
    returned. Raises ValueError if there is no version with this number."""
    site = Site.objects.get(pk=site_id)
    old = StructureVersion.objects.filter(site=site, number=number).first()
    if old is None:
        raise ValueError(f"{site.name} has no version {number} of its model")
    changes = [
        ["version", str(site.version), str(number)],
        *changes_between(site.structure, old.structure),
    ]
    made = record(
        site, Origin.RESTORED, changes, now=now, structure=old.structure, rules=old.rules, user=user
    )
    Site.objects.filter(pk=site.pk).update(layout=layout_after_dismissal(site))
    record_event(site, "structure_restored", f"version {number}", now=now, user=user)
    return made


def record_event(
    site: Site, code: str, text: str, *, now: datetime, user: Any = None, run_id: int | None = None
) -> None:
    """Records an event about a site: what was changed, and by whom."""
    who = f" ({user.get_username()})" if user is not None else ""
    level = Event.Level.NOTE
    events.record(
        level, code, f"{site.name}: {text}{who}", now=now, host_id=site.host_id, run_id=run_id
    )


def _summary(changes: Sequence[Change]) -> str:
    return "; ".join(
        f"{what}: {before or '–'} → {after or '–'}" for what, before, after in changes
    )[:400]


CANDIDATES = 40


def versions(site: Site, limit: int = 40) -> list[StructureVersion]:
    """Returns the newest versions of a site's model with their authors, without contents; one
    query."""
    rows = (
        StructureVersion.objects.filter(site=site).select_related("by").defer("structure", "rules")
    )
    return list(rows.order_by("-number")[:limit])


def taught(site: Site) -> dict[str, Any]:
    """Returns for a site's model how often the readings of related pages agreed (`lessons`) and the
    boards that were not read (`unread`); one query."""
    return dict(
        Site.objects.filter(pk=site.pk)
        .values(lessons=F("structure__lessons"), unread=F("structure__unread"))
        .get()
    )


def sample_pages(site: Site, kind: PageKind, limit: int = 5) -> list[Page]:
    """Returns the newest stored pages that are expected to be of a kind, one for each address; two
    queries."""
    pages = Page.objects.filter(url_hash__in=_addresses(site, kind), status=200, warc__isnull=False)
    rows = (
        pages.exclude(content_type__contains="json")
        .select_related("warc")
        .order_by("-fetched_at", "-id")
    )
    found: dict[int, Page] = {}
    for page in rows[: 6 * CANDIDATES]:
        found.setdefault(page.url_hash, page)
    return list(found.values())[:limit]


def _addresses(site: Site, kind: PageKind) -> list[int]:
    if kind is PageKind.index:
        urls = [site.url, str(site.structure.get("root") or site.url)]
    elif kind is PageKind.threadlist:
        urls = list(
            Board.objects.filter(site=site)
            .order_by("position", "id")
            .values_list("url", flat=True)[:CANDIDATES]
        )
    else:
        rows = Thread.objects.filter(site=site, fetched_at__isnull=False).exclude(last_page_url="")
        urls = list(
            rows.order_by("-fetched_at").values_list("last_page_url", flat=True)[:CANDIDATES]
        )
    return [url_hash(url) for url in urls]
