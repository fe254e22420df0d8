"""Layout changes of a site: reported when detected; then the site is learned again from a small
sample, and the new model is used only if it agrees with stored data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from crawlmgr.archive import archive
from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.models import Page, Run, Url, events
from crawlmgr.web.url import url_hash
from forums.discovery import (
    Explorer,
    ExplorerSettings,
    FetchedPage,
    LayoutChange,
    SiteModel,
    layout,
    structures,
)
from forums.models import Board, Origin, Post, Site, Thread
from forums.reading import PageKind, PostRecord, read_page, thread_key
from forums.sites.login_pages import leaves
from forums.visits import doubts, moved_addresses, threads

SAMPLE_PAGES = 20
SAMPLE_RESERVE = 6
# priority of a sample's pages: before all other addresses of the run, which wait until the site has
# been learned
SAMPLE_PRIORITY = 1e6
# minimum time before a site is learned again because of the same kind of layout change: the result
# would hardly differ
AGAIN_AFTER = timedelta(days=1)
_SAMPLE = ExplorerSettings(most_pages=SAMPLE_PAGES, reserve=SAMPLE_RESERVE)


def state_of(run: Run) -> str:
    """Returns how far a run has learned the site again after a layout change: "" (not begun),
    "learning", "agreed" (the new model fits the stored one and is in use) or "disagrees" (it does
    not, and is only proposed to the operator).
    """
    return str((run.result.get("layout") or {}).get("state", ""))


def _set(run: Run, site: Site, change: Mapping[str, Any]) -> None:
    run.result = {**run.result, "layout": dict(change)}
    Run.objects.filter(pk=run.pk).update(result=run.result)
    site.layout = dict(change)
    Site.objects.filter(pk=site.pk).update(layout=site.layout)


def noticed(run: Run, site: Site, change: LayoutChange, now: datetime) -> bool:
    """Reports a layout change and returns True if this run should now learn the site's model again.
    Returns False without a report if a change was noticed in this run before, or if the model was
    learned again for the same reasons less than a day ago. The second rule does not apply to
    changed class names if the model learned then was accepted."""
    if state_of(run):
        return False
    before = site.layout
    told = {
        "at": now.isoformat(),
        "run": run.pk,
        "kind": change.kind,
        "reasons": list(change.reasons),
        "roles": list(change.roles),
        "state": "learning",
        **({"moved": True} if before.get("moved") else {}),
    }
    known = before.get("state") == "disagrees" or (
        before.get("state") == "agreed" and "marks" not in change.reasons
    )
    tried = known and before.get("reasons") == told["reasons"]
    if tried and now - datetime.fromisoformat(before["at"]) < AGAIN_AFTER:
        run.result = {**run.result, "layout": before}
        Run.objects.filter(pk=run.pk).update(result=run.result)
        return False
    _set(run, site, told)
    text = f"{site.name}: {change.kind}: {', '.join((*change.reasons, *change.roles))}"
    events.warn("layout_noticed", text, now=now, run_id=run.pk, host_id=site.host_id)
    return True


def forget(run: Run) -> None:
    """Resets a layout change if the run ended before the site was learned again: the next visit
    detects the change anew."""
    site = Site.objects.filter(pk=run.target).first()
    if (
        site is not None
        and site.layout.get("run") == run.pk
        and site.layout.get("state") == "learning"
    ):
        Site.objects.filter(pk=site.pk).update(layout=structures.layout_after_dismissal(site))


def explorer(run: Run, site: Site) -> tuple[Explorer, list[FetchedPage]]:
    """Returns the exploration of the site in this run, fed with the sample's pages fetched so far,
    and the threads among these pages. The pages are read from the archive, so a killed process
    loses nothing."""
    made = Explorer(site.url, _SAMPLE, timezone=site.timezone)
    sampled = []
    for item in Url.objects.filter(run=run, kind="sample", state__gt=1).order_by("id"):
        page = Page.objects.filter(run=run, key_hash=item.key_hash).select_related("warc").first()
        record = archive.read_page(page) if page is not None else None
        if page is not None and record is not None:
            fetched = FetchedPage(
                item.url, page.final_url or page.url, record.text, page.fetched_at, page.status
            )
            made.feed(fetched)
            sampled += [fetched] if item.anchor == "thread" else []
        else:
            made.failed(item.url, item.reason)
    return made, sampled


def sample_links(run: Run, look: Explorer) -> list[NewUrl]:
    """Returns the most informative next page of the sample as an address of the run; [] if the
    sample is complete."""
    for wanted in look.wanted():
        key = f"sample {wanted.url}"
        if (
            not leaves(wanted.url)
            and not Url.objects.filter(run=run, key_hash=url_hash(key)).exists()
        ):
            return [
                NewUrl(wanted.url, "sample", key=key, anchor=wanted.why, priority=SAMPLE_PRIORITY)
            ]
    return []


def judge(
    site: Site, old: SiteModel, new: SiteModel, samples: Sequence[FetchedPage]
) -> tuple[str, ...]:
    """Returns the reasons against a newly learned model by comparison with the site's stored data;
    () if it agrees (see `agreement.disagreements`). samples: pages of threads from the sample."""
    visited = dict(
        Board.objects.filter(site=site, complete_at__isnull=False).values_list("key", "name")
    )
    keys = layout.listed_threads(new, visited)
    stored = layout.Stored(
        boards=dict(Board.objects.filter(site=site, enabled=True).values_list("key", "name")),
        visited=visited,
        threads={
            *Thread.objects.filter(site=site, key__in=list(keys)).values_list("key", flat=True),
            *moved_addresses.found_again(site.pk, moved_addresses.of_model(new)),
        },
        posts_known=_posts_known(site, samples),
    )
    return layout.disagreements(old, new, stored)


def _posts_known(site: Site, samples: Sequence[FetchedPage]) -> float | None:
    known = total = 0
    for page in samples:
        thread = Thread.objects.filter(
            site=site, key=thread_key(page.final_url), fetched_at__isnull=False
        ).first()
        if thread is None or page.status != 200:
            continue
        reading = read_page(
            page.html,
            page.final_url,
            page.fetched_at,
            timezone=site.timezone,
            expect=PageKind.thread,
        )
        posts = [record for record in reading.records if isinstance(record, PostRecord)]
        keys = set(threads.post_keys(posts))
        have = Post.objects.filter(thread=thread)
        texts = {text.strip()[:200] for text in have.values_list("text", flat=True)[:2000]}
        have_keys = set(have.filter(key__in=keys).values_list("key", flat=True))
        fresh = sum(
            1
            for key, post in zip(threads.post_keys(posts), posts, strict=True)
            if key in have_keys or _in(post, texts)
        )
        known += fresh
        total += len(posts) or 1
    return known / total if total else None


def _in(post: PostRecord, texts: set[str]) -> bool:
    return post.text.strip()[:200] in texts


def settle(
    run: Run, site: Site, old: SiteModel, new: SiteModel, objections: Sequence[str], now: datetime
) -> bool:
    """Ends the learning of a changed layout. If the list of objections to the model `new`
    (`objections`) is empty, it becomes the site's new structure version, stored threads and boards
    get addresses that have changed, and True is returned. Otherwise `new` is stored as a proposal,
    `old` stays in use, and False is returned."""
    merged = layout.merged(old, new).to_json()
    changes = structures.changes_between(site.structure, merged)
    agreed = not objections
    version = structures.record(
        site,
        Origin.RELEARNED,
        changes,
        now=now,
        structure=merged,
        run_id=run.pk,
        proposed=not agreed,
    )
    told = {
        **site.layout,
        "state": "agreed" if agreed else "disagrees",
        "verdict": list(objections),
        "version": version.number,
    }
    if agreed:
        site.refresh_from_db(fields=["structure"])
        doubts.of_model(site, now)
    if agreed and moved_addresses.follow(site.pk, moved_addresses.of_model(new)):
        moved_addresses.follow_boards(site.pk, new)
        told["moved"] = True
    _set(run, site, told)
    if agreed:
        events.record(
            20,
            "layout_agreed",
            f"{site.name}: version {version.number}",
            now=now,
            run_id=run.pk,
            host_id=site.host_id,
        )
    else:
        text = f"{site.name}: {', '.join(objections)}"
        events.warn("layout_disagrees", text, now=now, run_id=run.pk, host_id=site.host_id)
    return agreed
