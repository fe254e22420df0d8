"""The command `topic pack`: makes a pack (recorded web with labelled topics, for benchmarks and
training) from a run's pages or WARC files.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.archive import archive
from crawlmgr.clock import SYSTEM
from crawlmgr.database import upgrade
from crawlmgr.management.base import Result, missing_parts, say, table
from crawlmgr.models import Run
from crawlmgr.text.tokens import Tokenizer
from crawlmgr.web.warc import WarcError
from focused.judge.relevance import read_text
from focused.lab import topic_packs
from focused.run.parse import Parser


def add_arguments(parser: Any) -> None:
    parser.add_argument("folder", type=Path, help="the pack's folder, which must not be there yet")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--run", type=int, metavar="N", help="a run whose pages lie in the archive")
    source.add_argument(
        "--archive", type=Path, nargs="+", metavar="FILE", help="WARC, WACZ or ARC files"
    )
    parser.add_argument(
        "--by",
        choices=topic_packs.STRUCTURES,
        default="auto",
        help=(
            "what makes a topic: sections (<link rel=up>), folders of addresses, or what the pages"
            " have (default)"
        ),
    )
    parser.add_argument(
        "--topics",
        type=Path,
        metavar="FILE.csv",
        help="topics by hand in place of that: columns topic and url",
    )
    parser.add_argument(
        "--most", type=int, default=8, metavar="N", help="topics at the most (default 8)"
    )
    parser.add_argument(
        "--random-seed", type=int, default=17, metavar="N", help="of the draws of seeds and samples"
    )


def run(options: dict[str, Any]) -> Result:
    if options["most"] < 1:
        raise CommandError("--most is 1 or more", returncode=2)
    by_hand: Path | None = options["topics"]
    missing: list[str] = []
    try:
        lines = read_text(by_hand).splitlines() if by_hand else None
        with tempfile.TemporaryDirectory() as folder:
            topics = topic_packs.make(
                options["folder"],
                _files(options, Path(folder)),
                Parser(Tokenizer()),
                kind=options["by"],
                groups=None
                if lines is None
                else lambda web: topic_packs.groups_from_csv(lines, web),
                most=options["most"],
                seed=options["random_seed"],
                say=say,
                missing=missing,
            )
    except (ValueError, WarcError) as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{error.filename}: {error.strerror}") from error
    header = ("topic", "seeds", "relevant", "targets", "reachable")
    rows = [
        (one.name, one.mode, len(one.pages), len(one.targets), len(one.depths)) for one in topics
    ]
    found = [dict(zip(header, row, strict=True)) for row in rows]
    data = {"pack": str(options["folder"]), "topics": found}
    return Result(data, table(header, rows), missing=missing_parts(missing))


def _files(options: dict[str, Any], folder: Path) -> list[Path]:
    """Returns the WARC files to pack: those given, or one in the temporary folder `folder` to which
    the pages of a run were exported. Raises ValueError if there is no such run or none of its pages
    is in the archive."""
    if options["run"] is None:
        return list(options["archive"])
    upgrade.ready()
    if not Run.objects.filter(pk=options["run"]).exists():
        raise ValueError(f"there is no run {options['run']}")
    target = folder / "pages.warc.gz"
    if not archive.export_run(options["run"], target, SYSTEM.now())["records"]:
        raise ValueError(f"run {options['run']} has no page in the archive")
    return [target]
