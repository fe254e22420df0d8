"""Views of a topic's words: their weights, extraction from samples or from a run, the relevance
threshold, and scoring of any text or page. Also the topic's ontology, uploaded or entered as a
table."""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from crawlmgr.admin.views import admin_view, back, number, page, post_view
from focused import reads
from focused.admin import charts
from focused.admin.topics import find, trail
from focused.judge.ontology import MAX_CONCEPTS, Ontology, read_csv, read_turtle
from focused.judge.relevance import Relevance, read_keywords
from focused.models import Topic
from focused.topic import readings, samples, topics

MAX_TEXT = 200_000
MAX_WORDS = 50_000  # characters; a longer submitted list of words is refused
LISTS = ("keywords", "near", "negative", "url_words", "user_words")


def _lines(weights: dict[str, float]) -> str:
    return "\n".join(
        f"{word}={weight:g}"
        for word, weight in sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))
    )


@admin_view(
    "topics/<int:pk>/words/", "topic-words", "focused.view_topic", post="focused.change_topic"
)
def words(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows the topic's words as editable lists; a run that has started keeps the words it started
    with."""
    topic = find(pk)
    posted = request.POST.dict() if request.method == "POST" else {}
    wrong = _save(topic, posted) if posted else {}
    if posted and not wrong:
        readings.renew(topic, now=datetime.now(UTC), user=request.user)
        messages.success(request, _("The words are saved; the next run uses them."))
        return back(request, "topic-words", pk)
    reading = (readings.of(topic) if not posted else topic.reading) or {}
    context: dict[str, Any] = {
        "topic": topic,
        "wrong": wrong,
        "keywords": posted.get("keywords", _lines(topic.keywords)),
        "near": posted.get("near", _lines(topic.near)),
        "negative": posted.get("negative", "\n".join(topic.negative)),
        "url_words": posted.get("url_words", "\n".join(topic.url_words)),
        "user_words": posted.get("user_words", "\n".join(topic.user_words)),
        "threshold": posted.get(
            "threshold", "" if topic.threshold is None else f"{topic.threshold:g}"
        ),
        "samples": topic.documents.exclude(text="").count(),
        "runs": [row for row in reads.topic_runs(topic) if row.pages],
        "charts": [charts.lexicon(reading["vector"])] if reading else [],
    }
    status = 422 if wrong else 200
    return page(
        request,
        "focused/words.html",
        context,
        title=_("Words"),
        item=f"topic:{pk}",
        trail=trail(topic),
        status=status,
    )


def _save(topic: Topic, posted: dict[str, str]) -> dict[str, str]:
    wrong: dict[str, str] = {}
    for name in ("keywords", "near"):
        try:
            setattr(topic, name, read_keywords(posted.get(name, "")))
        except ValueError as error:
            wrong[name] = str(error)
    for name in ("negative", "url_words", "user_words"):
        parts = posted.get(name, "").replace("，", "\n").replace(",", "\n").split("\n")
        setattr(
            topic, name, list(dict.fromkeys(part.strip()[:100] for part in parts if part.strip()))
        )
    text = posted.get("threshold", "").strip()
    try:
        topic.threshold = float(text) if text else None
        if topic.threshold is not None and not 0 <= topic.threshold <= 1:
            wrong["threshold"] = _("The threshold must be between 0 and 1.")
    except ValueError:
        wrong["threshold"] = _("The threshold must be between 0 and 1.")
    wrong |= {
        name: _("At most %(number)s characters.") % {"number": f"{MAX_WORDS:,}"}
        for name in LISTS
        if len(posted.get(name, "")) > MAX_WORDS
    }
    if not wrong:
        topic.save()
    return wrong


@post_view("topics/<int:pk>/draw/", "topic-draw", "focused.change_topic")
def draw(request: HttpRequest, pk: int) -> HttpResponse:
    """Extracts words for the topic from its samples. If the form names an earlier run (`run`),
    takes near-topic words from that run's pages instead, or, if `from` is "hosts", keywords from
    its host pages (entry pages of sites).
    """
    topic, run = find(pk), request.POST.get("run", "")
    if run:
        row = reads.topic_run(number(run) or 0)
        if row is None or row.topic_id != topic.pk:
            messages.error(request, _("There is no such run."))
            return back(request, "topic-words", pk)
        if request.POST.get("from") == "hosts":
            return _from_hosts(request, topic, row.pk)
        found = samples.draw_near(topic, row.pk)
    else:
        if (
            readings.renew(topic, now=datetime.now(UTC), user=request.user, drawing=True)
            is not None
        ):
            messages.info(request, _("A worker reads the samples and extracts the words."))
            return back(request, "topic", pk)
        told = ngettext(
            "The topic has %(number)s keyword now.",
            "The topic has %(number)s keywords now.",
            len(topic.keywords),
        )
        messages.success(request, told % {"number": len(topic.keywords)})
        return back(request, "topic-words", pk)
    done = ngettext(
        "%(number)s word was extracted.", "%(number)s words were extracted.", len(found)
    ) % {"number": len(found)}
    messages.success(request, done)
    return back(request, "topic-words", pk)


def _from_hosts(request: HttpRequest, topic: Topic, run_id: int) -> HttpResponse:
    """Extracts keywords from the host pages (entry pages of sites) of a run, and shows a message
    with their number."""
    pages, new = samples.draw_hosts(topic, run_id)
    if not pages:
        messages.info(
            request,
            _(
                "The run has no host page on topic (entry page of a site to which at least three"
                " other pages link)."
            ),
        )
    else:
        readings.renew(topic, now=datetime.now(UTC), user=request.user)
        told = ngettext(
            "%(words)s new words from %(number)s host page.",
            "%(words)s new words from %(number)s host pages.",
            pages,
        )
        messages.success(request, told % {"number": pages, "words": len(new)})
    return back(request, "topic-words", topic.pk)


@admin_view("topics/<int:pk>/try/", "topic-try", "focused.view_topic", post="focused.change_topic")
def try_out(request: HttpRequest, pk: int) -> HttpResponse:
    """Scores a text or a page against the topic and explains the score."""
    topic = find(pk)
    text, url = request.POST.get("text", "")[:MAX_TEXT], request.POST.get("url", "").strip()
    reading = readings.of(topic) or {}
    context: dict[str, Any] = {
        "topic": topic,
        "text": text,
        "url": url,
        "reading": reading,
        "charts": [charts.lexicon(reading["vector"])] if reading else [],
    }
    if request.method == "POST" and (text.strip() or url):
        relevance = Relevance(topics.definition(topic))
        began = time.monotonic()
        try:
            if url:
                context["place"], context["refusal"] = samples.scope_verdict(
                    topic, url, datetime.now(UTC)
                )
            sample = samples.page_of(topic, url) if url else samples.text_of(topic, text)
        except ValueError as error:
            messages.error(request, str(error))
        else:
            counts = Counter(sample.tokens)
            score = relevance.page(counts)
            shown = readings.wording_of(relevance, [sample.text])
            parts = [
                (shown.get(one.word, one.word), round(one.share, 4))
                for one in relevance.explain(counts)
            ]
            context.update(
                score=score,
                threshold=topic.threshold,
                on_topic=score >= relevance.threshold,
                sample=sample,
                tokens=len(sample.tokens),
                url_score=relevance.url(url) if url else None,
                near=relevance.near(counts) if topic.near else None,
                seconds=time.monotonic() - began,
                parts=parts,
                charts=[charts.shares(parts)],
            )
    return page(
        request,
        "focused/try.html",
        context,
        title=_("Test relevance"),
        item=f"topic:{pk}",
        trail=trail(topic),
    )


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
            whole, taken = _save_ontology(topic, request)
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
    title, crumbs = _("Ontology"), trail(topic)
    return page(
        request,
        "focused/ontology.html",
        context,
        title=title,
        item=f"topic:{pk}",
        trail=crumbs,
        status=status,
    )


def _save_ontology(topic: Topic, request: HttpRequest) -> tuple[int, int]:
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
