"""Every choice on the topic's forms takes effect in the run: the strategy, its parameters, the
options."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.test import Client

from crawlmgr.models import Run
from focused.models import Topic
from focused.parameters import Parameter, RunOptions, parameters_of
from focused.strategies.base import BUILT_IN, strategy_class
from focused.topic import topics
from tests.crawlmgr.admin.rows import tight, user

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    made = Client()
    made.force_login(user("operator"))
    return made


def topic(**values: object) -> Topic:
    name = f"topic {Topic.objects.count()}"
    return topics.add(
        name, ["http://127.0.0.1:9/"], documents=[("a", "crawler")], now=datetime.now(UTC), **values
    )


def other(one: Parameter) -> bool | int | float | str:
    """A value of the parameter other than its default."""
    if one.choices:
        return next(choice for choice in one.choices if choice != one.default)
    if isinstance(one.default, bool):
        return not one.default
    assert one.low is not None and one.high is not None
    return one.read(one.high if one.default != one.high else one.low)


def posted(values: dict[str, bool | int | float | str], prefix: str) -> dict[str, str]:
    return {f"{prefix}{name}": str(value) for name, value in values.items() if value is not False}


def parameters(name: str) -> tuple[Parameter, ...]:
    return parameters_of(strategy_class(name).Settings)


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_the_strategy_that_is_picked_is_the_one_that_runs(client: Client, name: str) -> None:
    shown = next(one for one in BUILT_IN if one != name)
    made = topic(strategy=shown, parameters={})
    address = f"/admin/topics/{made.pk}/crawl/"
    assert f'name="shown" value="{shown}"' in client.get(address).content.decode()
    fields = posted({one.name: other(one) for one in parameters(shown)}, "p_")
    answer = client.post(address, {"strategy": name, "shown": shown, "o_pages": "5", **fields})
    run = Run.objects.get(kind="topic")
    assert answer.headers["Location"] == f"/admin/topics/run/{run.pk}/"
    assert run.parameters["strategy"] == name
    assert run.parameters["parameters"] == {}, (
        "its own defaults, nothing of the strategy that was shown"
    )


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_the_parameters_that_are_typed_are_those_that_run(client: Client, name: str) -> None:
    made, wanted = topic(), {one.name: other(one) for one in parameters(name)}
    form = {"strategy": name, "shown": name, "o_pages": "5", **posted(wanted, "p_"), "keep": "on"}
    client.post(f"/admin/topics/{made.pk}/crawl/", form)
    made.refresh_from_db()
    run = Run.objects.get(kind="topic")
    assert (
        (run.parameters["strategy"], run.parameters["parameters"])
        == (made.strategy, made.parameters)
        == (name, wanted)
    )


def test_the_options_that_are_typed_are_those_that_run(client: Client) -> None:
    made, wanted = topic(), {one.name: other(one) for one in parameters_of(RunOptions)}
    client.post(
        f"/admin/topics/{made.pk}/crawl/",
        {"strategy": "shark", "shown": "shark", **posted(wanted, "o_")},
    )
    assert Run.objects.get(kind="topic").parameters["options"] == wanted


def test_showing_a_strategys_parameters_keeps_what_was_typed_and_starts_nothing(
    client: Client,
) -> None:
    made = topic()
    form = {
        "strategy": "shark",
        "shown": made.strategy,
        "show": "1",
        "o_pages": "77",
        "hosts": "example.org",
        "p_anchor": "0.9",
    }
    page = tight(client.post(f"/admin/topics/{made.pk}/crawl/", form))
    assert not Run.objects.exists()
    assert 'name="shown" value="shark"' in page and 'name="p_gamma" value="0.5"' in page
    assert 'name="o_pages" value="77"' in page and "example.org</textarea>" in page


def test_a_strategy_that_does_not_exist_starts_nothing(client: Client) -> None:
    made = topic()
    answer = client.post(
        f"/admin/topics/{made.pk}/crawl/", {"strategy": "lucky", "o_pages": "5"}, follow=True
    )
    assert "There is no strategy lucky." in answer.content.decode() and not Run.objects.exists()
    Topic.objects.update(strategy="gone")
    assert client.get(f"/admin/topics/{made.pk}/crawl/").status_code == 200
