"""Tests of making packs (recorded webs with topics) from WARC files, with topics taken from
sections, folders or a list; other commands can read the packs, and bad input gives a one-line
message."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from crawlmgr.frontier import hosts
from crawlmgr.text.tokens import Tokenizer
from focused.lab import topic_packs
from focused.lab.evaluate import targets
from focused.run.parse import Parser
from tests.focused.test_commands import WEB, run
from tests.site.server import LocalSite, Reply
from tests.training import packs
from tests.training.prior import OTHER_SAMPLES

BASE = "http://book.example"
WORDS = {
    "bees": "honey hive swarm queen",
    "ships": "anchor sail mast harbour",
    "soup": "carrot onion broth spoon",
}


def pages(*, up: bool = True, folder: bool = True) -> dict[str, bytes]:
    """Returns the HTML pages of a book of three chapters by path: a chain of contents pages, then
    30 pages per chapter. With `up`, pages name their parent page (rel="up"); with `folder`, each
    chapter has its own folder.
    """
    draw = random.Random(5)
    links: dict[str, list[str]] = {
        "/index.html": ["/a.html"],
        "/a.html": ["/b.html"],
        "/b.html": ["/c.html"],
    }
    links["/c.html"] = [f"{_place(name, 0, folder)}" for name in WORDS]
    above: dict[str, str] = {}
    texts = dict.fromkeys(links, "contents preface")
    for name, words in WORDS.items():
        for n in range(30):
            own = _place(name, n, folder)
            links[own] = [
                _place(name, min(29, 2 * n + 1), folder),
                _place(name, min(29, 2 * n + 2), folder),
                "/index.html",
            ]
            if n % 10 == 9:
                links[own].append(_place(draw.choice(list(WORDS)), draw.randrange(30), folder))
            texts[own] = " ".join(draw.choices(words.split(), k=25))
            above[own] = _place(name, 0, folder) if n else "/index.html"
    found = {}
    for where, to in links.items():
        anchors = "".join(f'<a href="{one}">{one[-6:]}</a>' for one in to)
        head = f'<LINK href="{above[where]}" rel="up">' if up and where in above else ""
        found[where] = (
            f"<html><head>{head}<title>{where}</title></head><body><p>{texts[where]}</p>{anchors}"
            f"</body></html>"
        ).encode()
    return found


def book(path: Path, *, up: bool = True, folder: bool = True) -> Path:
    """Writes the pages of the book (see `pages`) to a WARC file; returns its path."""
    with path.open("wb") as stream:
        writer = WARCWriter(stream, gzip=True)
        for where, body in pages(up=up, folder=folder).items():
            http = StatusAndHeaders(
                "200 OK", [("Content-Type", "text/html; charset=utf-8")], protocol="HTTP/1.1"
            )
            writer.write_record(
                writer.create_warc_record(
                    BASE + where, "response", io.BytesIO(body), http_headers=http
                )
            )
    return path


def _place(name: str, n: int, folder: bool) -> str:
    return f"/{name}/p{n}.html" if folder else f"/{name}-{n}.html"


def parser() -> Parser:
    return Parser(Tokenizer())


@pytest.mark.parametrize(
    ("up", "folder", "kind"),
    [(True, False, "auto"), (True, True, "sections"), (False, True, "auto")],
)
def test_topics_come_from_the_structure_that_the_pages_have(
    tmp_path: Path, up: bool, folder: bool, kind: str
) -> None:
    warc = book(tmp_path / "w.warc.gz", up=up, folder=folder)
    web = topic_packs.Web([warc], parser())
    groups = topic_packs.chosen(topic_packs.structure(web, kind), 200, 8)
    assert sorted(map(len, groups.values())) == [30, 30, 30]
    for group in groups.values():
        assert (
            len(
                {
                    url.removeprefix(BASE).strip("/").partition("/" if folder else "-")[0]
                    for url in group
                }
            )
            == 1
        )


def test_what_reads_packs_reads_it(tmp_path: Path) -> None:
    warc = book(tmp_path / "w.warc.gz")
    made = topic_packs.make(tmp_path / "pack", [warc], parser(), groups=_chapters)
    assert [one.mode for one in made] == ["mixed", "tunnel", "mixed"]
    assert packs.folders(tmp_path) == [tmp_path / "pack"]
    archive = packs.open_archive(tmp_path / "pack", parser())
    for one, read in zip(
        made, packs.topics(tmp_path / "pack", archive, keywords=True), strict=True
    ):
        assert read.name == one.name and read.topic.seeds == tuple(one.seeds)
        assert (
            targets(read.labels) == set(one.targets)
            and len(read.topic.documents) == topic_packs.SAMPLES
        )
        assert not set(one.samples) & set(one.targets) and not set(one.seeds) & set(one.targets)
        assert set(read.topic.keywords) <= set(WORDS[one.name].split()) | {
            "contents",
            "preface",
        } | set(_addresses(web_of(warc)))
        assert read.budget("50") == len(one.depths) // 2
        off = [seed for seed in one.seeds if seed not in one.pages]
        assert all(
            one.distances.get(seed, topic_packs.FAR) >= topic_packs.FAR for seed in off
        ) and len(off) == (3 if one.mode == "tunnel" else 1)
        stored = json.loads(
            (tmp_path / "pack" / "topics" / one.name / "topic.json").read_text(encoding="utf-8")
        )
        assert sum(stored["targets_by_depth"].values()) == stored["targets"] == len(one.targets)


def _chapters(web: topic_packs.Web) -> topic_packs.Groups:
    return {name: frozenset(url for url in web.pages if f"/{name}/" in url) for name in WORDS}


def web_of(warc: Path) -> topic_packs.Web:
    return topic_packs.Web([warc], parser())


def _addresses(web: topic_packs.Web) -> list[str]:
    """Returns the words of the pages' titles. In these generated pages, the title is the page's
    address."""
    return [
        word
        for page in web.pages.values()
        for word in page.words
        if word not in " ".join(WORDS.values())
    ]


def test_the_same_files_and_seed_give_the_same_pack(tmp_path: Path) -> None:
    warc = book(tmp_path / "w.warc.gz")
    for name in ("one", "two"):
        topic_packs.make(tmp_path / name / "pack", [warc], parser(), groups=_chapters)
    topic_packs.make(tmp_path / "three" / "pack", [warc], parser(), groups=_chapters, seed=18)
    one, two, three = (_contents(tmp_path / name) for name in ("one", "two", "three"))
    assert one == two != three and one.keys() == three.keys()
    assert not list(tmp_path.rglob("*.part"))


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_distances_by_hand() -> None:
    links = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": ["a"], "e": ["a"]}
    assert topic_packs.distances(["a"], links) == {"a": 0, "b": 1, "c": 1, "d": 2}
    assert topic_packs.distances(["c", "b"], links) == {"c": 0, "b": 0, "d": 1, "a": 2}


def test_sections_in_a_circle_end_and_hold_what_is_below() -> None:
    found = topic_packs.sections({"a": "top", "b": "a", "c": "d", "d": "c"})
    assert (
        found["top"] == {"top", "a", "b"} and found["a"] == {"a", "b"} and found["c"] == {"c", "d"}
    )


@pytest.mark.django_db(transaction=True)
def test_a_run_becomes_a_pack_that_a_prior_is_trained_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    hosts.forget()
    (tmp_path / "words.txt").write_text("honey hive swarm\n", encoding="utf-8")
    with LocalSite() as site:
        for where, body in pages().items():
            site.add(where, Reply(body))
        (tmp_path / "seeds.txt").write_text(site.url("/index.html"), encoding="utf-8")
        run(
            capsys,
            "add",
            "book",
            "--seeds",
            str(tmp_path / "seeds.txt"),
            "--documents",
            str(tmp_path / "words.txt"),
        )
        crawled = run(
            capsys, "crawl", "book", "--strategy", "breadth_first", "--pages", "100", *WEB
        )
        by_hand = tmp_path / "topics.csv"
        with by_hand.open("w", encoding="utf-8", newline="") as file:
            bees = [site.url(_place("bees", n, True)) for n in range(30)]
            csv.writer(file).writerows(
                [("topic", "url"), *(("bees", url) for url in [*bees, site.url("/elsewhere.html")])]
            )
    assert crawled["fetched"] == 94
    folder = tmp_path / "packs" / "local"
    made = run(capsys, "pack", str(folder), "--run", str(crawled["run"]), "--topics", str(by_hand))
    assert [(one["topic"], one["relevant"], one["reachable"]) for one in made["topics"]] == [
        ("bees", 30, 94)
    ]
    for name in ("one.json", "two.json"):
        trained = run(
            capsys, "train-prior", "--data", str(folder.parent), "--out", str(tmp_path / name)
        )
        assert trained["webs"] == ["local"] and trained["lessons"] == 1 + OTHER_SAMPLES
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    run(
        capsys,
        "train-prior",
        "--data",
        str(folder.parent),
        "--seed",
        "2",
        "--out",
        str(tmp_path / "three.json"),
    )
    one, three = (
        json.loads((tmp_path / name).read_text(encoding="utf-8"))
        for name in ("one.json", "three.json")
    )
    assert one["weights"] != three["weights"] and one["features"] == three["features"]
    both = run(
        capsys,
        "train-prior",
        "--data",
        str(folder.parent),
        "--trainings",
        "2",
        "--out",
        str(tmp_path / "both.json"),
    )
    assert both["lessons"] == 2 * (1 + OTHER_SAMPLES)
    middle = [
        (a / s + b / t) / 2 * u
        for a, s, b, t, u in zip(
            one["weights"],
            one["spread"],
            three["weights"],
            three["spread"],
            both["spread"],
            strict=True,
        )
    ]
    assert both["weights"] == pytest.approx(middle, abs=1e-4)
    call_command(
        "bench",
        "strategies",
        "--data",
        str(folder.parent),
        "--strategies",
        "best_first,adaptive",
        "--json",
    )
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["strategy"] for row in rows] == ["best_first", "adaptive"] and all(
        row["targets"] for row in rows
    )
    call_command(
        "bench",
        "choosing",
        "--data",
        str(folder.parent),
        "--strategies",
        "adaptive",
        "--repeats",
        "1",
        "--json",
    )
    costs = json.loads(capsys.readouterr().out)
    assert costs["topics"] == 1 and [row["strategy"] for row in costs["rows"]] == [
        "best_first",
        "adaptive",
    ]
    assert costs["rows"][0]["whole_ratio"] == costs["rows"][0]["alone_ratio"] == 1.0
    with pytest.raises(CommandError, match="no prior to average"):
        run(
            capsys,
            "train-prior",
            "--data",
            str(folder.parent),
            "--trainings",
            "0",
            "--out",
            str(tmp_path / "none.json"),
        )
    with pytest.raises(CommandError, match="every pack is left out"):
        run(capsys, "train-prior", "--data", str(folder.parent), "--without", "local")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("words", "says", "status"),
    [
        (("--archive", "none.warc.gz"), "No such file", 1),
        (("--run", "77"), "there is no run 77", 1),
        (("--archive", "w.warc.gz", "--most", "0"), "--most is 1 or more", 2),
        (("--archive", "w.warc.gz", "--topics", "bad.csv"), "columns topic and url", 1),
        (
            ("--archive", "w.warc.gz", "--topics", "few.csv"),
            "no topic: no group of at least 15 pages",
            1,
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    says: str,
    status: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    book(tmp_path / "w.warc.gz")
    (tmp_path / "bad.csv").write_text("name,address\n", encoding="utf-8")
    (tmp_path / "few.csv").write_text(f"topic,url\nbees,{BASE}/bees/p1.html\n", encoding="utf-8")
    with pytest.raises(CommandError) as refused:
        run(capsys, "pack", "made", *words)
    assert (
        says in str(refused.value)
        and "\n" not in str(refused.value)
        and refused.value.returncode == status
    )
    assert not (tmp_path / "made").exists() and not (tmp_path / "made.part").exists()


@pytest.mark.django_db
def test_a_folder_that_is_there_is_left_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    book(tmp_path / "w.warc.gz")
    (tmp_path / "made").mkdir()
    with pytest.raises(CommandError, match="is there already"):
        run(capsys, "pack", str(tmp_path / "made"), "--archive", str(tmp_path / "w.warc.gz"))
    assert list((tmp_path / "made").iterdir()) == []
