"""Comparisons of strategies over WARC files: redirects, pages outside the archive, labels,
repeatability; the commands; recorded sites where they are available."""

import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from crawlmgr.text.tokens import Tokenizer
from focused.judge.relevance import Topic, read_documents, topic_from_files
from focused.lab.archive import Archive
from focused.lab.comparison import (
    TRAIL,
    Entry,
    compare,
    judge,
    read_labels,
    run_entry,
    sample_draws,
    trail_rows,
    without,
)
from focused.lab.evaluate import Label
from focused.run.loop import Outside
from focused.run.parse import Parser
from focused.strategies.base import BUILT_IN
from tests.benches.topics import strategies as bench

SHARED = Path(__file__).resolve().parents[2] / "../shared/data/webgraphs"
needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the shared recorded sites are not there"
)

ON = "focused crawler fetches topical pages and follows links"
OFF = "garden soup recipe tomato basil kitchen"
PAGES = {
    "/": (OFF, ["/a", "/b", "/old", "/missing"]),
    "/a": (OFF, ["/a1"]),
    "/b": (ON, ["/b1", "/b2"]),
    "/a1": (ON, []),
    "/b1": (ON, ["/"]),
    "/b2": (OFF, ["/b1"]),
    "/new": (ON, ["/a1"]),
}


def html(text, links):
    anchors = " ".join(f'<a href="{link}">to {link}</a>' for link in links)
    return f"<html><title>page</title><body><p>{text}</p>{anchors}</body></html>".encode()


@pytest.fixture
def warc(tmp_path):
    path = tmp_path / "site.warc.gz"
    with path.open("wb") as stream:
        writer = WARCWriter(stream, gzip=True)

        def add(where, status, headers, body):
            head = StatusAndHeaders(status, headers, protocol="HTTP/1.1")
            writer.write_record(
                writer.create_warc_record(
                    f"http://h.example{where}", "response", io.BytesIO(body), http_headers=head
                )
            )

        for where, (text, links) in PAGES.items():
            add(where, "200 OK", [("Content-Type", "text/html; charset=utf-8")], html(text, links))
        add("/old", "301 Moved", [("Location", "/new")], b"")
        add("/gone", "404 Not Found", [("Content-Type", "text/html")], b"gone")
        add("/picture", "200 OK", [("Content-Type", "image/png")], b"png")
    return path


@pytest.fixture
def archive(warc):
    return Archive([warc], Parser(Tokenizer()))


def at(where):
    return f"http://h.example{where}"


TOPIC = Topic("t", (at("/"),), (ON, "a crawler that follows topical links"), threshold=0.2)
LABELS = {at(where): Label(text == ON, where != "/b1") for where, (text, _) in PAGES.items()}


def test_the_archive_follows_redirects_and_tells_failures_from_what_it_never_saw(archive):
    assert len(archive) == 7
    assert archive.get(at("/old")).url == at("/new")
    assert archive.get(at("/old")) is archive.get(at("/new"))
    assert archive.get(at("/gone")) is None
    assert archive.get(at("/picture")) is None
    with pytest.raises(Outside):
        archive.get(at("/missing"))
    assert [link.url for link in archive.get(at("/")).links] == [at("/a"), at("/b"), at("/old")]


def test_compare_by_hand(archive):
    (outcome,) = compare(TOPIC, archive, [Entry("breadth_first")], 4, labels=LABELS, checkpoints=2)
    assert [step.url for step in outcome.trail.steps] == [at("/"), at("/a"), at("/b"), at("/new")]
    assert (outcome.fetched, outcome.relevant) == (4, 2)
    assert outcome.recall == pytest.approx(2 / 3)  # b1 is a sample: it is fetched but not scored
    assert outcome.harvest_rate == 0.5
    assert list(outcome.curve) == [(2, 0), (4, 2)]
    assert outcome.tunnel_lengths == {1: 2}
    assert outcome.similarity_curve[-1] == pytest.approx(outcome.mean_similarity)
    (growing,) = compare(
        TOPIC, archive, [Entry("breadth_first")], 4, labels=LABELS, checkpoints=2, growing=True
    )
    assert growing.similarity_curve[-1] == pytest.approx(
        outcome.mean_similarity
    )  # the last points of both curves use the same pages
    assert growing.similarity_curve[0] != outcome.similarity_curve[0]
    row = json.loads(json.dumps(outcome.as_json()))
    assert row["tunnel_lengths"] == {"1": 2}
    assert {
        "strategy",
        "fetched",
        "relevant",
        "harvest_rate",
        "recall",
        "mean_similarity",
        "important_found",
        "curve",
        "seconds",
    } <= set(row)


