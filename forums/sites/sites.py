"""Forums (sites): inspecting, saving, changing, visiting, pausing and deleting them with all data
stored for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings as conf
from django.db import transaction
from django.db.models import Q, QuerySet

from crawlmgr.access import vault
from crawlmgr.clock import SYSTEM
from crawlmgr.conf import CrawlSettings
from crawlmgr.frontier import hosts
from crawlmgr.models import ACTIVE, Page, Run
from crawlmgr.runs import runs
from crawlmgr.schedule import timings
from crawlmgr.upkeep import removals as deletions
from crawlmgr.upkeep.removals import Part, Removal
from crawlmgr.web.url import UrlError, canonical, host_key, url_hash
from forums.discovery import Explorer, structures
from forums.models import (
    DEFAULT_INTERVAL_SECONDS,
    Board,
    BoardDay,
    BoardHour,
    PlannedVisit,
    Post,
    Site,
    Thread,
    Visit,
)
from forums.plans import plans
from forums.reading import board_key
from forums.visits import doubts, overviews

REMOVAL = "forum-removal"


def refuse_deleted(site_id: int) -> None:
    """Raises runs.Busy while the site is being deleted."""
    deletions.check(REMOVAL, site_id)


def delete(site: Site, now: datetime, user: Any = None) -> None:
    """Deletes a site and returns when that is done; can be repeated if the process was killed."""
    _stop_runs(site, now)
    deletions.at_once(_removal(site, now, user))


def start_removal(site: Site, now: datetime, user: Any = None) -> Run | None:
    """Deletes a small site at once and returns None; for a large one returns the run that deletes
    it. Raises runs.Busy if it is already being deleted."""
    stop_runs = partial(_stop_runs, site, now)
    return deletions.start(
        REMOVAL, site.pk, site.name, _removal(site, now, user), stop_runs, now=now, user=user
    )


def start_removal_by_key(site_id: int, now: datetime, user: Any = None) -> None:
    """Starts the deletion of a site (see `start_removal`), if it still exists."""
    site = Site.objects.filter(pk=site_id).first()
    if site is not None:
        start_removal(site, now, user)


class SiteRemoval(deletions.RemovalJob):
    """The job that deletes a large site."""

    def __init__(self, run: Run) -> None:
        super().__init__(run, self._left, lambda: _runs(run.target))

    def _left(self) -> Removal | None:
        site = Site.objects.filter(pk=self.run.target).first()
        return _removal(site, SYSTEM.now(), self.run.created_by) if site is not None else None


def _runs(site_id: int | None) -> QuerySet[Run]:
    return Run.objects.filter(kind="forum", target=site_id)


def _stop_runs(site: Site, now: datetime) -> None:
    """Pauses the site's schedule and stops its runs."""
    Site.objects.filter(pk=site.pk).update(paused=True)
    deletions.end_runs(_runs(site.pk).filter(state__in=ACTIVE), now)


def _removal(site: Site, now: datetime, user: Any) -> Removal:
    threads = Part(
        Thread.objects.filter(site=site), below=lambda some: Post.objects.filter(thread__in=some)
    )
    of_boards = [
        Part(model.objects.filter(board__site=site))
        for model in (PlannedVisit, BoardDay, BoardHour, Visit)
    ]

    def last() -> None:
        structures.record_event(
            site, "site_deleted", f"{site.threads} threads, {site.posts} posts", now=now, user=user
        )
        Site.objects.get(pk=site.pk).delete()
        timings.forget("forum", site.pk)

    return Removal([threads, *of_boards, *deletions.of_runs(_runs(site.pk))], last)


# headers that no operator may set: the fetcher, the contact rule or the login sets them
RESERVED_HEADERS = frozenset(
    (
        "host",
        "content-length",
        "content-type",
        "transfer-encoding",
        "connection",
        "user-agent",
        "cookie",
        "authorization",
    )
)


SHORTEST_SECONDS, LONGEST_SECONDS = (
    60,
    31 * 86_400,
)  # limits in seconds of the interval between visits of a board


_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")


def discover(
    address: str, options: dict[str, Any], *, now: datetime, user: Any = None, start: bool = True
) -> Run:
    """Creates the run that inspects a forum to find its boards, and queues it for a worker unless
    `start` is False (then the caller works on it). `options`: settings (crawl settings), timezone,
    name. Raises ValueError with a one-line message for an invalid address, time zone or setting."""
    text = address.strip()
    if text and "://" not in text:
        text = f"http://{text}"
    try:
        url = canonical(text)
    except UrlError as error:
        raise ValueError(f"{address!r} is no web address: {error}") from None
    timezone = options.get("timezone") or ""
    if timezone and timezone not in available_timezones():
        raise ValueError(f"{timezone!r} is no time zone; names look like Asia/Shanghai")
    settings = {k: v for k, v in options.get("settings", {}).items() if v is not None}
    settings = _taught(settings)
    CrawlSettings.from_mapping(settings)
    parameters = {
        "url": url,
        "settings": settings,
        "timezone": timezone,
        "name": options.get("name") or "",
    }
    return runs.create(
        "forum-discovery",
        url,
        parameters=parameters,
        now=now,
        exclusive=f"discover {url_hash(url)}",
        user=user,
        start=start,
    )


