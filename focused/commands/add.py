"""`topic add`: a topic from files: seeds, samples, keywords."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.management import database
from crawlmgr.management.base import Result, say
from focused.files import read_named_documents, topic_from_files
from focused.relevance import Relevance
from focused.services import topics
from focused.topics import read_keywords

HELP = "make a topic from a file of seeds, samples and keywords"


def add_arguments(parser: Any) -> None:
    parser.add_argument("name", help="the topic's name")
    parser.add_argument("--seeds", type=Path, required=True, metavar="FILE", help="one URL a line, # for comments")
    parser.add_argument("--documents", type=Path, metavar="FILE_OR_FOLDER", help="samples: a text file, or a folder of them")
    parser.add_argument("--keywords", default="", metavar='"a,b=0.5"', help="words of the topic, with weights in (0, 1]")


def run(options: dict[str, Any]) -> Result:
    database.ready()
    try:
        read_keywords(options["keywords"])
    except ValueError as error:
        raise CommandError(str(error), returncode=2) from None
    try:
        documents = read_named_documents(options["documents"]) if options["documents"] else []
        value, bad = topic_from_files(options["name"], options["seeds"], (), options["keywords"])
        for line in bad:
            say(f"{options['seeds'].name}, line {line.number}: no URL, left out: {line.text}")
        topic = topics.add(value.name, value.seeds, documents=documents, keywords=dict(value.keywords), now=SYSTEM.now())
    except ValueError as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(f"{error.filename}: {error.strerror}") from None
    relevance = Relevance(topics.definition(topic))
    words = sorted(relevance.vector.items(), key=lambda pair: -pair[1])[:20]
    document = {
        "topic": topic.pk,
        "name": topic.name,
        "seeds": len(value.seeds),
        "bad_lines": [{"line": line.number, "text": line.text} for line in bad],
        "documents": len(documents),
        "keywords": topic.keywords,
        "threshold": relevance.threshold,
        "top_words": [word for word, _ in words],
    }
    text = f"Topic {topic.pk}: {topic.name}, {len(value.seeds)} seeds, {len(documents)} samples"
    return Result(document, f"{text}, threshold {relevance.threshold:.3f}\n{', '.join(document['top_words'])}")