def test_a_trail_by_hand(archive):
    labels = {
        f"http://h.example/{name}": Label(True, scored)
        for name, scored in (("b", False), ("b1", True), ("a1", True))
    }
    labels["http://h.example/"] = labels["http://h.example/a"] = labels["http://h.example/b2"] = (
        Label(False, True)
    )
    about = Topic("t", ("http://h.example/",), (ON,))
    rows = list(
        trail_rows(compare(about, archive, [Entry("breadth_first")], 6, labels=labels), labels)
    )
    short = [
        (row[1], row[2].rpartition("/")[2], row[3].rpartition("/")[2], *row[7:]) for row in rows
    ]
    assert short == [
        (1, "", "", 0, 0, 0, 0),
        (2, "a", "", 0, 0, 1, 0),
        (3, "b", "", 1, 0, 1, 0),
        (4, "new", "", "", 0, 1, 0),
        (5, "a1", "a", 1, 1, 2, 1),
        (6, "b1", "b", 1, 1, 0, 2),
    ]
    assert all(0 <= row[5] <= 1 and row[0] == "breadth_first" for row in rows) and len(
        rows[0]
    ) == len(TRAIL)


def test_redirects_and_repeated_pages_cost_nothing(archive):
    (outcome,) = compare(TOPIC, archive, [Entry("breadth_first")], 100, labels=LABELS)
    assert outcome.fetched == 7
    assert outcome.trail.stopped_by == "frontier"
    assert outcome.recall == 1.0


def test_every_strategy_is_repeatable_and_judged_on_the_same_ground(archive):
    entries = [Entry(name) for name in BUILT_IN]
    first = compare(TOPIC, archive, entries, 5, labels=LABELS)
    second = compare(TOPIC, archive, entries, 5, labels=LABELS)
    for a, b in zip(first, second, strict=True):
        assert [step.url for step in a.trail.steps] == [step.url for step in b.trail.steps]
        assert a.mean_similarity == b.mean_similarity
        assert a.fetched <= 5


def test_without_labels_similarity_judges_and_recall_is_not_known(archive):
    (outcome,) = compare(TOPIC, archive, [Entry("best_first")], 7)
    assert outcome.recall is None
    assert outcome.relevant == 4


def test_a_topic_of_seeds_only_takes_their_pages_for_samples(archive):
    bare = Topic("t", (at("/b"), at("/a1")))
    (outcome,) = compare(bare, archive, [Entry("best_first")], 7)
    assert outcome.relevant == 5, "of so few pages, those with some similarity"


@pytest.mark.parametrize("labels", [None, LABELS])
def test_the_judge_shows_at_every_page_that_it_is_at_work(archive, labels):
    trail = run_entry(TOPIC, archive, Entry("breadth_first"), 10)
    done, pulses = [step.url for step in trail.steps], []
    judge(
        TOPIC,
        archive,
        [(Entry("breadth_first"), trail, 0.0)],
        labels=labels,
        pulse=lambda: pulses.append(1),
    )
    assert len(pulses) >= 4 * len(done) >= 20


def test_a_page_that_was_parsed_is_not_held_as_bytes_too(archive):
    first = archive.get(at("/b"))
    assert (
        archive.get(at("/b")) is first
        and at("/b") in archive
        and archive.urls().count(at("/b")) == 1
    )
    assert archive._bodies[at("/b")][0] == b"" and archive._bodies[at("/a")][0]


