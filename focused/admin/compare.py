"""Views of strategy comparisons: the form to start one, progress, charts, and export of all
fetches."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from crawlmgr.admin.views import admin_view, attempt, back, number, page, post_view
from crawlmgr.exports.text_formats import safe_cell
from crawlmgr.models import Run
from crawlmgr.runs import desk as run_views
from crawlmgr.upkeep import settings_history
from focused import reads
from focused.admin import charts
from focused.admin.crawl import strategies
from focused.admin.runs import find as find_run
from focused.admin.titles import axes, named, shown, sweep_title
from focused.admin.topics import find, trail
from focused.lab import stored_comparisons, tuning
from focused.lab.comparison import MAX_DRAWS, PATENT_WEIGHTS, winner
from focused.lab.stored_comparisons import SWEEPS, TAU, heat
from focused.models import Comparison, Topic, TopicPage

PATENT = "dolphin *"
"""Value of a checkbox in the form that stands for the four runs of the Dolphin patent (see
PATENT_WEIGHTS)."""
OTHERS_DRAWS = 3
CURVES = 8
SHOWN_MISSING = 5
"""Maximum number of entries drawn in a chart, those with the largest area under the recall curve;
all are in the table."""
MAX_LABELS_BYTES = 4_000_000
RELEVANT = 4
"""Index (from 0) of the value that tells whether the page is on topic, in a step of a stored trail
(a list of values)."""
POINTS = (
    "strategy",
    "draw",
    "fetched",
    "url",
    "parent",
    "depth",
    "similarity",
    "on_topic",
    "duplicate",
    "relevant_so_far",
)
FIRST = ("adaptive", "breadth_first", "best_first", "shark", "dynamic_tunnel", "ant_colony")


@admin_view(
    "topics/<int:pk>/compare/", "topic-compare", "focused.view_topic", post="focused.add_comparison"
)
def compare(request: HttpRequest, pk: int) -> HttpResponse:
    """Lists the topic's comparisons, with a form for a new one."""
    topic = find(pk)
    choices = reads.archive_choices(topic)
    fitting = reads.budget(choices[0]["files"]) if choices else 0
    chosen = request.POST.getlist("strategy") if request.method == "POST" else list(FIRST)
    presets = _presets()
    picked = [name for name in request.POST.getlist("preset") if name in presets]
    if request.method == "POST":
        index, pages = (
            number(request.POST.get("archive", "")),
            number(request.POST.get("pages", "")),
        )
        files = choices[index]["files"] if index is not None and index < len(choices) else []
        made: list[Comparison] = []

        def begin() -> None:
            wanted: dict[str, dict[str, Any]] = {name: {} for name in chosen if name != PATENT}
            if PATENT in chosen:
                wanted |= {
                    f"dolphin {name}": dict(values) for name, values in PATENT_WEIGHTS.items()
                }
            for name in picked:
                strategy, _sign, preset = name.partition(" ")
                wanted[name] = tuning.preset(strategy, preset) or {}
            how: dict[str, Any] = {
                "draws": number(request.POST.get("draws", "1")) or 0,
                "samples": number(request.POST.get("samples", "1")) or 0,
                "sweep": request.POST.get("sweep", ""),
                "labels": _labels(request, topic),
                "growing": "growing" in request.POST,
            }
            made.append(
                stored_comparisons.start(
                    topic,
                    wanted,
                    pages or 0,
                    files,
                    now=datetime.now(UTC),
                    user=request.user,
                    **how,
                )
            )

        if attempt(request, _("The comparison has started."), begin):
            return back(request, "comparison", made[0].pk)
    context = {
        "topic": topic,
        "choices": choices,
        "strategies": strategies(),
        "chosen": chosen,
        "pages": request.POST.get("pages", str(fitting or 500)),
        "draws": request.POST.get("draws", "3"),
        "most_draws": MAX_DRAWS,
        "samples": request.POST.get("samples", "1"),
        "judge": request.POST.get("judge", ""),
        "growing": "growing" in request.POST,
        "marks": (
            TopicPage.objects.filter(run__topic_run__topic=topic, marked__isnull=False).count()
        ),
        "presets": presets.items(),
        "picked": picked,
        "patent": PATENT,
        "sweeps": [(name, sweep_title(name), len(one.entries())) for name, one in SWEEPS.items()],
        "sweep": request.POST.get("sweep", ""),
        "most": stored_comparisons.MAX_PAGES,
        "rows": named(reads.comparisons(topic, 50)),
    }
    return page(
        request,
        "focused/compare.html",
        context,
        title=_("Compare strategies"),
        item=f"topic:{pk}",
        trail=trail(topic),
    )


