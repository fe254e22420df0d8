"""Computes the "reading" of a topic's samples: TextRank keywords of each sample, and the topic's
vector.

It is computed once for each state of samples and words, by a worker's run if the samples are long,
and stored, so that web pages that show a topic never process its samples."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import QuerySet, Sum

from crawlmgr.jobs import Pulse
from crawlmgr.models import Run
from crawlmgr.runs import runs
from crawlmgr.text.tokens import keywords, merge, stem_of, wording
from focused.judge.relevance import Relevance, is_general
from focused.models import SampleDocument, Topic
from focused.topic import topics
from focused.topic.lexicon import WORDS_A_PAGE

KIND = "topic-texts"
DRAWN_WORDS = 30
SMALL_CHARACTERS = 30_000
"""If the samples of a topic have at most this many characters together, they are processed while
the user waits, which takes half a second at most; longer ones are processed by a worker."""
FORM = 3
"""Version of the stored reading, raised when its contents change."""
MAX_SAMPLE_CHARACTERS = 300_000
MAX_WORDING = 100_000
"""Number of characters of all samples from which display forms of words are taken while the user
waits: an equal number from the beginning of each sample."""
MAX_TOPIC_CHARACTERS = 2_000_000
"""Maximum number of characters of all samples of a topic together; samples that would exceed it are
left out. Limited because samples are weighted against each other, and every run keeps a copy."""


class Bounded(NamedTuple):
    """Samples within the size limits: `kept` as pairs of name and text, and the names of those that
    were truncated (`truncated`) and of those that were left out.
    """

    kept: list[tuple[str, str]]
    truncated: list[str]
    left_out: list[str]


def bounded(texts: Iterable[tuple[str, str]], used: int = 0) -> Bounded:
    """Returns the samples, given as pairs of name and text, that fit into a topic that already has
    `used` characters of samples; those longer than MAX_SAMPLE_CHARACTERS are truncated, those that
    would exceed MAX_TOPIC_CHARACTERS are left out.
    """
    found = Bounded([], [], [])
    for name, text in texts:
        if used + min(len(text), MAX_SAMPLE_CHARACTERS) > MAX_TOPIC_CHARACTERS:
            found.left_out.append(name)
            continue
        if len(text) > MAX_SAMPLE_CHARACTERS:
            found.truncated.append(name)
        found.kept.append((name, text[:MAX_SAMPLE_CHARACTERS]))
        used += len(found.kept[-1][1])
    return found


def characters(topic: Topic) -> int:
    """Returns the number of characters of all samples of a topic."""
    return topic.documents.aggregate(sum=Sum("characters"))["sum"] or 0


def unread(topic: Topic) -> QuerySet[SampleDocument]:
    """Returns a query of the samples whose keywords have not been extracted yet."""
    return topic.documents.filter(words__isnull=True).exclude(text="")


def of(topic: Topic) -> dict[str, Any] | None:
    """Returns the values computed from a topic and its samples: `words` (number of words of the
    topic) and `vector` (weights by word; a keyword's is the operator's). If the stored values are
    outdated, short samples are processed at once; long ones have to be processed by a worker, and
    until then the result is None.
    """
    if topic.reading.get("key") == key(topic):
        return dict(topic.reading)
    return _worked_out(topic) if characters(topic) <= SMALL_CHARACTERS else None


def key(topic: Topic) -> str:
    """Returns a digest of everything that a reading depends on; a stored reading with another key
    is outdated."""
    samples = list(
        topic.documents.exclude(text="").order_by("position", "id").values_list("pk", "characters")
    )
    words = [
        topic.keywords,
        topic.near,
        topic.negative,
        topic.url_words,
        topic.user_words,
    ]
    concepts = [topic.ontology, topic.ontology_weight]
    return hashlib.sha256(json.dumps([FORM, words, concepts, samples]).encode()).hexdigest()


def _worked_out(topic: Topic) -> dict[str, Any]:
    # The key is computed first: if the topic's samples or words change during the computation, the
    # stored key differs from their new key, and the result counts as outdated.
    before = key(topic)
    relevance = Relevance(topics.definition(topic))
    shown = wording_of(relevance)
    return {
        "key": before,
        "words": len(relevance.words),
        "vector": {
            shown.get(word, word): weight / relevance.top
            for word, weight in relevance.vector.items()
        },
    }


def wording_of(relevance: Relevance, further: Iterable[str] = ()) -> dict[str, str]:
    """Returns for each stemmed word of the topic the form in which to display it. The form is taken
    from the texts `further` if they contain the word, otherwise from the beginnings of the samples,
    otherwise from the topic's word lists and ontology. Words that occur in none of these are
    missing."""
    about = relevance.topic
    each = MAX_WORDING // max(1, len(about.documents))
    labels = (label for concept in about.ontology.values() for label in concept["labels"])
    lists = [*about.keywords, *about.near, *about.negative, *labels]
    tokenizer = relevance.tokenizer
    samples = wording((text[:each] for text in about.documents), tokenizer)
    return {**wording(lists, tokenizer), **samples, **wording(further, tokenizer)}


def _keep(topic: Topic, reading: dict[str, Any]) -> None:
    topic.reading = reading
    Topic.objects.filter(pk=topic.pk).update(reading=reading)


def words_of(sample: SampleDocument) -> dict[str, float]:
    """Returns the TextRank keywords of a sample, at most twenty, with their weights; without
    general words."""
    found = keywords(sample.text, WORDS_A_PAGE)
    return {word: weight for word, weight in found.items() if not is_general(word)}


def draw(topic: Topic) -> dict[str, float]:
    """Adds to the topic's keywords at most DRAWN_WORDS words, merged from the keywords of all
    samples already processed. Words that the topic has already keep their form and weight. Returns
    the new words with their weights.
    """
    lists = (
        topic.documents.exclude(words__isnull=True)
        .order_by("position", "id")
        .values_list("words", flat=True)
    )
    return add_keywords(topic, merge([words for words in lists if words], DRAWN_WORDS))


def add_keywords(topic: Topic, drawn: Mapping[str, float]) -> dict[str, float]:
    """Adds words to the topic's keywords and returns the new ones with their weights. A word that
    the topic has already, in any inflected form, is not changed.
    """
    known = {stem_of(word) for word in topic.keywords}
    new = {word: round(weight, 3) for word, weight in drawn.items() if stem_of(word) not in known}
    topic.keywords = {**new, **topic.keywords}
    Topic.objects.filter(pk=topic.pk).update(keywords=topic.keywords)
    return new


def renew(topic: Topic, *, now: datetime, user: Any = None, drawing: bool = False) -> Run | None:
    """Updates `topic.reading`, the word vector that follows from the topic's samples;
    with `drawing` first adds keywords from these (see `draw`). Short samples are processed at once
    (None); otherwise returns the run that does it.
    """
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
            KIND,
            topic.name,
            target=topic.pk,
            exclusive=f"{KIND} {topic.pk}",
            parameters=chosen,
            now=now,
            user=user,
        )
    except (
        runs.Busy
    ) as busy:  # no second run is needed: the existing one looks for new samples before each step
        if drawing:
            Run.objects.filter(pk=busy.run.pk).update(parameters={"draw": True})
        return busy.run


def work(topic: Topic) -> None:
    """Computes and stores what follows from a topic's samples (their keywords, the topic's
    vector) in this process, however long it takes."""
    for sample in unread(topic):
        SampleDocument.objects.filter(pk=sample.pk).update(words=words_of(sample))
    _keep(topic, _worked_out(topic))


class TextsJob:
    """The job that reads a topic's samples in a worker (see crawlmgr.jobs.Job): one sample per
    step, then adds keywords from them if this was requested, then computes the reading."""

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
        """Called at the end of the run; has nothing to do, since each sample was stored when it was
        read."""


class ReadingProgress(NamedTuple):
    """How far the active run that reads a topic's samples has come: `all` and `read` are numbers of
    samples."""

    run: Run
    all: int
    read: int

    @property
    def percent(self) -> int:
        return 100 * self.read // max(1, self.all)


def progress(topic: Topic) -> ReadingProgress | None:
    """Returns the progress of the active run that reads a topic's samples; None if there is no such
    run."""
    run = next(
        (one for one in Run.objects.at_work() if one.kind == KIND and one.target == topic.pk), None
    )
    if run is None:
        return None
    number, left = topic.documents.exclude(text="").count(), unread(topic).count()
    return ReadingProgress(run, number, number - left)
