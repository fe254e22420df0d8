"""Deletion from a list: rows disappear at once, return by Undo, and are deleted for good when
due."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from crawlmgr.models import Deletion, Event, Export, Run
from crawlmgr.schedule import due
from crawlmgr.upkeep import removals
from deepweb.models import Source
from focused.models import Topic
from focused.topic import topics
from forums.models import Board, Site
from tests.crawlmgr.admin.rows import NOW, site, user

pytestmark = pytest.mark.django_db


def browser(role: str) -> Client:
    made = Client()
    made.force_login(User.objects.filter(username=role).first() or user(role))
    return made


def forums() -> list[Site]:
    made = [site(number, f"https://f{number}.example/") for number in (1, 2, 3)]
    for one in made:
        Site.objects.filter(pk=one.pk).update(name=f"Forum {one.url_hash}")
        Board.objects.create(site=one, name="b", url="x", key="k")
    return made


def test_ticked_forums_leave_the_list_come_back_and_go_for_good() -> None:
    one, two, three = forums()
    admin = browser("administrator")
    to = {"at": "/admin/forums/?sort=-name"}
    answer = admin.post(
        "/admin/forums/do/", {"do": "delete", "row": [one.pk, two.pk], **to}, follow=True
    )
    text = answer.content.decode()
    assert (
        answer.redirect_chain[-1][0] == "/admin/forums/?sort=-name"
        and "2 deleted" in text
        and 'value="undo"' in text
    )
    assert f'data-row="{three.pk}"' in text and f'data-row="{one.pk}"' not in text
    assert "Forum 1" in text.split('id="gone-forums"')[1].split("</div>")[0]
    admin.post("/admin/forums/do/", {"do": "undo", **to})
    assert (
        f'data-row="{one.pk}"' in admin.get("/admin/forums/").content.decode()
        and not Deletion.objects.exists()
    )

    admin.post("/admin/forums/do/", {"do": "delete", "row": [one.pk]})
    at = Deletion.objects.get().due
    assert removals.carry_out(at - timedelta(seconds=1)) == 0 and Site.objects.count() == 3
    due.dispatch(at)
    assert set(Site.objects.all()) == {two, three} and not Deletion.objects.exists()
    assert Event.objects.filter(code="deleted_from_list", text="Forum 1").exists()


def test_who_may_not_delete_neither_deletes_nor_takes_back() -> None:
    one, *_others = forums()
    operator = browser("operator")
    assert operator.post("/admin/forums/do/", {"do": "delete", "row": [one.pk]}).status_code == 403
    browser("administrator").post("/admin/forums/do/", {"do": "delete", "row": [one.pk]})
    assert (
        operator.post("/admin/forums/do/", {"do": "undo"}).status_code == 403
        and Deletion.objects.count() == 1
    )
    text = operator.get("/admin/forums/").content.decode()
    assert 'id="gone-forums"' in text and 'value="undo"' not in text


def test_an_export_that_is_being_written_goes_later() -> None:
    kept = Export.objects.create(
        name="Posts", table="posts", format="csv", columns=[], keep=1, created=NOW
    )
    admin = browser("administrator")
    admin.post("/admin/exports/do/", {"do": "delete", "row": [kept.pk]})
    run = Run.objects.create(
        kind="export", label="Posts", target=kept.pk, state="running", created=NOW
    )
    row = Deletion.objects.get()
    assert removals.carry_out(row.due) == 0 and Export.objects.exists()
    assert removals.undo("export") == 0, "it has begun"
    Run.objects.filter(pk=run.pk).update(state="finished")
    assert removals.carry_out(row.due) == 0, "another round comes a minute later"
    assert removals.carry_out(row.due + removals.AGAIN) == 1 and not Export.objects.exists()


def test_what_is_taken_back_while_the_dispatcher_looks_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A deletion that a user undoes after the dispatcher has read its row, but before it claims the
    row, is not made."""
    one, *_others = forums()
    removals.ask("forum", {one.pk: "x"}, NOW)
    rows = list(Deletion.objects.select_related("by"))
    removals.undo("forum")
    monkeypatch.setattr(
        removals.Deletion.objects, "filter", _once(rows, removals.Deletion.objects.filter)
    )
    assert removals.carry_out(NOW + removals.UNDO) == 0 and Site.objects.count() == 3


def _once(rows: list[Deletion], plain: object) -> object:
    """A substitute for `filter` whose first call returns these outdated rows; later calls go to the
    real one, `plain`."""
    answers = [rows]

    class Read:
        def select_related(self, *_names: str) -> list[Deletion]:
            return answers.pop()

    return lambda **wish: Read() if answers else plain(**wish)  # type: ignore[operator]


def test_asking_twice_is_asking_once_and_the_first_time_counts() -> None:
    one, *_others = forums()
    assert removals.ask("forum", {one.pk: "x"}, NOW) == 1
    assert removals.ask("forum", {one.pk: "x"}, NOW + timedelta(minutes=5)) == 0
    assert Deletion.objects.get().due == NOW + removals.UNDO


def test_a_deletion_of_what_is_gone_already_is_done(settings: LazySettings) -> None:
    for kind in settings.DELETABLE:
        removals.ask(kind, {999: "x"}, NOW)
    assert (
        removals.carry_out(NOW + removals.UNDO) == len(settings.DELETABLE)
        and not Deletion.objects.exists()
    )


def test_ticked_topics_and_search_sites_go_and_come_back() -> None:
    topic, other = (
        topics.add(name, ["https://example.org/"], now=NOW) for name in ("Rust", "Moss")
    )
    source = Source.objects.create(url="http://a.example/", key_hash=1, name="Shop", created=NOW)
    admin = browser("administrator")
    for path, kept, gone in (("topics", "Moss", topic), ("deepweb", None, source)):
        admin.post(f"/admin/{path}/do/", {"do": "delete", "row": [gone.pk]})
        rows = admin.get(f"/admin/{path}/?part=rows").content.decode()
        assert gone.name not in rows and (kept is None or kept in rows)
        admin.post(f"/admin/{path}/do/", {"do": "undo"})
        assert gone.name in admin.get(f"/admin/{path}/?part=rows").content.decode()
        admin.post(f"/admin/{path}/do/", {"do": "delete", "row": [gone.pk]})
    Deletion.objects.update(due=NOW)
    due.dispatch(NOW + timedelta(minutes=1))
    due.dispatch(NOW + timedelta(minutes=5))
    assert (
        not Source.objects.exists()
        and list(Topic.objects.all()) == [other]
        and not Deletion.objects.exists()
    )
