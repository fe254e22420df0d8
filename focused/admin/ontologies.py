"""View of a topic's ontology: uploaded or entered as a table, and shown as a tree, with the weight
that strategies give to its words.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from crawlmgr.admin.views import admin_view, back, page
from focused.admin.topics import find, trail
from focused.models import Topic
from focused.ontology import MAX_CONCEPTS, Ontology, read_csv, read_turtle
from focused.services import topics

MAX_BYTES = 2_000_000
SHOWN = 500


@admin_view(
    "topics/<int:pk>/ontology/", "topic-ontology", "focused.view_topic", post="focused.change_topic"
)
def ontology(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows the ontology as a tree, with a form to replace it; a run that has started keeps the
    ontology it started with."""
    topic, problem = find(pk), ""
    if request.method == "POST":
        try:
            whole, taken = _save(topic, request)
        except ValueError as error:
            problem = str(error)
        else:
            messages.success(request, _("The ontology is saved; the next run uses it."))
            if taken < whole:
                told = _(
                    "Only %(number)s of the ontology's %(whole)s concepts are used: those around"
                    " the topic's words."
                )
                messages.info(request, told % {"whole": f"{whole:,}", "number": f"{taken:,}"})
            return back(request, "topic-ontology", pk)
    known = Ontology.from_json(topic.ontology)
    tree = known.tree(SHOWN)
    context: dict[str, Any] = {
        "topic": topic,
        "problem": problem,
        "tree": [{"indent": 18 * depth, "labels": labels} for depth, labels in tree],
        "concepts": len(known.labels),
        "words": len(known.words()),
        "cut": len(known.labels) > len(tree),
        "table": request.POST.get("table", known.as_csv() if known.labels else ""),
        "weight": request.POST.get("weight", f"{topic.ontology_weight:g}"),
    }
    status = 422 if problem else 200
    title, way = _("Ontology"), trail(topic)
    return page(
        request,
        "focused/ontology.html",
        context,
        title=title,
        item=f"topic:{pk}",
        trail=way,
        status=status,
    )


def _save(topic: Topic, request: HttpRequest) -> tuple[int, int]:
    """Saves the submitted ontology and its weight to the topic. If it has more concepts than a
    topic may have, only the concepts around the topic's words are saved. Returns the numbers of
    concepts submitted and saved. Raises ValueError with a one-line message if the ontology is
    invalid, its file is too large, or it is cut but contains none of the topic's words.
    """
    file, table = request.FILES.get("file"), request.POST.get("table", "").strip()
    weight = _weight(request.POST.get("weight", ""))
    if file is not None and (file.size or 0) > MAX_BYTES:
        raise ValueError(_("The file is larger than %(size)s bytes.") % {"size": MAX_BYTES})
    if file is not None:
        data = file.read()
        found = (
            read_turtle(data)
            if str(file.name).lower().endswith(".ttl")
            else read_csv(data.decode("utf-8-sig"))
        )
    else:
        found = read_csv(table) if table else Ontology({}, {})
    taken = topics.fitting(topic, found)
    if found.labels and not taken.labels:
        told = _(
            "The ontology has more than %(number)s concepts, and none of the topic's words is among"
            " them: add samples or keywords first."
        )
        raise ValueError(told % {"number": f"{MAX_CONCEPTS:,}"})
    topic.ontology, topic.ontology_weight = taken.as_json(), weight
    topic.save(update_fields=["ontology", "ontology_weight"])
    return len(found.labels), len(taken.labels)


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = -1.0
    if not 0 <= weight <= 1:
        raise ValueError(_("The weight must be between 0 and 1."))
    return weight