def _presets() -> dict[str, str]:
    """Returns the display names, by entry name ("strategy preset"), of the parameter presets that
    can take part in a comparison: those saved by users, and built-in ones other than the defaults
    and the weights of `dolphin`."""
    found: dict[str, str] = {}
    for one in strategies():
        strategy = str(one["name"])
        own = [preset.name for preset in settings_history.presets(tuning.preset_kind(strategy))]
        brought = (
            []
            if strategy == "dolphin"
            else [name for name in tuning.built_in(strategy) if name != "defaults"]
        )
        found |= {f"{strategy} {name}": shown(f"{strategy} {name}") for name in (*brought, *own)}
    return found


def _labels(request: HttpRequest, topic: Topic) -> str:
    """Returns the text of the label file by which a comparison is measured, made from the
    operator's marks or uploaded; "" if pages are to be judged by similarity. Raises ValueError with
    a one-line message if no page is marked, or no file was uploaded or it is too large."""
    judge = request.POST.get("judge", "")
    if judge == "marks":
        text = stored_comparisons.marks_as_labels(topic)
        if not text:
            raise ValueError(_("No page of the topic is marked yet."))
        return text
    if judge != "file":
        return ""
    file = request.FILES.get("labels")
    if file is None or (file.size or 0) > MAX_LABELS_BYTES:
        raise ValueError(
            _("Choose a file of labels of at most %(size)s bytes.")
            % {"size": f"{MAX_LABELS_BYTES:,}"}
        )
    return file.read().decode("utf-8-sig", "replace")


@post_view("topics/run/<int:pk>/others/", "topic-run-others", "focused.add_comparison")
def others(request: HttpRequest, pk: int) -> HttpResponse:
    """Starts a comparison of the run's strategy with all other strategies, over the pages that the
    run fetched."""
    row = find_run(pk)
    files = reads.files_of(pk)
    made: list[Comparison] = []

    def begin() -> None:
        if row.topic is None:
            raise ValueError("the run's topic is gone")
        names = dict.fromkeys(
            [row.run.parameters["strategy"], *(one["name"] for one in strategies())]
        )
        entries: dict[str, dict[str, Any]] = {name: {} for name in names}
        entries[row.run.parameters["strategy"]] = row.run.parameters["parameters"]
        now, pages = datetime.now(UTC), reads.budget(files)
        made.append(
            stored_comparisons.start(
                row.topic, entries, pages, files, now=now, draws=OTHERS_DRAWS, user=request.user
            )
        )

    if attempt(request, _("The comparison has started."), begin):
        return back(request, "comparison", made[0].pk)
    return back(request, "topic-run", pk)


def find_comparison(pk: int) -> Comparison:
    found = Comparison.objects.select_related("topic", "run").filter(pk=pk).first()
    if found is None:
        raise Http404(_("There is no such comparison."))
    return found


