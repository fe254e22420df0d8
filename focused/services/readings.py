"""What a topic's samples come to: the words of each by TextRank, the vector and the threshold of all.

Worked out once for each state of samples and words, by a worker's run where they are long, and kept: a page that shows a topic
never goes through its samples.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import QuerySet, Sum

from crawlmgr.jobs import Pulse
from crawlmgr.models import Run
from crawlmgr.services import runs
from crawlmgr.text.keywords import keywords, merge, stem_of
from crawlmgr.text.tokens import wording
from focused.lexicon import WORDS_A_PAGE
from focused.models import SampleDocument, Topic
from focused.relevance import Relevance
from focused.services import topics

KIND = "topic-texts"
DRAWN_WORDS = 30
SMALL_CHARACTERS = 30_000
"""Samples of so many characters in all are worked out while a person waits: half a second at most."""
FORM = 2
"""Rises when a reading holds other things than before."""
MOST_SAMPLE_CHARACTERS = 300_000
MOST_WORDING = 100_000
"""Characters of all samples from which the forms of words are taken, where a person waits for a page with them."""
MOST_TOPIC_CHARACTERS = 2_000_000
"""Of all samples of a topic together: they are weighed against each other, and every run keeps a copy."""


class Bounded(NamedTuple):
    """Samples as they may be kept; names of those that were cut, and of those that were left out."""

    kept: list[tuple[str, str]]
    cut: list[str]
    left_out: list[str]


def bounded(texts: Iterable[tuple[str, str]], used: int = 0) -> Bounded:
    """Names and texts within the bounds of a topic whose samples have `used` characters already."""
    found = Bounded([], [], [])
    for name, text in texts:
        if used + min(len(text), MOST_SAMPLE_CHARACTERS) > MOST_TOPIC_CHARACTERS:
            found.left_out.append(name)
            continue
        if len(text) > MOST_SAMPLE_CHARACTERS:
            found.cut.append(name)
        found.kept.append((name, text[:MOST_SAMPLE_CHARACTERS]))
        used += len(found.kept[-1][1])
    return found


def characters(topic: Topic) -> int:
    """Of all samples of a topic."""
    return topic.documents.aggregate(sum=Sum("characters"))["sum"] or 0


def unread(topic: Topic) -> QuerySet[SampleDocument]:
    """Samples whose words are not drawn yet."""
    return topic.documents.filter(words__isnull=True).exclude(text="")


def of(topic: Topic) -> dict[str, Any] | None:
    """The reading of a topic as it stands: threshold, drawn threshold, number of words, vector. None where a worker has yet to
    work it out; one of short samples is worked out here."""
    if topic.reading.get("key") == key(topic):
        return dict(topic.reading)
    return _worked_out(topic) if characters(topic) <= SMALL_CHARACTERS else None


def key(topic: Topic) -> str:
    """What a reading depends on, as a digest."""
    samples = list(topic.documents.exclude(text="").order_by("position", "id").values_list("pk", "characters"))
    words = [topic.keywords, topic.near, topic.negative, topic.url_words, topic.user_words, topic.threshold]
    concepts = [topic.ontology, topic.ontology_weight]
    return hashlib.sha256(json.dumps([FORM, words, concepts, samples]).encode()).hexdigest()


def _worked_out(topic: Topic) -> dict[str, Any]:
    before = key(topic)  # what changes meanwhile makes this one old, not wrong
    relevance = Relevance(replace(topics.definition(topic), threshold=None))
    shown = wording_of(relevance)
    return {
        "key": before,
        "drawn": relevance.threshold,
        "threshold": relevance.threshold if topic.threshold is None else topic.threshold,
        "words": len(relevance.words),
        "vector": {shown.get(word, word): weight for word, weight in relevance.vector.items()},
    }


def wording_of(relevance: Relevance, further: Iterable[str] = ()) -> dict[str, str]:
    """How a topic's words are shown: as they stand in its samples (their beginnings), else in its word lists and its ontology;
    in `further` texts before all."""
    about = relevance.topic
    each = MOST_WORDING // max(1, len(about.documents))
    labels = (label for concept in about.ontology.values() for label in concept["labels"])
    lists = [*about.keywords, *about.near, *about.negative, *labels]
    tokenizer = relevance.tokenizer
    samples = wording((text[:each] for text in about.documents), tokenizer)
    return {**wording(lists, tokenizer), **samples, **wording(further, tokenizer)}


def _keep(topic: Topic, reading: dict[str, Any]) -> None:
    topic.reading = reading
    Topic.objects.filter(pk=topic.pk).update(reading=reading)


def words_of(sample: SampleDocument) -> dict[str, float]:
    """Twenty TextRank words of a sample."""
    return keywords(sample.text, WORDS_A_PAGE)


def draw(topic: Topic) -> dict[str, float]:
    """The topic's keywords anew from the words of its samples; words that are there already keep their form and weight."""
    lists = topic.documents.exclude(words__isnull=True).order_by("position", "id").values_list("words", flat=True)
    return add_keywords(topic, merge([words for words in lists if words], DRAWN_WORDS))


