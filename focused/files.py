"""A topic from plain files, as `topic add` takes them: seeds, samples, keywords."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from crawlmgr.web.encoding import decode
from focused.ontology import Ontology, read_csv, read_turtle
from focused.topics import BadLine, Topic, read_keywords, read_seeds

DOCUMENT_SUFFIXES = frozenset((".txt", ".md", ""))
ONTOLOGY_SUFFIXES = frozenset((".ttl", ".csv"))


def read_text(path: Path) -> str:
    """A text file in any of the encodings that pages come in, without the NULs of one that is no text."""
    return decode(path.read_bytes())[0].replace("\0", "")


def read_named_documents(path: Path) -> list[tuple[str, str]]:
    """Name and text of one sample from a file, or one from each text file of a folder, in the order of their names.

    Empty ones are left out.
    """
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.is_file() and file.suffix.lower() in DOCUMENT_SUFFIXES)
    else:
        files = [path]
    return [(file.name, text) for file in files if (text := read_text(file)).strip()]


def read_documents(path: Path) -> list[str]:
    """The texts of those samples."""
    return [text for _, text in read_named_documents(path)]


def read_ontology(path: Path) -> Ontology:
    """An ontology from a file in Turtle or CSV, told apart by its ending. Raises ValueError with one line."""
    try:
        return read_turtle(path.read_bytes()) if path.suffix.lower() == ".ttl" else read_csv(read_text(path))
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None


def topic_from_files(
    name: str, seeds: Path, documents: Sequence[Path] = (), keywords: str = "", keywords_file: Path | None = None
) -> tuple[Topic, list[BadLine]]:
    """The topic and the lines of the seeds file that were no URL; ValueError where nothing is left to start from."""
    urls, bad = read_seeds(read_text(seeds).splitlines())
    if not urls:
        raise ValueError(f"{seeds.name} has no URL to start from")
    words = read_keywords(keywords)
    if keywords_file is not None:
        words = {**read_keywords(read_text(keywords_file)), **words}
    texts = tuple(text for path in documents for text in read_documents(path))
    return Topic(name, tuple(urls), texts, words), bad