def best(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the entries to draw in a chart, in their given order: the at most `CURVES` ones with
    the largest area under the recall curve."""
    if len(results) <= CURVES:
        return results
    least = sorted((one["area"] for one in results), reverse=True)[CURVES - 1]
    return [one for one in results if one["area"] >= least][:CURVES]


@admin_view("topics/comparison/<int:pk>/", "comparison", "focused.view_topic")
def comparison(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows one comparison: its progress while it is computed, then charts and a table of
    results."""
    found, now = find_comparison(pk), datetime.now(UTC)
    stored = found.result.get("results", [])
    results = [
        {**one, "entry": one["strategy"], "strategy": shown(one["strategy"])} for one in stored
    ]
    sweep = SWEEPS.get(found.setup.get("sweep", ""))
    total = len(stored_comparisons.runs_of(found)) + 1
    made = Counter(key.rpartition("#")[0] for key in found.parts.values_list("key", flat=True))
    done = made.total() + bool(stored)
    draws, names = found.setup.get("draws", 1), stored_comparisons.entries(found)
    context = {
        "comparison": found,
        "topic": found.topic,
        "run": found.run,
        "now": now,
        "story": run_views.story(found.run, now) if found.run else None,
        "done": done,
        "total": total,
        "share": round(100 * done / total),
        "entries": (
            []
            if results
            else [(shown(name), made[name], draws, 100 * made[name] // draws) for name in names]
        ),
        "results": results,
        "labelled": bool(found.setup.get("labels")),
        "left_out": any(one.get("left_out") for one in stored),
        "winner": winner(results) if results and "area" in results[0] else None,
        "may_choose": request.user.has_perm("focused.change_topic"),
        "pages_in_archive": found.result.get("pages_in_archive"),
        "missing": found.result.get("missing", [])[:SHOWN_MISSING],
        "heat": heat(sweep, stored) if sweep is not None and stored else None,
        "axes": axes(sweep) if sweep is not None else {},
        "heat_title": sweep_title(found.setup["sweep"]) if sweep is not None else "",
        "charts": (
            charts.compared(best(results), found.result.get("pages_in_archive")) if results else []
        ),
    }
    if made and not results and request.GET.get("part") != "live":
        context["charts"] = charts.so_far(_finished(found, names[:CURVES]))
    title = f"{_('Comparison')} #{pk}"
    crumbs = [
        *trail(found.topic),
        (_("Compare strategies"), reverse("admin:topic-compare", args=[found.topic_id])),
    ]
    item = f"topic:{found.topic_id}"
    answer = page(
        request,
        "focused/comparison.html",
        context,
        title=title,
        item=item,
        trail=crumbs,
        live="focused/comparison_live.html",
    )
    if found.run is None or not found.run.active:
        answer["X-Desk-Reload" if request.GET.get("active") else "X-Desk-Done"] = "1"
    return answer


def _finished(found: Comparison, names: Sequence[str]) -> dict[str, list[bool]]:
    """Returns for each entry, by its display name, whether the pages of one of its finished runs
    were on topic, in the order of their fetches. Entries without a finished run are left out.
    """
    keys = {
        key.rpartition("#")[0]: key
        for key in found.parts.order_by("-id").values_list("key", flat=True)
    }
    parts = {
        part.key: part.trail["steps"]
        for part in found.parts.filter(key__in=[keys[name] for name in names if name in keys])
    }
    return {
        shown(name): [bool(step[RELEVANT]) for step in parts[keys[name]]]
        for name in names
        if keys.get(name) in parts
    }


@post_view("topics/comparison/<int:pk>/choose/", "comparison-choose", "focused.change_topic")
def choose(request: HttpRequest, pk: int) -> HttpResponse:
    """Gives the topic the strategy and parameters of an entry of the comparison."""
    found = find_comparison(pk)
    entry = request.POST.get("entry", "")
    values = found.setup["strategies"].get(entry)
    if values is None:
        messages.error(request, _("There is no strategy %(name)s.") % {"name": entry[:60]})
        return back(request, "comparison", pk)
    own = {key: value for key, value in values.items() if key != TAU}
    done = _("New runs of the topic use %(name)s.") % {"name": shown(entry)}
    strategy = entry.partition(" ")[0]
    attempt(
        request,
        done,
        lambda: tuning.choose(found.topic, strategy, own, now=datetime.now(UTC), user=request.user),
    )
    return back(request, "comparison", pk)


@admin_view("topics/comparison/<int:pk>/points.csv", "comparison-points", "focused.view_topic")
def points(request: HttpRequest, pk: int) -> HttpResponse:
    """Exports every fetch of every strategy (address, position, similarity) as CSV; with `?as=json`
    as JSON, together with the results.
    """
    found = find_comparison(pk)
    if request.GET.get("as") == "json":
        points_ = [dict(zip(POINTS, row, strict=True)) for row in _points(found)]
        document = {
            "comparison": pk,
            "topic": found.topic.name,
            "results": found.result.get("results", []),
            "points": points_,
        }
        told = JsonResponse(document, json_dumps_params={"ensure_ascii": False})
        told["Content-Disposition"] = f'attachment; filename="comparison-{pk}.json"'
        return told
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(POINTS)
    for row in _points(found):
        writer.writerow([safe_cell(cell) for cell in row])
    if not found.trails:
        messages.warning(request, _("No strategy has finished yet."))
    answer = HttpResponse(buffer.getvalue(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="comparison-{pk}.csv"'
    return answer


def _points(found: Comparison) -> Iterator[tuple[Any, ...]]:
    """Yields the rows of the export: one for each fetch of each entry, with the columns
    `POINTS`."""
    for name, trail_ in found.trails.items():
        entry, _sign, draw_number = name.rpartition("#")
        so_far = 0
        for place, (url, parent, depth, similarity, relevant, duplicate) in enumerate(
            trail_["steps"], start=1
        ):
            so_far += relevant
            yield (
                entry,
                int(draw_number),
                place,
                url,
                parent,
                depth,
                round(similarity, 6),
                relevant,
                duplicate,
                so_far,
            )


def detail(request: HttpRequest, run: Run, now: datetime) -> dict[str, Any]:
    """Returns the link from the page of a comparison's run to the comparison, as context for the
    template."""
    return {
        "link": reverse("admin:comparison", args=[run.parameters["comparison"]]),
        "link_text": _("To the comparison"),
    }


def samples_detail(request: HttpRequest, run: Run, now: datetime) -> dict[str, Any]:
    """Returns a link to the topic as template context; it is shown on the page of a run that
    fetches the topic's samples."""
    return {"link": reverse("admin:topic", args=[run.target]), "link_text": _("To the topic")}


run_views.details["topic-compare"] = detail
run_views.details["topic-samples"] = samples_detail
