"""The command `topic add`: adds a topic from files of seeds, samples, keywords and an ontology."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.database import upgrade
from crawlmgr.management.base import Missing, Result, say
from focused.judge.ontology import MAX_CONCEPTS, Ontology
from focused.judge.relevance import (
    ONTOLOGY_SUFFIXES,
    Relevance,
    read_keywords,
    read_named_documents,
    read_ontology,
    topic_from_files,
)
from focused.topic import readings, topics

BESIDE = 0.5
"""Weight of the ontology's words as keywords when the topic has samples or keywords as well."""


def add_arguments(parser: Any) -> None:
    parser.add_argument("name", help="the topic's name")
    parser.add_argument(
        "--seeds", type=Path, required=True, metavar="FILE", help="one URL a line, # for comments"
    )
    parser.add_argument(
        "--documents",
        type=Path,
        metavar="FILE_OR_FOLDER",
        help="samples: a text file, or a folder of them",
    )
    parser.add_argument(
        "--ontology",
        type=Path,
        metavar="FILE.ttl|.csv",
        help="concepts and their words: Turtle, or concept,broader[,labels]",
    )
    parser.add_argument(
        "--keywords",
        default="",
        metavar='"a,b=0.5"',
        help="words of the topic, with weights in (0, 1]",
    )


def run(options: dict[str, Any]) -> Result:
    upgrade.ready()
    try:
        read_keywords(options["keywords"])
        if options["ontology"] and options["ontology"].suffix.lower() not in ONTOLOGY_SUFFIXES:
            raise ValueError(f"{options['ontology'].name}: an ontology is a .ttl or a .csv file")
    except ValueError as error:
        raise CommandError(str(error), returncode=2) from None
    try:
        documents = read_named_documents(options["documents"]) if options["documents"] else []
        value, bad = topic_from_files(options["name"], options["seeds"], (), options["keywords"])
        for line in bad:
            say(
                f"{options['seeds'].name}, line {line.number}: {line.reason}, left out: {line.text}"
            )
        ontology = read_ontology(options["ontology"]) if options["ontology"] else None
        large = ontology is not None and len(ontology.labels) > MAX_CONCEPTS
        topic = topics.add(
            value.name,
            value.seeds,
            documents=documents,
            keywords=_keywords(
                value.keywords,
                None if large else ontology,
                alone=not documents and not value.keywords,
            ),
            ontology=ontology.as_json() if ontology and not large else {},
            now=SYSTEM.now(),
        )
        if ontology is not None and large:
            topic.ontology = topics.fitting(topic, ontology).as_json()
            topic.save(update_fields=["ontology"])
            name, taken = options["ontology"].name, len(topic.ontology)
            say(f"{name}: of {len(ontology.labels)} concepts the {taken} around the topic's words")
    except ValueError as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(f"{error.filename}: {error.strerror}") from None
    relevance = Relevance(topics.definition(topic))
    readings.work(topic)
    words, shown = (
        sorted(relevance.vector.items(), key=lambda pair: -pair[1])[:20],
        readings.wording_of(relevance),
    )
    document = {
        "topic": topic.pk,
        "name": topic.name,
        "seeds": len(value.seeds),
        "bad_lines": [{"line": line.number, "text": line.text} for line in bad],
        "documents": len(documents),
        "keywords": topic.keywords,
        "concepts": len(topic.ontology),
        "threshold": relevance.topic.threshold,
        "top_words": [shown.get(word, word) for word, _ in words],
    }
    text = f"Topic {topic.pk}: {topic.name}, {len(value.seeds)} seeds, {len(documents)} samples"
    missing = [Missing("lines of the seeds", len(bad), bad[0].reason)] if bad else []
    return Result(document, f"{text}\n{', '.join(document['top_words'])}", missing=missing)


def _keywords(
    given: Mapping[str, float], ontology: Ontology | None, *, alone: bool
) -> dict[str, float]:
    """Returns keywords with weights: the words of the ontology and those `given`, which take
    precedence. Words of the ontology weigh 1 if the topic has neither samples nor keywords
    (`alone`), otherwise BESIDE (one half)."""
    words = ontology.words() if ontology is not None else []
    return {**dict.fromkeys(words, 1.0 if alone else BESIDE), **given}