def progress(run: Run, explorer: Explorer) -> None:
    """Stores what an inspection has found so far in its run, for the page that shows the
    progress."""
    pages = Page.objects.filter(run=run).count()
    site = explorer.site()
    steps = {"fetched": pages + 1, "wanted": len(explorer.wanted()), "found": len(site.boards)}
    _keep(run, _result(site, steps))


def _keep(run: Run, result: dict[str, Any]) -> None:
    """Stores the result of an inspection in its run, beside the state of its login."""
    run.result = {**{key: run.result[key] for key in ("login",) if key in run.result}, **result}
    Run.objects.filter(pk=run.pk).update(result=run.result)


def found(run: Run, explorer: Explorer) -> str:
    """Stores the result of a finished inspection in its run; returns the reason for ending:
    "boards_found", "no_boards" or "unreachable"."""
    site = explorer.site()
    fetched = Page.objects.filter(run=run).count()
    result = _result(site, {"fetched": fetched, "wanted": 0, "found": len(site.boards)})
    run.refresh_from_db(fields=["detail"])
    reason = "boards_found" if site.boards else ("no_boards" if fetched else "unreachable")
    result["problem"] = "" if site.boards else (run.detail or reason)
    _keep(run, result)
    return reason


def _result(site: Any, steps: dict[str, int]) -> dict[str, Any]:
    boards = [
        {
            "name": b.name,
            "url": b.url,
            "parent_url": b.parent_url,
            "position": b.position,
            "threads_seen": b.threads_seen,
            "has_last_reply": b.has_last_reply,
            "sort": b.sort,
            "rows": [dict(row) for row in b.rows],
        }
        for b in site.boards
    ]
    about = {
        "name": site.name,
        "url": site.root,
        "engine": site.engine,
        "timezone": site.timezone,
        "timezone_evidence": site.timezone_evidence,
    }
    return {
        "progress": steps,
        "site": about,
        "boards": boards,
        "structure": site.to_json(),
        "problem": "",
    }


@transaction.atomic
def save(
    run: Run,
    *,
    name: str,
    timezone: str,
    board_urls: Iterable[str],
    interval_seconds: int = DEFAULT_INTERVAL_SECONDS,
    settings: dict[str, Any] | None = None,
    now: datetime,
    user: Any = None,
) -> Site:
    """Creates (or updates) the site found by an inspection, with the chosen boards.
    interval_seconds: of new boards; settings: crawl settings that replace those of the inspection;
    an empty name or time zone stands for the one found. Raises ValueError with a one-line message
    if no board is chosen or a value is invalid."""
    result = run.result
    chosen = set(board_urls)
    boards = [b for b in result.get("boards", []) if b["url"] in chosen]
    if not boards:
        raise ValueError("no board is chosen")
    timezone = timezone or result["site"]["timezone"] or "UTC"
    ZoneInfo(timezone)
    merged = vault.sealed({**run.parameters.get("settings", {}), **(settings or {})})
    CrawlSettings.from_mapping(merged)
    root = result["site"]["url"]
    values = {
        "name": (name or run.parameters.get("name") or result["site"]["name"] or root)[:200],
        "url": root,
        "engine": result["site"]["engine"][:32],
        "timezone": timezone,
        "settings": merged,
        "structure": result["structure"],
        "host_id": hosts.host_id(host_key(root)),
    }
    site, _made = Site.objects.update_or_create(
        url_hash=url_hash(canonical(root)),
        defaults=values,
        create_defaults={**values, "added": now},
    )
    _save_boards(site, boards, interval_seconds, now)
    structures.begun(site, now, user, run.pk)
    overviews.note(site, now)
    site.refresh_from_db()
    Site.objects.filter(pk=site.pk).update(evidence={})
    doubts.of_model(site, now)
    plans.begin(site.pk, now=now, user=user)
    site.refresh_from_db()
    return site


