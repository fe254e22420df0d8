"""Tests a topic's settings in the admin: saving and undoing them, presets, a preview on recorded
pages, adopting the best strategy of a comparison; displayed names."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.test import Client
from django.utils import translation

from crawlmgr.models import Host, Page, Run, SettingsPreset, WarcFile
from focused.admin import titles
from focused.lab import tuning
from focused.models import Comparison, Topic
from focused.parameters import RunOptions, parameters_of, read_settings
from focused.strategies.base import BUILT_IN, strategy_class
from focused.topic import topics
from tests.crawlmgr.admin.rows import tight
from tests.focused.test_choices import client, topic

__all__ = ["client"]
pytestmark = pytest.mark.django_db
NOW = datetime(2026, 5, 1, tzinfo=UTC)


def form(name: str, **values: object) -> dict[str, str]:
    return {"strategy": name, "shown": name, **{key: str(value) for key, value in values.items()}}


def test_saving_starts_nothing_and_one_click_goes_back(client: Client) -> None:
    made = topic(strategy="dolphin", parameters={"alpha": 0.2, "beta": 0.4, "gamma": 0.4})
    address = f"/admin/topics/{made.pk}/crawl/"
    before = tuning.values_of(made)
    client.post(
        address,
        form("dolphin", p_alpha=1, p_beta=0, p_gamma=0, o_pages=7, hosts="example.org", save=1),
    )
    made.refresh_from_db()
    assert (
        made.parameters["alpha"] == 1.0 and made.options["pages"] == 7 and not Run.objects.exists()
    )
    text = client.get(address).content.decode()
    assert (
        "Weight of relevance (α): 0.2 → <b>1</b>" in text
        and "Only hosts: – → <b>example.org</b>" in text
        and "operator" in text
    )
    client.post(f"/admin/topics/{made.pk}/settings/undo/")
    made.refresh_from_db()
    assert tuning.values_of(made) == before
    text = client.get(address).content.decode()
    assert "undone" in text and "settings/undo/" not in text
    told = client.post(f"/admin/topics/{made.pk}/settings/undo/", follow=True).content.decode()
    assert "there is no change to undo" in told


def test_a_start_with_keep_is_in_the_history_too(client: Client) -> None:
    made = topic(strategy="shark")
    client.post(f"/admin/topics/{made.pk}/crawl/", form("best_first", o_pages=5, keep="on"))
    assert Run.objects.get().parameters["strategy"] == "best_first"
    assert (
        "Shark search → <b>Best first</b>"
        in client.get(f"/admin/topics/{made.pk}/crawl/").content.decode()
    )


def test_presets_fill_the_form_and_start_nothing(client: Client) -> None:
    made = topic(strategy="dolphin")
    address = f"/admin/topics/{made.pk}/crawl/"
    text = tight(client.post(address, form("dolphin", preset="links", o_pages=33)))
    assert (
        'name="p_gamma" value="1"' in text
        and 'name="p_alpha" value="0"' in text
        and 'name="o_pages" value="33"' in text
    )
    mine = form("dolphin", p_alpha=0.6, p_beta=0.2, p_gamma=0.2, keep_preset=1, preset_name="mine")
    text = tight(client.post(address, mine))
    assert 'name="p_alpha" value="0.6"' in text
    assert SettingsPreset.objects.get().values["alpha"] == 0.6
    text = tight(client.post(address, form("dolphin", preset="mine")))
    assert 'name="p_alpha" value="0.6"' in text
    client.post(address, form("dolphin", drop_preset="mine"))
    assert not SettingsPreset.objects.exists() and not Run.objects.exists()
    assert (
        "There is no such preset."
        in client.post(address, form("dolphin", preset="mine")).content.decode()
    )
    text = client.post(
        address, form("dolphin", p_alpha=7, keep_preset=1, preset_name="bad")
    ).content.decode()
    assert "lies between" in text and not SettingsPreset.objects.exists()


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_every_preset_that_the_program_brings_fits_its_strategy(name: str) -> None:
    for values in tuning.built_in(name).values():
        read_settings(strategy_class(name).Settings, values)


def test_a_preview_compares_what_is_typed_with_what_is_saved(client: Client) -> None:
    made = topic(strategy="best_first")
    address = f"/admin/topics/{made.pk}/crawl/"
    assert "Preview on recorded pages" not in client.get(address).content.decode()
    answer = client.post(address, form("shark", p_gamma=0.9, preview=1))
    assert "no run of the topic has pages in the archive yet" in answer.content.decode()
    run = topics.crawl(made, now=NOW)
    Run.objects.update(state="finished")
    file = WarcFile.objects.create(name="a.warc.gz", run=run, created=NOW)
    host = Host.objects.create(key="127.0.0.1:9")
    Page.objects.create(
        url="http://127.0.0.1:9/",
        url_hash=1,
        key_hash=1,
        run=run,
        host=host,
        warc=file,
        status=200,
        fetched_at=NOW,
    )
    assert "Preview on recorded pages" in client.get(address).content.decode()
    answer = client.post(address, form("shark", p_gamma=0.9, preview=1))
    compared = Comparison.objects.get()
    assert answer.headers["Location"] == f"/admin/topics/comparison/{compared.pk}/"
    assert compared.setup["order"] == ["best_first as saved", "shark as typed"]
    assert compared.setup["strategies"]["shark as typed"]["gamma"] == 0.9 and compared.setup[
        "files"
    ] == [file.pk]
    made.refresh_from_db()
    assert made.strategy == "best_first", "a preview changes nothing"


def test_the_strategy_that_won_becomes_the_topics_own(client: Client) -> None:
    made = topic(strategy="shark")
    setup = {
        "strategies": {"dolphin links": {"gamma": 1.0}, "fish": {}},
        "pages": 9,
        "files": [],
        "definition": {},
    }
    compared = Comparison.objects.create(topic=made, setup=setup, created=NOW)
    address = f"/admin/topics/comparison/{compared.pk}/choose/"
    client.post(address, {"entry": "lucky"})
    made.refresh_from_db()
    assert made.strategy == "shark"
    told = client.post(address, {"entry": "dolphin links"}, follow=True).content.decode()
    made.refresh_from_db()
    assert (made.strategy, made.parameters) == (
        "dolphin",
        {"gamma": 1.0},
    ) and "Dolphin · Patent: importance alone" in told
    tuning.undo(made, now=NOW)
    assert Topic.objects.get().strategy == "shark"


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_everything_has_a_name_in_both_languages(language: str) -> None:
    with translation.override(language):
        for name in BUILT_IN:
            owners = [
                (name, parameters_of(strategy_class(name).Settings)),
                ("options", parameters_of(RunOptions)),
            ]
            assert titles.strategy(name) != name and name not in titles.strategy(name).split()
            for owner, parameters in owners:
                for one in parameters:
                    title = titles.parameter(one.name, owner)
                    assert title != one.name and (language == "en" or not title.isascii()), (
                        owner,
                        one.name,
                    )
                    assert all(
                        language == "en" or titles.choice(choice) != choice
                        for choice in one.choices
                    ), one


def test_forms_show_the_names_beside_the_identifiers(client: Client) -> None:
    made = topic(strategy="ant_colony")
    text = client.get(f"/admin/topics/{made.pk}/crawl/").content.decode()
    assert (
        "Ant colony" in text
        and "Evaporation (ρ)" in text
        and "Name on the command line: rho" in text
    )
    assert 'data-slides="p_rho"' in text
    for address in (f"/admin/topics/{made.pk}/", "/admin/topics/"):
        assert "Ant colony" in client.get(address).content.decode()
