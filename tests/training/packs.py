"""Reads packs, the data sets for benchmarks and training: recorded webs with labelled topics. A
pack is a folder with the pages and a folder for each topic.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from focused.judge.relevance import Topic, read_text, topic_from_files
from focused.lab.archive import Archive
from focused.lab.comparison import read_labels, sample_draws
from focused.lab.evaluate import Label
from focused.run.parse import Parser


@dataclass(frozen=True, slots=True)
class PackTopic:
    """A topic of a pack (data set). `pack` is the pack's name; `labels` maps URLs to relevance
    labels; `reference` is the topic's entry in the pack's `baselines.json`: budgets, and results to
    compare with."""

    pack: str
    name: str
    topic: Topic
    labels: Mapping[str, Label]
    reference: Mapping[str, Any]

    def budget(self, share: str) -> int:
        """Returns the number of fetches that is "10", "25" or "50" percent (`share`) of the topic's
        reachable pages."""
        return int(self.reference["budget"][share])


def folders(data: Path) -> list[Path]:
    """Returns the folders of all packs (data sets) in a folder, by name. Raises ValueError if there
    is none."""
    found = sorted(path.parent for path in data.glob("*/pages.warc.gz"))
    if not found:
        raise ValueError(f"no pack in {data}: none of its folders holds pages.warc.gz")
    return found


def open_archive(pack: Path, parser: Parser) -> Archive:
    """Returns the recorded pages of the pack in the folder `pack` as an archive, whose pages
    `parser` parses."""
    return Archive([pack / "pages.warc.gz"], parser)


def topics(
    pack: Path, archive: Archive, *, keywords: bool = False, wanted: frozenset[str] = frozenset()
) -> Iterator[PackTopic]:
    """Yields the topics of a pack in the order of their names: all or, if `wanted` is not empty,
    those named in it. With `keywords`, the topics have the pack's keywords besides their samples.
    """
    references = json.loads(read_text(pack / "baselines.json"))["topics"]
    for folder in sorted(
        path for path in (pack / "topics").iterdir() if not wanted or path.name in wanted
    ):
        file = folder / "keywords.txt" if keywords else None
        topic, _ = topic_from_files(
            folder.name, folder / "seeds.txt", [folder / "documents"], keywords_file=file
        )
        labels = read_labels(read_text(folder / "labels.csv").splitlines(), archive)
        yield PackTopic(pack.name, folder.name, topic, labels, references[folder.name])


def draws(
    one: PackTopic, archive: Archive, others: int, random_seed: int = 7
) -> list[tuple[Topic, frozenset[str]]]:
    """Returns pairs of a topic and the set of sample pages that must not be scored: first the topic
    with its own samples (and an empty set), then `others` copies of it with samples drawn at random
    (see `comparison.sample_draws`).
    """
    return sample_draws(one.topic, archive, one.labels, others, random_seed)