def _save_boards(
    site: Site, boards: list[dict[str, Any]], interval_seconds: int, now: datetime
) -> None:
    """Creates or updates boards in the order of the inspection's result, each below its parent
    board if that is among them. Boards that exist keep their interval."""
    kept: dict[str, Board] = {}
    for index, found_board in enumerate(boards):
        data = {
            "name": found_board["name"][:200],
            "url": found_board["url"],
            "position": index,
            "sort": found_board["sort"] or "",
            "has_last_reply": found_board["has_last_reply"],
        }
        extra = {
            "interval_seconds": interval_seconds,
            "next_visit": now + timedelta(seconds=interval_seconds),
        }
        board, _ = Board.objects.update_or_create(
            site=site,
            key=board_key(found_board["url"]),
            defaults=data,
            create_defaults={**data, **extra},
        )
        kept[found_board["url"]] = board
    for found_board in boards:
        parent = kept.get(found_board["parent_url"] or "")
        board = kept[found_board["url"]]
        if parent is not None and parent.pk != board.pk:
            Board.objects.filter(pk=board.pk).update(parent=parent)


def parse_headers(text: str) -> dict[str, str]:
    """Parses request headers from lines "Name: value" to values by name. Raises ValueError that
    names the first invalid line."""
    headers: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or not _HEADER_NAME.fullmatch(name):
            raise ValueError(f"headers, line {number}: {line.strip()[:60]!r} is no “Name: value”")
        if name.lower() in RESERVED_HEADERS:
            raise ValueError(f"headers, line {number}: {name} is not set here")
        if value != vault.DOTS and not (value.isprintable() and value.isascii()):
            raise ValueError(
                f"headers, line {number}: the value of {name} has control characters or some beyond"
                " ASCII"
            )
        headers[name] = value
    return headers


def check_proxy(address: str) -> None:
    """Raises ValueError if the text is neither empty nor the address of an HTTP proxy."""
    if not address:
        return
    try:
        parts = urlsplit(address)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"{address[:80]!r} is no proxy address; they look like http://proxy.example:3128"
        )


@transaction.atomic
def update(site_id: int, given: Mapping[str, Any], *, now: datetime, user: Any = None) -> list[str]:
    """Changes a saved forum and records who changed what; returns the names of what changed.

    `given`: the values to set: name, timezone, settings (crawl settings; None for the default),
    interval_seconds (of all boards), boards (ids of the scheduled ones; others are excluded).
    Absent values stay unchanged. Raises ValueError with a one-line message, changing nothing.
    """
    site = Site.objects.select_for_update().get(pk=site_id)
    changes: list[tuple[str, str, str]] = []
    values: dict[str, Any] = {}
    name = str(given.get("name", site.name)).strip()
    if not name or len(name) > 200:
        raise ValueError("a name has 1 to 200 characters")
    timezone = str(given.get("timezone", site.timezone)).strip()
    if timezone != site.timezone and timezone not in available_timezones():
        raise ValueError(f"{timezone!r} is no time zone; names look like Asia/Shanghai")
    for field, value in (("name", name), ("timezone", timezone)):
        if value != getattr(site, field):
            changes.append((field, getattr(site, field), value))
            values[field] = value
    settings, differ = _settings(site.settings, given.get("settings", {}))
    changes += differ
    Site.objects.filter(pk=site.pk).update(**values, settings=settings)
    with plans.budget_following_intervals(site.pk, now):
        if given.get("interval_seconds") is not None:
            changes += _set_site_interval(site, int(given["interval_seconds"]), now)
        if given.get("boards") is not None:
            changes += _set_site_boards(site, set(given["boards"]))
    if changes:
        text = "; ".join(
            f"{what}: {before or '–'} → {after or '–'}" for what, before, after in changes
        )
        structures.record_event(site, "site_edited", text, now=now, user=user)
    return [what for what, _before, _after in changes]


def _settings(
    before: Mapping[str, Any], given: Mapping[str, Any]
) -> tuple[dict[str, Any], list[tuple[str, str, str]]]:
    """Returns the settings of a site after a change, encrypted, and the list of differences (name,
    before, after).

    `given` are the submitted values; one that consists of dots stands for the stored secret. Values
    of request headers may be secret, so only their names are in the differences.
    """
    given = vault.filled(given, before)
    replaced = {key for key, value in given.items() if key in ("proxy", "headers", "cookies")}
    try:
        before = vault.opened(before)
    except vault.Unreadable:
        before = vault.shown({key: value for key, value in before.items() if key not in replaced})
    after = {key: value for key, value in {**before, **given}.items() if value is not None}
    check_proxy(str(after.get("proxy", "")))
    CrawlSettings.from_mapping(after)
    changes: list[tuple[str, str, str]] = []
    for key in sorted({*before, *after}):
        was, now = before.get(key), after.get(key)
        if was != now:
            old, new = (
                ", ".join(one) if isinstance(one, Mapping) else "" if one is None else str(one)
                for one in (was, now)
            )
            changes.append(
                (key, old, new)
                if key != "proxy"
                else (key, _without_password(old), _without_password(new))
            )
    return vault.sealed(after), changes


