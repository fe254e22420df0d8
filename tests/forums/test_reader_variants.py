"""Variants of pages for the training of the reader: one surface property is changed, and the true
records are still those of the page."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from forums.reading.document import Page
from forums.reading.learned.two_readings import TwoReadings
from tests.forums.boards import NOW
from tests.forums.markup_pages import write
from tests.training.reader import variants
from tests.training.reader.labels import body_labels, link_labels
from tests.training.reader.pages import Saved, saved_pages


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Saved]:
    """A thread list and a thread, by kind."""
    folder = tmp_path_factory.mktemp("drawn")
    write(folder)
    made: dict[str, Saved] = {}
    for saved in saved_pages(folder):
        records, is_thread = saved.truth["records"], saved.engine.startswith("random-thread-")
        if is_thread != (saved.truth["kind"] == "threadlist") and len(records) >= 5:
            made.setdefault(saved.truth["kind"], saved)
    return made


def changed(saved: Saved, name: str, seed: int = 7) -> variants.Changed:
    made = variants.Changed(saved, Random(seed))
    assert variants.VARIANTS[name](made)
    return made


def found(made: variants.Changed) -> int:
    """Returns how many candidates of the changed page are labelled as records."""
    page = Page(made.html(), made.truth["base_url"], NOW)
    second = TwoReadings(page, None)
    if made.truth["kind"] == "thread":
        return int((body_labels(page, second.bodies, made.truth, None) == 1).sum())
    return int((link_labels(page.links, made.truth) > 0).sum())


@pytest.mark.parametrize("name", variants.VARIANTS)
@pytest.mark.parametrize("kind", ["threadlist", "thread"])
def test_all_records_stand_on_the_changed_page(
    drawn: dict[str, Saved], kind: str, name: str
) -> None:
    if (kind, name) in (("threadlist", "posts"), ("thread", "titles")):
        made = variants.Changed(drawn[kind], Random(7))
        assert not variants.VARIANTS[name](made)
        return
    made = changed(drawn[kind], name)
    assert found(made) == len(drawn[kind].truth["records"])


def test_short_titles_have_up_to_four_characters(drawn: dict[str, Saved]) -> None:
    titles = [record["title"] for record in changed(drawn["threadlist"], "titles").records]
    assert all(1 <= len(title) <= 4 for title in titles)
    assert len(set(titles)) == len(titles)


def test_short_posts_have_up_to_four_words(drawn: dict[str, Saved]) -> None:
    made = changed(drawn["thread"], "posts")
    assert all(1 <= len(record["text_start"].split()) <= 4 for record in made.records)
    assert all(1 <= len(element.text_content().split()) <= 4 for element, _ in made.bodies)


@pytest.mark.parametrize("kind", ["threadlist", "thread"])
def test_unknown_times_are_read_by_nobody(drawn: dict[str, Saved], kind: str) -> None:
    made = changed(drawn[kind], "times")
    before = Page(drawn[kind].file.read_bytes(), drawn[kind].url, NOW)
    after = Page(made.html(), made.truth["base_url"], NOW)
    assert len(before.times) >= 5 and not after.times
    assert not any(name.endswith("_iso") for record in made.records for name in record)


def test_invented_words_leave_titles_names_and_times(drawn: dict[str, Saved]) -> None:
    saved = drawn["threadlist"]
    text = changed(saved, "words").html()
    for record in saved.truth["records"]:
        assert record["author"] in text
    assert found(changed(saved, "words")) == len(saved.truth["records"])


def test_invented_classes_are_the_same_for_the_same_name(drawn: dict[str, Saved]) -> None:
    made = changed(drawn["threadlist"], "classes")
    before = Page(drawn["threadlist"].file.read_bytes(), drawn["threadlist"].url, NOW).outline
    after = made.page.outline
    pairs = {
        (old, new.get("class") or "")
        for old, new in zip(before.classes, after.elements, strict=True)
    }
    assert len(pairs) == len({old for old, _ in pairs}) == len({new for _, new in pairs})


def test_addresses_tell_nothing(drawn: dict[str, Saved]) -> None:
    made = changed(drawn["threadlist"], "addresses")
    assert all(len(record["url"]) == 8 for record in made.records)
    assert len({record["url"] for record in made.records}) == len(made.records)


def test_a_page_has_the_same_variants_each_time(drawn: dict[str, Saved]) -> None:
    one, other = ([made.html() for _, made in variants.variants_of(drawn["thread"])] for _ in "ab")
    assert one == other


def test_variants_are_added_to_a_folder_of_pages(drawn: dict[str, Saved], tmp_path: Path) -> None:
    folder = drawn["thread"].file.parent.parent.parent
    few = tmp_path / "few"
    few.mkdir()
    lines = (folder / "pages.csv").read_text(encoding="utf-8").splitlines(True)
    (few / "pages.csv").write_text("".join(lines[:3]), encoding="utf-8")
    for name in ("html", "truth"):
        (few / name).symlink_to(folder / name)
    out = tmp_path / "out"
    number = variants.write(few, out)
    again = variants.write(few, out)
    written = list(saved_pages(out, measured=False))
    assert number == again >= 3 and len(written) == number + again
    assert {saved.engine for saved in written} == {saved.engine for saved in saved_pages(few)}
    assert all(saved.is_variant for saved in written)
    assert not any(saved.is_variant for saved in saved_pages(few))
