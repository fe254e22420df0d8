"""Reads the parts of a topic (seeds, samples, keywords, ontology) from plain files, for the command
`topic add`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from crawlmgr.web.encoding import decode
from focused.ontology import Ontology, read_csv, read_turtle
from focused.topics import BadLine, Topic, read_keywords, read_seeds

DOCUMENT_SUFFIXES = frozenset((".txt", ".md", ""))
ONTOLOGY_SUFFIXES = frozenset((".ttl", ".csv"))


def read_text(path: Path) -> str:
    """Returns the text of a file in any character encoding that web pages use, with NUL characters
    removed."""
    return decode(path.read_bytes())[0].replace("\0", "")


def read_named_documents(path: Path) -> list[tuple[str, str]]:
    """Reads samples from a file, or from each text file in a folder, sorted by name. Returns pairs
    of file name and text; empty files are left out.
    """
    if path.is_dir():
        files = sorted(
            file
            for file in path.iterdir()
            if file.is_file() and file.suffix.lower() in DOCUMENT_SUFFIXES
        )
    else:
        files = [path]
    return [(file.name, text) for file in files if (text := read_text(file)).strip()]


def read_documents(path: Path) -> list[str]:
    """Returns the texts of the samples in a file or folder."""
    return [text for _, text in read_named_documents(path)]


def read_ontology(path: Path) -> Ontology:
    """Reads an ontology from a Turtle (.ttl) or CSV file, by its file extension. Raises ValueError
    with a one-line message."""
    try:
        return (
            read_turtle(path.read_bytes())
            if path.suffix.lower() == ".ttl"
            else read_csv(read_text(path))
        )
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None


def topic_from_files(
    name: str,
    seeds: Path,
    documents: Sequence[Path] = (),
    keywords: str = "",
    keywords_file: Path | None = None,
) -> tuple[Topic, list[BadLine]]:
    """Makes a topic from files: seeds, samples (`documents`: files or folders of text files), and
    keywords given as text and in a file. Returns the topic, and the lines of the seeds file that
    are not URLs. Raises ValueError if there is no seed.
    """
    urls, bad = read_seeds(read_text(seeds).splitlines())
    if not urls:
        raise ValueError(f"{seeds.name} has no URL to start from")
    words = read_keywords(keywords)
    if keywords_file is not None:
        words = {**read_keywords(read_text(keywords_file)), **words}
    texts = tuple(text for path in documents for text in read_documents(path))
    return Topic(name, tuple(urls), texts, words), bad