def add_keywords(topic: Topic, drawn: Mapping[str, float]) -> dict[str, float]:
    """Adds words to the topic's keywords; those that are there already, in whatever form, stay as they are. Gives the new."""
    known = {stem_of(word) for word in topic.keywords}
    new = {word: round(weight, 3) for word, weight in drawn.items() if stem_of(word) not in known}
    topic.keywords = {**new, **topic.keywords}
    Topic.objects.filter(pk=topic.pk).update(keywords=topic.keywords)
    return new


def renew(topic: Topic, *, now: datetime, user: Any = None, drawing: bool = False) -> Run | None:
    """Works the topic's reading out where its samples are short, and with `drawing` its keywords before; else gives the run whose
    worker does it, a new one or the one that is at it."""
    if characters(topic) <= SMALL_CHARACTERS:
        for sample in unread(topic):
            SampleDocument.objects.filter(pk=sample.pk).update(words=words_of(sample))
        if drawing:
            draw(topic)
        _keep(topic, _worked_out(topic))
        return None
    try:
        chosen = {"draw": drawing}
        return runs.create(
            KIND, topic.name, target=topic.pk, exclusive=f"{KIND} {topic.pk}", parameters=chosen, now=now, user=user
        )
    except runs.Busy as busy:  # it looks at what is there before each step
        if drawing:
            Run.objects.filter(pk=busy.run.pk).update(parameters={"draw": True})
        return busy.run


def work(topic: Topic) -> None:
    """The same while the caller waits, however long."""
    for sample in unread(topic):
        SampleDocument.objects.filter(pk=sample.pk).update(words=words_of(sample))
    _keep(topic, _worked_out(topic))


class TextsJob:
    """The work of such a run (see crawlmgr.jobs.Job): a sample a step, then the keywords where they are wanted, then the rest."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def step(self, pulse: Pulse) -> Any:
        topic = Topic.objects.filter(pk=self.run.target).first()
        if topic is None:
            return "removed"
        sample = unread(topic).order_by("position", "id").first()
        if sample is not None:
            found = words_of(sample)
            return lambda: SampleDocument.objects.filter(pk=sample.pk).update(words=found)
        self.run.refresh_from_db(fields=["parameters", "result"])
        if self.run.parameters["draw"] and not self.run.result.get("drawn"):
            return lambda: self._draw(topic)
        if topic.reading.get("key") == key(topic):
            return "samples_read"
        reading = _worked_out(topic)
        return lambda: _keep(topic, reading)

    def _draw(self, topic: Topic) -> None:
        found = draw(topic)
        Run.objects.filter(pk=self.run.pk).update(result={"drawn": len(found)})

    def ended(self, state: str, now: datetime) -> None:
        """Nothing is left open: each sample was stored as it was read."""


def progress(topic: Topic) -> dict[str, Any] | None:
    """The run that is at a topic's samples, with how many it has read of how many; None where none is."""
    run = next((one for one in Run.objects.at_work() if one.kind == KIND and one.target == topic.pk), None)
    if run is None:
        return None
    number, left = topic.documents.exclude(text="").count(), unread(topic).count()
    return {"run": run, "all": number, "read": number - left, "percent": 100 * (number - left) // max(1, number)}
