"""`--allow-private` applies only to the named hosts and ports, in running and in stored
settings."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from crawlmgr.conf import CrawlSettings
from crawlmgr.models import Run, Url
from deepweb.models import Source
from focused.topic import topics
from forums.models import Site
from tests.crawlmgr.admin.rows import site
from tests.site.server import LocalSite, Reply

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 5, 1, tzinfo=UTC)
PAGE = (
    "<html><body><form action='/find'><input type=search name=q></form><p>river</p></body></html>"
)


@pytest.fixture
def webs() -> Any:
    """The site that the user names, and another port of the same machine to which its pages
    redirect."""
    with LocalSite() as named, LocalSite() as inside:
        for path in ("/", "/away"):
            named.add(path, Reply(b"", 302, {"Location": inside.url("/admin")}))
        named.add("/robots.txt", "User-agent: *\nAllow: /")
        inside.add("*", PAGE)
        yield named, inside


def _commands(named: LocalSite, topic: str) -> list[list[str]]:
    return [
        ["forum", "add", named.url("/")],
        ["forum", "inspect", named.url("/")],
        ["topic", "crawl", topic, "--pages", "3", "--strategy", "breadth_first"],
        ["deepweb", "find", named.url("/")],
        ["deepweb", "harvest", named.url("/"), "--queries", "1"],
    ]


@pytest.mark.parametrize("place", range(5))
def test_a_redirect_to_another_private_port_goes_nowhere(webs: Any, place: int) -> None:
    named, inside = webs
    topics.add("t", [named.url("/")], keywords={"river": 1.0}, now=NOW)
    words = [*_commands(named, "t")[place], "--allow-private"]
    try:
        call_command(
            *words,
            *(() if words[1] == "inspect" else ("--delay", "0")),
            stdout=io.StringIO(),
            stderr=io.StringIO(),
        )
    except CommandError as error:
        assert "refused_address" in str(error) or "No board" in str(error)
    assert named.log and not inside.log
    stored = json.dumps(
        [
            list(table.objects.values_list(field, flat=True))
            for table, field in ((Run, "parameters"), (Source, "parameters"))
        ]
    )
    assert "*" not in stored and (words[1] == "inspect" or named.authority in stored)
    if words[1] != "inspect":
        assert (
            Url.objects.filter(reason__startswith="refused_address").exists()
            or Url.objects.filter(reason__contains="refused").exists()
        )


def test_a_further_host_is_named_by_its_own_option(webs: Any) -> None:
    named, inside = webs
    call_command(
        "deepweb",
        "find",
        named.url("/"),
        "--allow-private",
        "--private-host",
        inside.authority,
        "--delay",
        "0",
        stdout=io.StringIO(),
    )
    assert (
        inside.log
        and Source.objects.get().parameters["allow_private"]
        == f"{inside.authority},{named.authority}"
    )
    for wrong in ("*", "a b", "10.0.0.0/99"):
        with pytest.raises(CommandError) as refused:
            call_command("deepweb", "find", named.url("/"), "--private-host", wrong)
        assert refused.value.returncode == 2


def test_what_is_stored_already_is_kept_beside_what_is_named() -> None:
    forum = site(url="http://127.0.0.1:9/")
    Site.objects.filter(pk=forum.pk).update(settings={"allow_private": "10.0.0.1:80"})
    with pytest.raises(CommandError):
        call_command("forum", "crawl", str(forum.pk), "--allow-private")
    forum.boards.create(name="b", url="http://127.0.0.1:9/b", key="b", position=0)
    with pytest.raises(CommandError):  # no server listens there
        call_command(
            "forum", "crawl", str(forum.pk), "--allow-private", "--delay", "0", stdout=io.StringIO()
        )
    assert Run.objects.get().parameters["settings"]["allow_private"] == "10.0.0.1:80,127.0.0.1:9"


def test_every_address_is_no_address() -> None:
    assert CrawlSettings.from_mapping({"allow_private": "*"}).allowed_private == frozenset()
    assert CrawlSettings.from_mapping({"allow_private": "10.0.0.1:80, *"}).allowed_private == {
        "10.0.0.1:80"
    }