def _without_password(address: str) -> str:
    return re.sub(r"//[^/@]*@", "//…@", address)


def _set_site_interval(site: Site, seconds: int, now: datetime) -> list[tuple[str, str, str]]:
    boards = list(
        Board.objects.filter(site=site)
        .exclude(interval_seconds=seconds)
        .values_list("pk", "interval_seconds")
    )
    set_interval([pk for pk, _seconds in boards], seconds, now)
    was = sorted({before for _pk, before in boards})
    return [("interval_seconds", ", ".join(map(str, was)), str(seconds))] if boards else []


def _set_site_boards(site: Site, wanted: set[int]) -> list[tuple[str, str, str]]:
    changes = []
    for board in Board.objects.filter(site=site).only("pk", "name", "enabled"):
        if board.enabled != (board.pk in wanted):
            changes.append(
                (
                    board.name,
                    "visited" if board.enabled else "left out",
                    "left out" if board.enabled else "visited",
                )
            )
            Board.objects.filter(pk=board.pk).update(enabled=not board.enabled)
    return changes


def crawl_now(
    site_id: int,
    *,
    board_ids: Sequence[int] | None = None,
    now: datetime,
    user: Any = None,
    parameters: dict[str, Any] | None = None,
    readings: Sequence[int] = (),
    start: bool = True,
    scheduled: bool = False,
) -> Run:
    """Creates the run of a visit of a site's boards (None: all scheduled ones), preceded by the
    readings `readings` (ids) of its overview sources, and queues it for a worker unless `start` is
    False (then the caller works on it). parameters: crawl settings for this visit; scheduled:
    started by the dispatcher, not a user. Raises runs.Busy while the site has an active visit,
    ValueError for invalid settings or no boards."""
    site = Site.objects.get(pk=site_id)
    boards = Board.objects.filter(site=site)
    boards = (
        boards.filter(pk__in=board_ids) if board_ids is not None else boards.filter(enabled=True)
    )
    chosen = list(boards.order_by("position", "id").values_list("pk", flat=True))
    if not chosen and not readings:
        raise ValueError(f"{site.name} has no such board")
    settings = _taught({**site.settings, **(parameters or {})})
    CrawlSettings.from_mapping(settings)
    refuse_deleted(site.pk)
    return runs.create(
        "forum",
        site.name,
        target=site.pk,
        exclusive=f"forum {site.pk}",
        parameters={
            "boards": chosen,
            "settings": settings,
            **({"looks": list(readings)} if readings else {}),
        },
        now=now,
        user=user,
        start=start,
        scheduled=scheduled,
    )


def _taught(settings: dict[str, Any]) -> dict[str, Any]:
    """Returns the crawl settings, with the comparison of related pages (the teacher) switched off
    if the environment says so; used for measuring its benefit."""
    return settings if conf.FORUM_TEACHER else {**settings, "use_teacher": False}


def set_interval(board_ids: Sequence[int], seconds: int, now: datetime) -> int:
    """Sets how often boards are visited and moves their next visit; returns the number of boards.
    Raises ValueError outside a minute to 31 days."""
    if not SHORTEST_SECONDS <= seconds <= LONGEST_SECONDS:
        raise ValueError("an interval lies between a minute and 31 days")
    boards = list(Board.objects.filter(pk__in=board_ids))
    for board in boards:
        board.interval_seconds = seconds
        board.next_visit = max(now, (board.last_visit or now) + timedelta(seconds=seconds))
    Board.objects.bulk_update(boards, ["interval_seconds", "next_visit"])
    return len(boards)


def set_enabled(board_ids: Sequence[int], enabled: bool) -> int:
    """Includes boards in the scheduled visits or excludes them; returns the number of boards."""
    return Board.objects.filter(pk__in=board_ids).update(enabled=enabled)


def pause_site(site_id: int, paused: bool, now: datetime) -> None:
    """Pauses or resumes a site's scheduled visits; boards that became due meanwhile are visited
    once."""
    Site.objects.filter(pk=site_id).update(paused=paused)
    if not paused:
        Board.objects.filter(
            Q(next_visit__isnull=True) | Q(next_visit__lt=now), site_id=site_id
        ).update(next_visit=now)


def delete_site(site_id: int, now: datetime, user: Any = None) -> None:
    """Deletes a site with everything stored of it, its visits and runs, and returns when that is
    done; WARC files stay in the archive."""
    delete(Site.objects.get(pk=site_id), now, user)