def test_labels_are_read_by_the_archives_urls(archive):
    lines = [
        "url,label,role,depth",
        f"{at('/old')},1,,3",
        f"{at('/a')},0,,",
        f"{at('/b1')},1,document,2",
    ]
    assert read_labels(lines, archive) == {
        at("/new"): Label(True, True),
        at("/a"): Label(False, False),
        at("/b1"): Label(True, False),
    }
    assert read_labels(["url,label", f"{at('/a')},1"], archive) == {at("/a"): Label(True, True)}
    for lines, problem in (
        (["page,label"], "columns url and label"),
        (["url,label", f"{at('/a')},x"], "line 2: label 'x'"),
    ):
        with pytest.raises(ValueError, match=problem):
            read_labels(lines, archive)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "seeds.txt").write_text(f"# seeds\n{at('/')}\nnonsense\n")
    (tmp_path / "samples").mkdir()
    (tmp_path / "samples" / "2.txt").write_text("second")
    (tmp_path / "samples" / "1.txt").write_bytes("主题爬虫采集网页内容".encode("gb18030"))
    (tmp_path / "samples" / "index.csv").write_text("file,url\n")
    (tmp_path / "samples" / "empty.txt").write_text(" \n")
    (tmp_path / "labels.csv").write_text(
        "url,label\n" + "".join(f"{url},{int(label.relevant)}\n" for url, label in LABELS.items())
    )
    return tmp_path


def test_topics_from_files(files):
    assert read_documents(files / "samples") == ["主题爬虫采集网页内容", "second"]
    topic, bad = topic_from_files("t", files / "seeds.txt", [files / "samples"], "a=0.5,b")
    assert (topic.seeds, topic.keywords, [line.text for line in bad]) == (
        (at("/"),),
        {"a": 0.5, "b": 1.0},
        ["nonsense"],
    )
    (files / "none.txt").write_text("# nothing\n")
    with pytest.raises(ValueError, match=r"none\.txt has no URL to start from"):
        topic_from_files("t", files / "none.txt")


def command(capsys, *words):
    call_command("topic", *words, "--json")
    captured = capsys.readouterr()
    return json.loads(captured.out), captured.err


def test_compare_on_the_command_line(capsys, files, warc):
    words = [
        "compare",
        "t",
        "--strategies",
        "breadth_first,best_first:off_topic=drop",
        "--pages",
        "5",
        "--archive",
        str(warc),
    ]
    topic = ["--seeds", str(files / "seeds.txt"), "--keywords", "crawler,topical"]
    data, err = command(
        capsys, *words, *topic, "--labels", str(files / "labels.csv"), "--checkpoints", "5"
    )
    assert data["pages_in_archive"] == 7
    assert [row["strategy"] for row in data["results"]] == [
        "breadth_first",
        "best_first:off_topic=drop",
    ]
    assert len(data["results"][0]["curve"]) == 5
    assert "line 3" in err


def test_several_draws_and_repeats_are_gathered_with_their_intervals(capsys, files, warc):
    everything = files / "all.csv"
    everything.write_text(
        "url,label\n" + "".join(f"http://h.example{where},1\n" for where in PAGES)
    )
    words = [
        "compare",
        "t",
        "--strategies",
        "breadth_first,depth_first",
        "--pages",
        "4",
        "--archive",
        str(warc),
    ]
    words += [
        "--seeds",
        str(files / "seeds.txt"),
        "--keywords",
        "crawler,topical",
        "--labels",
        str(everything),
    ]
    data, _ = command(capsys, *words, "--draws", "2", "--repeats", "3")
    assert [(row["strategy"], row["draws"], len(row["areas"])) for row in data["results"]] == [
        ("breadth_first", 6, 6),
        ("depth_first", 6, 6),
    ]
    recalls = [row["recall"] for row in data["results"]]
    assert all(0 < recall <= 1 for recall in recalls)
    assert {data["verdict"]["best"], data["verdict"]["second"]} == {
        "breadth_first",
        "depth_first",
    } and data["verdict"]["draws"] == 6
    low, high = data["results"][0]["area_interval"]
    assert low <= data["results"][0]["area"] <= high
    assert (
        command(capsys, *words, "--draws", "2", "--repeats", "3")[0]["results"][0]["areas"]
        == data["results"][0]["areas"]
    )


