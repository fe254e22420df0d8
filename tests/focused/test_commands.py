"""The commands `topic add`, `topic crawl` and `topic compare`: output, exit statuses, stored
data."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.management import CommandError, call_command

from crawlmgr.archive import archive
from crawlmgr.clock import SYSTEM
from crawlmgr.frontier import hosts
from crawlmgr.models import Page, Run
from focused.management.commands import topic as command
from focused.models import Topic
from focused.run import archived_pages, sessions
from focused.topic import topics
from tests.focused.topical import DOCUMENTS, TopicalWeb

pytestmark = pytest.mark.django_db(transaction=True)
WEB = ("--allow-private", "--delay", "0")


def run(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """Runs a subcommand and returns its JSON document; raises CommandError where the command line
    would exit with an error."""
    made = command.Command()
    made._words = words
    parser = made.create_parser("manage.py", "topic")
    options = vars(parser.parse_args([*words, "--json"]))
    options.pop("args", None)
    made.handle(**options)
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def files(tmp_path: Path) -> Any:
    hosts.forget()
    sessions._live.clear()
    archived_pages._parsed.clear()
    with TopicalWeb() as web:
        samples = tmp_path / "samples"
        samples.mkdir()
        for name, text in DOCUMENTS:
            (samples / name).write_text(text)
        seeds = tmp_path / "seeds.txt"
        seeds.write_text(f"{web.url(0)}\n# a comment\n{web.url(1)} # begins here\n")
        yield web, seeds, samples


def test_add_crawl_and_compare(
    capsys: pytest.CaptureFixture[str], files: Any, tmp_path: Path
) -> None:
    web, seeds, samples = files
    seeds.write_text(seeds.read_text().replace("# a comment\n", "# a comment\nno address\n"))
    words = ("add", "crawlers", "--seeds", str(seeds), "--documents", str(samples))
    with pytest.raises(CommandError, match="Not complete. 1 lines of the seeds: no URL"):
        run(capsys, *words, "--keywords", "crawler=0.5")
    added = json.loads(capsys.readouterr().out)
    assert (
        added["seeds"] == 2
        and added["documents"] == 2
        and added["bad_lines"] == [{"line": 3, "text": "no address"}]
    )
    assert not added["complete"] and added["missing"] == [
        {"what": "lines of the seeds", "count": 1, "reason": "no URL"}
    ]
    assert Topic.objects.get().keywords == {"crawler": 0.5}
    crawled = run(
        capsys,
        "crawl",
        "crawlers",
        "--strategy",
        "shark",
        "--pages",
        "20",
        "--param",
        "gamma=0.3",
        *WEB,
    )
    assert {
        "run",
        "fetched",
        "relevant",
        "harvest_rate",
        "stopped_by",
        "seconds",
        "requests",
        "duplicates",
    } <= set(crawled)
    assert (crawled["fetched"], crawled["stopped_by"]) == (20, "pages")
    assert crawled["relevant"] is crawled["harvest_rate"] is crawled["harvest_interval"] is None
    assert crawled["harvest_doubt"] == "not enough to tell: mark ten pages"
    assert Run.objects.get(pk=crawled["run"]).parameters["parameters"] == {"gamma": "0.3"}
    target = tmp_path / "run.warc.gz"
    archive.export_run(  # type: ignore[union-attr]
        crawled["run"], target, Page.objects.first().fetched_at
    )
    compared = run(
        capsys,
        "compare",
        "crawlers",
        "--strategies",
        "breadth_first,shark",
        "--pages",
        "10",
        "--archive",
        str(target),
    )
    assert [one["strategy"] for one in compared["results"]] == ["breadth_first", "shark"]
    names = ("--strategies", "breadth_first,shark", "--pages", "10", "--archive", str(target))
    again = run(capsys, "compare", "crawlers", *names, "--trail", str(tmp_path / "trail.csv"))
    for one, other in zip(compared["results"], again["results"], strict=True):
        assert {**one, "seconds": 0} == {**other, "seconds": 0}
    with (tmp_path / "trail.csv").open(encoding="utf-8", newline="") as file:
        trail = list(csv.DictReader(file))
    for one in compared["results"]:
        rows = [row for row in trail if row["strategy"] == one["strategy"]]
        assert [int(row["number"]) for row in rows] == list(
            range(1, one["fetched"] - one["failed"] + 1)
        )
        assert (
            sum(int(row["on_topic"]) for row in rows) == int(rows[-1]["found"])
            and rows[0]["parent"] == ""
        )


@pytest.mark.parametrize(
    "words",
    [
        ("--strategy", "fastest"),
        ("--param", "gama=0.3"),
        ("--param", "gamma=7"),
        ("--max-depth", "-1"),
        ("--random-seed", "-3"),
        ("--ahead", "900"),
        ("--minutes", "-2"),
    ],
)
def test_wrong_arguments_end_with_status_two(
    capsys: pytest.CaptureFixture[str], files: Any, words: tuple[str, str]
) -> None:
    _, seeds, samples = files
    run(capsys, "add", "t", "--seeds", str(seeds), "--documents", str(samples))
    with pytest.raises(CommandError) as refused:
        run(capsys, "crawl", "t", "--strategy", "shark", "--pages", "5", *words)
    assert refused.value.returncode == 2 and "\n" not in str(refused.value)
    assert not Run.objects.exists()


def test_what_cannot_be_done_ends_with_status_one(
    capsys: pytest.CaptureFixture[str], files: Any, tmp_path: Path
) -> None:
    _, seeds, samples = files
    run(capsys, "add", "t", "--seeds", str(seeds), "--documents", str(samples))
    bad = tmp_path / "bad.txt"
    bad.write_text("nothing here\n")
    for words in (
        ("crawl", "other", "--pages", "5"),
        ("add", "t", "--seeds", str(seeds)),
        ("add", "u", "--seeds", str(bad)),
        ("add", "u", "--seeds", str(tmp_path / "none.txt")),
        ("compare", "other", "--strategies", "shark", "--pages", "5", "--archive", str(bad)),
        (
            "compare",
            "t",
            "--strategies",
            "shark",
            "--pages",
            "5",
            "--archive",
            str(tmp_path / "none.warc"),
        ),
        ("crawl", "t", "--pages", "5", "--hosts", "elsewhere.example"),
    ):
        with pytest.raises(CommandError) as refused:
            run(capsys, *words)
        assert refused.value.returncode == 1 and "\n" not in str(refused.value), words


def test_a_scheduled_run_is_ended_first_and_not_taken_for_the_command_s_own(
    capsys: pytest.CaptureFixture[str], files: Any
) -> None:
    web, seeds, samples = files
    run(capsys, "add", "t", "--seeds", str(seeds), "--documents", str(samples))
    open_ = {"allow_private": urlsplit(web.url(0)).netloc, "delay_seconds": 0.0}
    other = topics.crawl(
        Topic.objects.get(),
        options={"pages": 3},
        settings=open_,
        now=SYSTEM.now(),
        start=False,
        scheduled=True,
    )
    crawled = run(capsys, "crawl", "t", "--pages", "9", *WEB)
    assert crawled["run"] != other.pk and crawled["fetched"] == 9
    assert Run.objects.get(pk=other.pk).stopped_by == "pages"


def test_a_crawl_without_a_page_ends_with_status_one(
    capsys: pytest.CaptureFixture[str], files: Any
) -> None:
    _, seeds, samples = files
    run(capsys, "add", "t", "--seeds", str(seeds), "--documents", str(samples))
    with pytest.raises(CommandError, match=r"No page could be read: refused_address.* \(2\)"):
        run(capsys, "crawl", "t", "--pages", "5", "--delay", "0")


def test_a_strategy_of_the_settings_is_listed_and_crawls(
    capsys: pytest.CaptureFixture[str], files: Any, settings: Any
) -> None:
    settings.TOPIC_STRATEGIES = {"own": "focused.strategies.breadth_first.BreadthFirst"}
    listed = run(capsys, "strategies")
    assert "own" in {one["strategy"] for one in listed["strategies"]}
    _, seeds, samples = files
    run(capsys, "add", "t", "--seeds", str(seeds), "--documents", str(samples))
    assert run(capsys, "crawl", "t", "--strategy", "own", "--pages", "5", *WEB)["fetched"] == 5


def test_pages_and_links_are_exported_with_relevance_and_depth(
    capsys: pytest.CaptureFixture[str], files: Any, tmp_path: Path
) -> None:
    _, seeds, samples = files
    run(capsys, "add", "t", "--seeds", str(seeds), "--documents", str(samples))
    run(capsys, "crawl", "t", "--pages", "10", *WEB)
    for table, columns in (
        ("pages", {"url", "relevance", "depth", "run"}),
        ("links", {"from_url", "to_url", "relevance", "depth"}),
    ):
        target = tmp_path / f"{table}.csv"
        call_command("export", table, "--format", "csv", "--out", str(target), stdout=sys.stderr)
        with target.open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert rows and columns <= set(rows[0])
        assert {row["depth"] for row in rows} > {"0"}
