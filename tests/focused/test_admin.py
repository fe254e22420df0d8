"""Topics in the web interface: from pasted Chinese samples to the export of a run; editing,
permissions, comparisons, and the status of an address."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from crawlmgr import engine, jobs
from crawlmgr.frontier import hosts
from crawlmgr.models import Run, RunState
from focused.lab.stored_comparisons import SWEEPS
from focused.models import Comparison, Topic, TopicPage, TopicRun
from focused.run import archived_pages, sessions
from focused.strategies.base import BUILT_IN
from focused.topic import topics
from focused.topic import topics as topic_dispatch
from tests.crawlmgr.admin.rows import EVIL, tight, user
from tests.focused.topical import DOCUMENTS, OFF, TopicalWeb
from tests.site.server import LocalSite

pytestmark = pytest.mark.django_db(transaction=True)
OPEN = {"allow_private": "127.0.0.1", "delay_seconds": 0.0}


@pytest.fixture(autouse=True)
def nothing_is_known() -> None:
    hosts.forget()
    sessions._live.clear()
    archived_pages._parsed.clear()


@pytest.fixture
def client() -> Client:
    made = Client()
    made.force_login(user("operator"))
    return made


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def web() -> Iterator[TopicalWeb]:
    with TopicalWeb() as served:
        yield served


@pytest.fixture
def crawled(web: TopicalWeb) -> Run:
    topic = topics.add(
        "crawlers",
        [web.url(0), web.url(1)],
        documents=DOCUMENTS,
        now=now(),
        settings=OPEN,
        threshold=0.1,
    )
    run = topics.crawl(topic, options={"pages": 25}, now=now(), start=False)
    engine.run_slice(run.pk)
    return run


ZH = {
    "/": (
        "<title>首页</title><p>主题爬虫与网页抓取。</p><a href='/a'>主题爬虫的链接</a> <a"
        " href='/b'>做菜</a> <a href='/c'>主題爬蟲</a>"
    ),
    "/a": "<title>爬虫</title><p>主题爬虫按照网页的相关度抓取链接，计算锚文本。</p>",
    "/b": "<title>做菜</title><p>西红柿鸡蛋汤的做法，先放油。</p>",
    "/c": "<title>爬蟲</title><p>主題爬蟲按照網頁的相關度抓取鏈接，計算錨文本。</p>",
}


def test_a_chinese_topic_from_the_desk_alone_start_to_export(client: Client) -> None:
    client.force_login(user("administrator"))  # needed to allow a private address
    with LocalSite() as site:
        for path, html in ZH.items():
            site.add(path, html)
        text = (
            "主题爬虫抓取网页，计算链接和锚文本的相关度。\n---\n网页的链接由主题爬虫按相关度抓取。"
        )
        form = {
            "name": "爬虫",
            "seeds": f"{site.url('/')}\n不是地址\n",
            "texts": text,
            "delay_seconds": "0",
            "private": "on",
        }
        answer = client.post("/admin/topics/add/", form, follow=True)
        topic = Topic.objects.get()
        page = answer.content.decode()
        assert "2: 不是地址" in page and topic.documents.count() == 2 and topic.keywords
        crawl = client.post(
            f"/admin/topics/{topic.pk}/crawl/",
            {"strategy": "shark", "o_pages": "20", "keep": "on", "p_gamma": "0.4"},
        )
        run = Run.objects.get(kind="topic")
        assert crawl.headers["Location"] == f"/admin/topics/run/{run.pk}/"
        assert run.parameters["parameters"]["gamma"] == 0.4
        assert engine.run_slice(run.pk) == RunState.FINISHED
    scores = dict(TopicPage.objects.filter(run=run).values_list("title", "similarity"))
    assert scores["爬虫"] == scores["爬蟲"] > scores["做菜"], (
        "traditional pages score like simplified ones"
    )
    shown = client.get(f"/admin/topics/run/{run.pk}/").content.decode()
    assert "mark ten pages" in shown and "chart-harvest" not in shown
    hits = client.get(f"/admin/topics/run/{run.pk}/pages/?q=锚文本").content.decode()
    assert "爬虫</a>" in hits and "爬蟲</a>" in hits and "做菜</a>" not in hits
    export = b"".join(
        client.get(f"/admin/export/pages.jsonl?run={run.pk}").streaming_content
    ).decode()
    rows = [json.loads(line) for line in export.splitlines()]
    assert {row["title"] for row in rows} == {"首页", "爬虫", "做菜", "爬蟲"}
    assert all(row["relevance"] is not None and row["depth"] is not None for row in rows)
    links = b"".join(
        client.get(f"/admin/export/links.jsonl?run={run.pk}").streaming_content
    ).decode()
    assert {"from_url", "to_url", "anchor", "relevance", "depth"} <= set(
        json.loads(links.splitlines()[0])
    )


def test_every_page_shows_itself_and_keeps_scripts_out(client: Client, crawled: Run) -> None:
    topic = Topic.objects.get()
    Topic.objects.update(name=EVIL, negative=[EVIL])
    TopicPage.objects.filter(run=crawled).update(title=EVIL)
    made = comparison(client, topic)
    page = TopicPage.objects.filter(run=crawled, depth__gt=0, kind=0).first()
    addresses = [
        "topics/",
        "topics/add/",
        f"topics/{topic.pk}/",
        f"topics/{topic.pk}/words/",
        f"topics/{topic.pk}/try/",
        f"topics/{topic.pk}/crawl/",
        f"topics/{topic.pk}/crawl/?strategy=ant_colony",
        f"topics/{topic.pk}/search/?q=crawler",
        f"topics/{topic.pk}/compare/",
        f"topics/run/{crawled.pk}/",
        f"topics/run/{crawled.pk}/?part=live",
        f"topics/run/{crawled.pk}/pages/",
        f"topics/run/{crawled.pk}/pages/?sort=relevance&show=relevant",
        f"topics/run/{crawled.pk}/pages/?q=crawler",
        f"topics/page/{page.pk}/",
        f"topics/comparison/{made.pk}/",
        f"topics/comparison/{made.pk}/points.csv",
        "",
        f"runs/{crawled.pk}/",
    ]
    for address in addresses:
        answer = client.get(f"/admin/{address}")
        assert answer.status_code == 200, address
        if "text/html" in answer.headers["Content-Type"]:
            assert EVIL not in answer.content.decode(), address


def comparison(client: Client, topic: Topic) -> Comparison:
    client.post(
        f"/admin/topics/{topic.pk}/compare/",
        {"archive": "0", "pages": "15", "strategy": ["breadth_first", "best_first"]},
    )
    found = Comparison.objects.get()
    assert found.run is not None
    assert jobs.run_slice(found.run.pk) == RunState.FINISHED
    found.refresh_from_db()
    return found


def test_a_comparison_at_work_shows_what_is_done_and_the_curves_so_far(
    client: Client, crawled: Run
) -> None:
    found = comparison(client, Topic.objects.get())
    address = f"/admin/topics/comparison/{found.pk}/"
    assert (
        "chart-found" in client.get(address).content.decode()
        and "Repetitions done" not in client.get(address).content.decode()
    )
    Comparison.objects.filter(pk=found.pk).update(result={})
    found.parts.exclude(pk=found.parts.order_by("pk").first().pk).delete()
    html = client.get(address).content.decode()
    assert "Repetitions done" in html and "Pages on topic so far" in html
    found.parts.all().delete()
    html = client.get(address).content.decode()
    assert "Repetitions done" in html and "Pages on topic so far" not in html


def test_the_search_of_a_topic_begins_with_its_newest_pages_or_says_how_to_begin(
    client: Client, crawled: Run
) -> None:
    topic = Topic.objects.get()
    assert "Newest pages" in client.get(f"/admin/topics/{topic.pk}/search/").content.decode()
    new = Topic.objects.create(name="new", added=datetime(2026, 5, 1, tzinfo=UTC))
    html = client.get(f"/admin/topics/{new.pk}/search/").content.decode()
    assert "No page has been fetched yet." in html and f"/admin/topics/{new.pk}/crawl/" in html


def test_a_comparison_runs_in_the_background_and_exports_every_point(
    client: Client, crawled: Run
) -> None:
    found = comparison(client, Topic.objects.get())
    results = {one["strategy"]: one for one in found.result["results"]}
    assert (
        results["best_first"]["fetched"] == 15
        and results["best_first"]["relevant"] >= results["breadth_first"]["relevant"]
    )
    text = client.get(f"/admin/topics/comparison/{found.pk}/points.csv").content.decode()
    assert len(text.splitlines()) == 1 + sum(len(trail["steps"]) for trail in found.trails.values())
    assert set(found.trails) == {"breadth_first#1", "best_first#1"}
    html = client.get(f"/admin/topics/comparison/{found.pk}/").content.decode()
    assert "A single repetition does not show whether this is due to chance" in html
    refused = client.post(
        f"/admin/topics/{found.topic_id}/compare/", {"archive": "7", "pages": "0"}, follow=True
    )
    assert refused.status_code == 200 and Comparison.objects.count() == 1


def test_labels_and_marks_give_precision_and_recall_and_draws_of_samples(
    client: Client, crawled: Run, web: TopicalWeb
) -> None:
    topic = Topic.objects.get()
    form = {
        "archive": "0",
        "pages": "12",
        "draws": "2",
        "strategy": ["breadth_first", "best_first"],
        "judge": "marks",
    }
    address = f"/admin/topics/{topic.pk}/compare/"
    assert (
        "No page of the topic is marked yet." in client.post(address, form).content.decode()
        and not Comparison.objects.exists()
    )
    lines = [
        "url,label",
        *(
            f"{page.final_url or page.url},{int(page.relevant)}"
            for page in TopicPage.objects.filter(run=crawled, kind=0)
        ),
    ]
    sheet = SimpleUploadedFile("labels.csv", "\n".join(lines).encode())
    client.post(
        address,
        {
            **form,
            "judge": "file",
            "labels": sheet,
            "samples": "2",
            "growing": "on",
            "preset": ["best_first published"],
        },
    )
    found = Comparison.objects.get()
    assert (found.setup["draws"], found.setup["samples"], found.setup["growing"]) == (4, 2, True)
    assert found.setup["strategies"]["best_first published"] == {"anchor": 0.0, "off_topic": "drop"}
    assert found.run is not None and jobs.run_slice(found.run.pk) == RunState.FINISHED
    found.refresh_from_db()
    assert found.problem == "" and len(found.trails) == 12
    for row in found.result["results"]:
        assert row["draws"] == 4 and 0 < row["recall"] <= 1 and 0 < row["precision"] <= 1
    steps = {key: trail["steps"] for key, trail in found.trails.items()}
    assert steps["best_first#1"] != steps["best_first#3"], "the third draw has other samples"
    shown = client.get(f"/admin/topics/comparison/{found.pk}/").content.decode()
    assert "Crawl recall" in shown and "Best first · As published" in shown
    told = client.get(f"/admin/topics/comparison/{found.pk}/points.csv", {"as": "json"}).json()
    assert (
        len(told["points"]) == sum(map(len, steps.values()))
        and told["results"] == found.result["results"]
    )
    for wrong in ("url,label\nhttp://a.example/,2", "address\nx", "url,label\nhttp://a.example/,0"):
        sheet = SimpleUploadedFile("labels.csv", wrong.encode())
        assert client.post(address, {**form, "judge": "file", "labels": sheet}).status_code in (
            200,
            302,
        )
    assert Comparison.objects.count() == 1
    client.post(
        f"/admin/topics/page/{TopicPage.objects.filter(run=crawled, relevant=True).first().pk}/"
        f"mark/",
        {"mark": "on"},
    )
    client.post(address, {**form, "strategy": ["best_first"]})
    assert Comparison.objects.first().setup["labels"].splitlines()[1].endswith(",1")


def test_the_others_over_a_runs_pages_in_one_click_and_draws_that_a_kill_does_not_change(
    client: Client, crawled: Run
) -> None:
    asked = tight(client.get(f"/admin/topics/{crawled.target}/compare/"))
    assert 'name="pages" min="1" max="20000" value="20"' in asked
    client.post(f"/admin/topics/run/{crawled.pk}/others/")
    found = Comparison.objects.get()
    assert found.run is not None
    assert (len(found.setup["strategies"]), found.setup["draws"], found.setup["pages"]) == (
        len(BUILT_IN),
        3,
        20,
    )
    assert jobs.run_slice(found.run.pk) == RunState.FINISHED
    found.refresh_from_db()
    whole, trails = found.result, found.trails
    assert len(trails) == 3 * len(BUILT_IN) and all(
        row["draws"] == len(row["areas"]) == 3 for row in whole["results"]
    )
    assert "95 % interval" in client.get(f"/admin/topics/comparison/{found.pk}/").content.decode()
    keys = [part.pk for part in found.parts.order_by("id")]
    found.parts.filter(
        pk__in=keys[len(keys) // 2 :]
    ).delete()  # as if killed half way: completed rows are kept
    Comparison.objects.update(result={})
    Run.objects.filter(pk=found.run.pk).update(state=RunState.QUEUED, finished=None)
    assert jobs.run_slice(found.run.pk) == RunState.FINISHED
    found.refresh_from_db()
    assert {key: trail["steps"] for key, trail in found.trails.items()} == {
        key: trail["steps"] for key, trail in trails.items()
    }
    without = [
        {name: value for name, value in row.items() if name != "seconds"}
        for row in found.result["results"]
    ]
    assert without == [
        {name: value for name, value in row.items() if name != "seconds"}
        for row in whole["results"]
    ]


def test_other_workers_help_from_the_other_end_and_end_with_the_comparison(
    client: Client, crawled: Run
) -> None:
    client.post(
        f"/admin/topics/{crawled.target}/compare/",
        {"archive": "0", "pages": "12", "draws": "3", "strategy": ["breadth_first", "shark"]},
    )
    found = Comparison.objects.get()
    first, second, *_others = Run.objects.filter(
        parameters__comparison=found.pk, parameters__helper__isnull=False
    ).order_by("pk")
    assert found.run is not None and first.parameters["helper"] == 1
    assert jobs.run_slice(first.pk) == RunState.FINISHED
    helped = [part.key for part in found.parts.order_by("id")]
    assert helped == [
        "shark#3",
        "breadth_first#3",
        "shark#2",
        "breadth_first#2",
        "shark#1",
    ], "all but what the comparison's own run begins with"
    assert jobs.run_slice(found.run.pk) == RunState.FINISHED
    found.refresh_from_db()
    assert [row["draws"] for row in found.result["results"]] == [3, 3] and found.parts.count() == 6
    assert jobs.run_slice(second.pk) == RunState.FINISHED
    assert set(
        Run.objects.filter(pk__in=(first.pk, second.pk)).values_list("stopped_by", flat=True)
    ) == {"helped"}


def test_helpers_end_where_the_comparison_is_stopped(client: Client, crawled: Run) -> None:
    client.post(
        f"/admin/topics/{crawled.target}/compare/",
        {"archive": "0", "pages": "12", "draws": "3", "strategy": ["breadth_first"]},
    )
    found = Comparison.objects.get()
    helper = Run.objects.filter(parameters__comparison=found.pk, parameters__helper=1).get()
    Run.objects.filter(pk=found.run_id).update(state=RunState.STOPPED)
    assert jobs.run_slice(helper.pk) == RunState.FINISHED and not found.parts.exists()


def test_the_patents_weights_are_four_entries(client: Client, crawled: Run) -> None:
    client.post(
        f"/admin/topics/{crawled.target}/compare/",
        {"archive": "0", "pages": "12", "draws": "2", "strategy": ["dolphin *"]},
    )
    found = Comparison.objects.get()
    assert found.run is not None and jobs.run_slice(found.run.pk) == RunState.FINISHED
    found.refresh_from_db()
    rows = {row["strategy"]: row for row in found.result["results"]}
    assert set(rows) == {"dolphin similarity", "dolphin depth", "dolphin links", "dolphin mixed"}
    assert found.setup["strategies"]["dolphin depth"] == {"alpha": 0.0, "beta": 1.0, "gamma": 0.0}
    refused = client.post(
        f"/admin/topics/{crawled.target}/compare/",
        {"archive": "0", "pages": "9", "draws": "99", "strategy": "fish"},
    )
    assert "between 1 and 20" in refused.content.decode() and Comparison.objects.count() == 1


def test_a_sweep_is_drawn_as_a_heat_map_and_its_threshold_counts(
    client: Client, crawled: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = SWEEPS["tunnels"]._replace(xs=(1, 4), ys=(0.0, 3.0))
    monkeypatch.setitem(SWEEPS, "tunnels", small)
    client.post(
        f"/admin/topics/{crawled.target}/compare/",
        {"archive": "0", "pages": "12", "draws": "2", "sweep": "tunnels"},
    )
    found = Comparison.objects.get()
    assert found.setup["order"] == list(small.entries()) and found.setup["sweep"] == "tunnels"
    assert found.run is not None and jobs.run_slice(found.run.pk) == RunState.FINISHED
    on_topic = {key: sum(step[4] for step in trail["steps"]) for key, trail in found.trails.items()}
    assert (
        on_topic["dynamic_tunnel depth=4 tau=0#1"]
        == 12
        > on_topic["dynamic_tunnel depth=4 tau=3#1"]
    ), "tau decides what is on topic"
    html = client.get(f"/admin/topics/comparison/{found.pk}/").content.decode()
    assert html.count("--share:") == 4 and html.count('class="num best"') == 1
    refused = client.post(
        f"/admin/topics/{crawled.target}/compare/", {"archive": "0", "pages": "9", "sweep": "all"}
    )
    assert "no sweep all" in refused.content.decode() and Comparison.objects.count() == 1


def test_what_became_of_an_address(client: Client, crawled: Run, web: TopicalWeb) -> None:
    row = TopicRun.objects.get(pk=crawled.pk)
    seen = TopicPage.objects.filter(run=crawled, kind=0).first()

    def told(address: str) -> str:
        return client.get(f"/admin/topics/run/{row.pk}/pages/", {"url": address}).content.decode()

    assert f"/admin/topics/page/{seen.pk}/" in told(seen.url)
    assert "is still waiting, or" in told(web.site.url("/never"))
    assert "the same path segment" in told(web.site.url("/a/a/a/a/"))
    assert (
        client.get(f"/admin/topics/run/{row.pk}/pages/", {"url": "no address"}).status_code == 200
    )


def test_near_words_are_drawn_as_they_are_written(client: Client, web: TopicalWeb) -> None:
    topic = topics.add(
        "near", [web.url(0)], documents=DOCUMENTS, now=now(), settings=OPEN, threshold=0.1
    )
    run = topics.crawl(
        topic, strategy="breadth_first", options={"pages": 50}, now=now(), start=False
    )
    engine.run_slice(run.pk)
    client.post(f"/admin/topics/{topic.pk}/draw/", {"run": run.pk})
    topic.refresh_from_db()
    assert set(topic.near) & set(OFF) and not set(topic.near) & {"recip", "kettl", "polit"}


def test_words_are_edited_drawn_and_tried(client: Client, crawled: Run) -> None:
    topic = Topic.objects.get()
    form = {
        "keywords": "crawler=0.9\nharvest=0.2",
        "negative": "soup",
        "threshold": "0.25",
        "url_words": "page, sport",
        "near": "",
    }
    assert client.post(f"/admin/topics/{topic.pk}/words/", form).status_code == 302
    topic.refresh_from_db()
    assert (topic.keywords, topic.negative, topic.threshold) == (
        {"crawler": 0.9, "harvest": 0.2},
        ["soup"],
        0.25,
    )
    for wrong in ({"keywords": "crawler=3"}, {"threshold": "2"}, {"threshold": "x"}):
        assert client.post(f"/admin/topics/{topic.pk}/words/", {**form, **wrong}).status_code == 422
    client.post(f"/admin/topics/{topic.pk}/draw/")
    topic.refresh_from_db()
    assert topic.keywords["crawler"] == 0.9 and len(topic.keywords) > 2
    client.post(f"/admin/topics/{topic.pk}/draw/", {"run": crawled.pk})
    shown = client.post(
        f"/admin/topics/{topic.pk}/try/", {"text": "a topical crawler with a frontier"}
    ).content.decode()
    assert "On topic" in shown and "chart-why" in shown
    page = TopicPage.objects.filter(run=crawled, kind=0).first()
    shown = client.post(f"/admin/topics/{topic.pk}/try/", {"url": page.url}).content.decode()
    assert (
        page.title in shown
        and "the archive" in shown
        and "Your saved scope rules let this address in." in shown
    )
    topic.options = {"scope": {"without_paths": "*.html"}}
    topic.save(update_fields=["options"])
    for url in (
        page.url,
        "http://a.example/b/x/b/y/b/",
    ):  # first: `without_paths` excludes it; second: a trap
        shown = client.post(f"/admin/topics/{topic.pk}/try/", {"url": url}).content.decode()
        assert "The scope rules exclude it:" in shown and "let this address in" not in shown
    assert client.post(f"/admin/topics/{topic.pk}/try/", {"url": "http://"}).status_code == 200


def test_words_come_from_the_host_pages_of_a_run(client: Client) -> None:
    home = (
        "<p>Topical crawlers: frontier, harvest, archive and the politeness of crawlers. Libraries"
        " of anchors.</p>"
    )
    links = "".join(f'<a href="/{n}.html">crawler {n}</a>' for n in range(4))
    with LocalSite() as site:
        site.add("/", f"<title>Crawlers</title>{home}{links}")
        for n in range(4):
            site.add(
                f"/{n}.html",
                f'<title>{n}</title><p>crawler {n}, frontier, archive</p><a href="/">Start</a>',
            )
        topic = topics.add(
            "hosts", [site.url("/0.html")], documents=DOCUMENTS, now=now(), settings=OPEN
        )
        run = topics.crawl(topic, options={"pages": 10}, now=now(), start=False)
        engine.run_slice(run.pk)
    shown = client.post(
        f"/admin/topics/{topic.pk}/draw/", {"run": run.pk, "from": "hosts"}, follow=True
    ).content.decode()
    topic.refresh_from_db()
    assert (
        "from 1 host page." in shown
        and "libraries" in topic.keywords
        and "librari" not in topic.keywords
    )
    topics.crawl(topic, options={"pages": 1}, now=now(), start=False)
    other = Run.objects.filter(kind="topic").latest("pk")
    shown = client.post(
        f"/admin/topics/{topic.pk}/draw/", {"run": other.pk, "from": "hosts"}, follow=True
    ).content.decode()
    assert "no host page on topic" in shown


def test_a_page_tells_why_in_whole_words_and_named_parts(client: Client, crawled: Run) -> None:
    page = TopicPage.objects.filter(run=crawled, kind=0, relevant=True).last()
    shown = tight(client.get(f"/admin/topics/page/{page.pk}/"))
    assert (
        "score: all parts together" in shown
        and "best page with the link" in shown
        and ">parent_best<" not in shown
    )
    assert "politeness" in shown and '"polit"' not in shown
    shown = client.get(
        f"/admin/topics/page/{page.pk}/", headers={"accept-language": "zh-hans"}
    ).content.decode()
    assert "得分：各部分之和" in shown


def test_a_page_tells_when_it_is_due_again(client: Client, crawled: Run) -> None:
    page = TopicPage.objects.filter(run=crawled, kind=0).last()
    address, topic = f"/admin/topics/page/{page.pk}/", TopicRun.objects.get(run=crawled).topic
    assert "not scheduled" in client.get(address).content.decode()
    topic_dispatch.repeat(topic, 86_400, now())
    topic.refresh_from_db()
    shown = client.get(address)
    assert (
        shown.context["row"].topic.next_run == topic.next_run is not None
        and "The next run of the topic fetches it again" in shown.content.decode()
    )


def test_seeds_samples_and_schedule(client: Client, web: TopicalWeb) -> None:
    topic = topics.add("t", [web.url(0)], documents=DOCUMENTS, now=now(), settings=OPEN)
    upload = SimpleUploadedFile("seeds.txt", f"{web.url(3)}\n# note\nbad line\n".encode())
    page = client.post(
        f"/admin/topics/{topic.pk}/seeds/",
        {"do": "add", "seeds": web.url(2), "file": upload},
        follow=True,
    ).content.decode()
    assert topic.seeds.count() == 3 and "4: bad line" in page
    client.post(
        f"/admin/topics/{topic.pk}/seeds/",
        {"do": "remove", "seed": [seed.pk for seed in topic.seeds.all()]},
    )
    assert topic.seeds.count() == 3, "the last seed stays"
    client.post(
        f"/admin/topics/{topic.pk}/seeds/", {"do": "remove", "seed": [topic.seeds.last().pk]}
    )
    assert topic.seeds.count() == 2
    files = [
        SimpleUploadedFile("a.txt", "主题爬虫".encode("gb18030")),
        SimpleUploadedFile("b.txt", b"frontier of seeds"),
    ]
    form = {"do": "add", "texts": "one\n-----\ntwo", "files": files, "addresses": web.url(1)}
    client.post(f"/admin/topics/{topic.pk}/samples/", form)
    run = Run.objects.get(kind="topic-samples")
    assert engine.run_slice(run.pk) == RunState.FINISHED
    assert topic.documents.count() == 7 and not topic.documents.filter(text="").exists()
    assert "主题爬虫" in set(topic.documents.values_list("text", flat=True))
    client.post(f"/admin/topics/{topic.pk}/schedule/", {"interval": "86400"})
    topic.refresh_from_db()
    assert topic.interval_seconds == 86_400 and topic.next_run is not None
    client.post(f"/admin/topics/{topic.pk}/schedule/", {"interval": "17"})
    topic.refresh_from_db()
    assert topic.interval_seconds == 86_400


def test_a_run_is_changed_while_it_works(client: Client, web: TopicalWeb) -> None:
    topic = topics.add("t", [web.url(0)], documents=DOCUMENTS, now=now(), settings=OPEN)
    run = topics.crawl(topic, strategy="shark", options={"pages": 9}, now=now(), start=False)
    for form in (
        {"do": "seeds", "seeds": web.url(40)},
        {"do": "host", "host": "other.example"},
        {"do": "parameters", "p_gamma": "0.9"},
    ):
        assert client.post(f"/admin/topics/run/{run.pk}/edit/", form).status_code == 302
    assert len(TopicRun.objects.get(pk=run.pk).edits) == 3
    assert 'value="0.9"' in client.get(f"/admin/topics/run/{run.pk}/").content.decode()
    assert engine.run_slice(run.pk) == RunState.FINISHED
    assert TopicPage.objects.filter(run=run, kind=TopicPage.Kind.EDIT).count() == 3
    assert TopicPage.objects.filter(run=run, url=web.url(40), kind=TopicPage.Kind.PAGE).exists()


def test_wrong_parameters_are_told_at_their_field(client: Client, crawled: Run) -> None:
    topic = Topic.objects.get()
    answer = client.post(
        f"/admin/topics/{topic.pk}/crawl/", {"strategy": "shark", "o_pages": "-4", "p_gamma": "7"}
    )
    page = answer.content.decode()
    assert (
        answer.status_code == 422 and "gamma lies between" in page and "pages lies between" in page
    )


def test_a_viewer_sees_and_changes_nothing(crawled: Run) -> None:
    client = Client()
    client.force_login(user("viewer"))
    topic = Topic.objects.get()
    for address in (
        "topics/",
        f"topics/{topic.pk}/",
        f"topics/run/{crawled.pk}/",
        f"topics/{topic.pk}/words/",
    ):
        assert client.get(f"/admin/{address}").status_code == 200
    changes = [
        "topics/add/",
        f"topics/{topic.pk}/words/",
        f"topics/{topic.pk}/crawl/",
        f"topics/{topic.pk}/draw/",
        f"topics/{topic.pk}/try/",
        f"topics/{topic.pk}/seeds/",
        f"topics/{topic.pk}/samples/",
        f"topics/{topic.pk}/schedule/",
        f"topics/{topic.pk}/delete/",
        f"topics/{topic.pk}/compare/",
        f"topics/run/{crawled.pk}/edit/",
    ]
    for address in changes:
        assert client.post(f"/admin/{address}", {"name": topic.name}).status_code == 403, address


def test_only_administrators_delete(client: Client, crawled: Run) -> None:
    topic = Topic.objects.get()
    assert client.post(f"/admin/topics/{topic.pk}/delete/", {"name": topic.name}).status_code == 403
    client.force_login(user("administrator"))
    client.post(f"/admin/topics/{topic.pk}/delete/", {"name": "else"})
    assert Topic.objects.exists()
    client.post(f"/admin/topics/{topic.pk}/delete/", {"name": topic.name})
    assert not Topic.objects.exists() and not Run.objects.filter(pk=crawled.pk).exists()


def test_lists_ask_no_more_with_more_rows(client: Client, crawled: Run, web: TopicalWeb) -> None:
    def queries(address: str) -> int:
        client.get(f"/admin/{address}")
        with CaptureQueriesContext(connection) as caught:
            assert client.get(f"/admin/{address}").status_code == 200
        return len(caught)

    topic = Topic.objects.get()
    addresses = [
        "topics/",
        f"topics/{topic.pk}/",
        f"topics/run/{crawled.pk}/",
        f"topics/run/{crawled.pk}/pages/",
    ]
    before = [queries(address) for address in addresses]
    for n in range(20):
        topics.add(f"further {n}", [web.url(0)], documents=DOCUMENTS, now=now(), settings=OPEN)
        more = topics.crawl(
            topic, options={"pages": 1, "source": "archive"}, now=now(), start=False
        )
        engine.run_slice(more.pk)
    topics.add_seeds(topic, [web.url(n) for n in range(40)])
    assert [queries(address) for address in addresses] == before


@pytest.mark.parametrize("what", ["run_entry", "judge"])
def test_a_comparison_that_no_worker_can_make_says_so(
    client: Client, crawled: Run, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    def endless(*_: object, on_page: object = None, pulse: object = None, **__: object) -> None:
        assert on_page or pulse, "it could never tell that its time is over"
        raise jobs.StepTooLong("72 s")

    monkeypatch.setattr(f"focused.lab.stored_comparisons.{what}", endless)
    found = comparison(client, Topic.objects.get())
    assert "longer than 72 s" in found.problem and found.run is not None
    found.run.refresh_from_db()
    assert found.run.stopped_by == "not_comparable"
