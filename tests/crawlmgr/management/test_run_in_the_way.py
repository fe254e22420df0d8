"""A command continues only the run that it names, by the same parameters; any other run in its way
is left alone and told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.management import foreground
from crawlmgr.models import Run, RunState
from crawlmgr.runs import runs
from deepweb import harvests
from deepweb.forms import sources
from deepweb.models import Cluster, Form
from focused.models import Topic
from focused.topic import topics
from forums.sites import sites
from tests.deepweb.test_harvest import found, the_form
from tests.site.search import SearchServer, SearchSite

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = {"headers": {"Authorization": "Basic abc"}, "cookies": {"sid": "s3cret"}}


def made(settings: dict[str, Any], kind: str = "topic", **options: Any) -> Run:
    return runs.create(
        kind,
        "a run",
        parameters={"pages": 5, "settings": settings, **options},
        now=SYSTEM.now(),
        exclusive="one",
        start=False,
    )


@pytest.mark.parametrize("settings", [{}, {"delay_seconds": 2.0}, SECRET])
@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.PAUSED])
def test_a_run_with_the_same_parameters_is_continued(
    settings: dict[str, Any], state: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = made(settings)
    if state == RunState.PAUSED:
        runs.pause(run.pk, SYSTEM.now())
    assert foreground.begun(lambda: made(settings), "topic", by_nodes=False).pk == run.pk
    assert Run.objects.get().state == RunState.QUEUED
    assert f"Run {run.pk}" in capsys.readouterr().err


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.RUNNING, RunState.PAUSED])
@pytest.mark.parametrize(
    ("settings", "kind", "options"),
    [
        ({"delay_seconds": 3.0}, "topic", {}),
        ({**SECRET, "cookies": {"sid": "another"}}, "topic", {}),
        ({}, "topic", {"strategy": "shark"}),
        ({}, "removal", {}),
    ],
)
def test_a_run_with_other_parameters_is_told_and_left_alone(
    settings: dict[str, Any], kind: str, options: dict[str, Any], state: str
) -> None:
    run = made({})
    Run.objects.filter(pk=run.pk).update(state=state)
    with pytest.raises(CommandError) as told:
        foreground.begun(lambda: made(settings, kind, **options), "topic", by_nodes=False)
    assert f"Run {run.pk} of this topic" in str(told.value) and "\n" not in str(told.value)
    run.refresh_from_db()
    assert run.state == state and run.fence == 0 and Run.objects.count() == 1


def test_a_harvest_of_a_cluster_does_not_continue_one_of_other_options() -> None:
    with SearchServer(SearchSite(books=5)) as server:
        found(server)
    form, cluster = the_form(), Cluster.objects.create(name="books", made=SYSTEM.now())
    Form.objects.filter(pk=form.pk).update(cluster=cluster)
    other = harvests.start([form], {"queries": 9000}, now=SYSTEM.now(), begin=False)
    runs.pause(other.pk, SYSTEM.now())
    with pytest.raises(CommandError, match=f"Run {other.pk} of this form"):
        call_command("deepweb", "harvest", "--cluster", str(cluster.pk), "--queries", "3", "--json")
    assert Run.objects.get(kind=harvests.KIND).state == RunState.PAUSED


def test_a_harvest_of_a_cluster_counts_the_forms_that_it_must_leave_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with (
        SearchServer(SearchSite(books=5)) as server,
        SearchServer(SearchSite(books=5, method='post enctype="multipart/form-data"')) as other,
    ):
        found(server)
        found(other)
        cluster = Cluster.objects.create(name="books", made=SYSTEM.now())
        Form.objects.filter(searchable=True).update(cluster=cluster, released=True)
        words = ("--queries", "2", "--allow-private", "--delay", "0", "--json")
        with pytest.raises(CommandError, match="1 forms: post_encoding") as ended:
            call_command("deepweb", "harvest", "--cluster", str(cluster.pk), *words)
        document = json.loads(capsys.readouterr().out)
        assert ended.value.returncode == 3 and document["complete"] is False
        assert document["missing"] == [{"what": "forms", "count": 1, "reason": "post_encoding"}]
        assert not other.site.posts
        Form.objects.filter(method="get").update(cluster=None)
        with pytest.raises(CommandError, match="may be asked: post_encoding"):
            call_command("deepweb", "harvest", "--cluster", str(cluster.pk), *words)


def test_a_look_for_forms_does_not_continue_one_of_other_depth() -> None:
    other = sources.find(["http://127.0.0.1:9/"], now=SYSTEM.now(), depth=3, start=False)
    runs.pause(other.pk, SYSTEM.now())
    with pytest.raises(CommandError, match=f"Run {other.pk} of this site"):
        call_command("deepweb", "find", "http://127.0.0.1:9/", "--depth", "1", "--json")
    assert Run.objects.get().state == RunState.PAUSED


def test_a_topic_crawl_does_not_continue_one_of_another_strategy(tmp_path: Any) -> None:
    (tmp_path / "seeds").write_text("http://127.0.0.1:9/\n")
    call_command("topic", "add", "t", "--seeds", str(tmp_path / "seeds"), "--keywords", "a,b")
    other = topics.crawl(Topic.objects.get(), now=SYSTEM.now(), start=False)
    runs.pause(other.pk, SYSTEM.now())
    with pytest.raises(CommandError, match=f"Run {other.pk} of this topic"):
        call_command("topic", "crawl", "t", "--strategy", "breadth_first", "--pages", "5", "--json")
    assert Run.objects.get().state == RunState.PAUSED


def test_adding_a_forum_does_not_continue_an_inspection_of_other_options() -> None:
    other = sites.discover(
        "http://127.0.0.1:9/", {"timezone": "Asia/Shanghai"}, now=SYSTEM.now(), start=False
    )
    runs.pause(other.pk, SYSTEM.now())
    with pytest.raises(CommandError, match=f"Run {other.pk} of this forum"):
        call_command("forum", "add", "http://127.0.0.1:9/", "--timezone", "UTC", "--json")
    assert Run.objects.get().state == RunState.PAUSED