def test_pages_given_as_samples_are_left_out_of_the_score(archive):
    labels = {url: Label(True, True) for url in archive.urls()}
    (plain, nothing), (drawn, given) = sample_draws(TOPIC, archive, labels, 1)
    assert (plain, nothing) == (TOPIC, frozenset()) and len(given) == len(drawn.documents) == 4
    left = without(labels, given)
    assert {url for url, label in left.items() if label.scored} == set(archive.urls()) - given
    with pytest.raises(ValueError, match="too few"):
        sample_draws(TOPIC, archive, left, 1)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (["--draws", "2"], "need labels"),
        (["--repeats", "0"], "lie between 1 and 20"),
        (["--repeats", "2", "--trail", "trail.csv"], "leave --draws and --repeats out"),
        (["--strategies", "deepest"], "no strategy deepest"),
        (["--strategies", "shark:gamma=7"], "gamma lies between 0 and 1"),
        (["--archive", "missing.warc.gz"], "missing.warc.gz"),
        (["--keywords", "a=9"], "not in"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(files, warc, change, problem):
    words = [
        "compare",
        "t",
        "--strategies",
        "shark",
        "--pages",
        "5",
        "--archive",
        str(warc),
        "--seeds",
        str(files / "seeds.txt"),
    ]
    with pytest.raises(CommandError, match=problem) as error:
        call_command("topic", *words, *change)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["plain", "wacz", "damaged"])
def test_compare_over_other_archive_files_and_damaged_ones(capsys, files, warc, tmp_path, kind):
    path, data = tmp_path / "other", warc.read_bytes()
    if kind == "plain":
        path.write_bytes(gzip.decompress(data))
    elif kind == "wacz":
        with zipfile.ZipFile(path, "w") as wacz:
            wacz.writestr("archive/data.warc.gz", data)
    else:
        path.write_bytes(data[:-20])  # the last record is a picture
    words = ["compare", "t", "--strategies", "breadth_first", "--pages", "5", "--json"]
    words += ["--archive", str(path), "--seeds", str(files / "seeds.txt")]
    status = 0
    try:
        call_command("topic", *words)
    except CommandError as error:
        status = error.returncode
    told = json.loads(capsys.readouterr().out)
    assert told["pages_in_archive"] == len(PAGES) and told["complete"] is (kind != "damaged")
    assert status == (3 if told["missing"] else 0)
    assert bool(told["missing"]) is (kind == "damaged")


def test_strategies_are_listed_with_every_parameter(capsys):
    data, _ = command(capsys, "strategies")
    rows = {row["strategy"]: row for row in data["strategies"]}
    assert set(BUILT_IN) <= set(rows)
    shark = {p["name"]: p for p in rows["shark"]["parameters"]}
    assert (shark["gamma"]["default"], shark["gamma"]["range"], shark["gamma"]["kind"]) == (
        0.5,
        [0, 1],
        "float",
    )
    assert all(p["help"] for row in rows.values() for p in row["parameters"])


def test_a_strategy_of_the_settings_takes_part(capsys, settings):
    settings.TOPIC_STRATEGIES = {"mine": "focused.strategies.shark.Shark"}
    data, _ = command(capsys, "strategies")
    assert data["strategies"][-1]["strategy"] == "mine"


@needs_shared
def test_the_bench_on_recorded_sites():
    options = {
        "data": str(SHARED),
        "strategies": "breadth_first,shark",
        "topics": "math",
        "draws": 1,
    }
    result = bench.run(
        {**options, "other_documents": 0, "keywords": False, "context": "plain", "main_text": False}
    )
    found = {(row["topic"], row["strategy"]): row["found"]["25"] for row in result["rows"]}
    assert found["math", "shark"] >= 0.95 * 45
    assert found["math", "breadth_first"] <= 3
    assert "math (tunnel)" in bench.table(result)
