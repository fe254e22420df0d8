"""Tests parts of the learned reader: decision trees as arrays, the choice between candidates, and
building rows around links of different shapes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier

from forums.reading.best_candidates import BestCandidates
from forums.reading.document import Page
from forums.reading.learned.assemble import LearnedPosts, identities, row_set
from forums.reading.learned.bodies import Groups, numbered
from forums.reading.learned.choose import chosen_bodies, chosen_links
from forums.reading.learned.two_readings import TwoReadings
from forums.reading.learned.weights import FILE, read_weights, shipped
from forums.reading.lists.thread_records import ThreadRows
from forums.reading.model import PageKind
from tests.forums.boards import NOW
from tests.training.reader.trees import Examples, Shape, averaged, boosted


@pytest.fixture(scope="module")
def examples() -> Examples:
    random = np.random.default_rng(3)
    features = random.normal(size=(400, 6)).astype(np.float32)
    labels = (features[:, 0] + features[:, 1] > 0).astype(int) + (features[:, 2] > 0.8)
    return Examples(features, labels, random.uniform(0.5, 2.0, 400))


def test_averaged_trees_answer_as_the_library_does(examples: Examples) -> None:
    model = ExtraTreesClassifier(12, min_samples_leaf=4, max_features=3, random_state=0)
    model.fit(examples.features, examples.labels, sample_weight=examples.weights)
    ours = averaged(examples, 3, Shape(12, 4, 3)).predict(examples.features)
    assert (
        np.abs(ours - model.predict_proba(examples.features)).max() < 0.01
    )  # leaves are stored in steps of 1/255


def test_boosted_trees_answer_as_the_library_does(examples: Examples) -> None:
    model = HistGradientBoostingClassifier(
        max_iter=9,
        learning_rate=0.12,
        max_leaf_nodes=20,
        min_samples_leaf=25,
        l2_regularization=5,
        max_bins=63,
        max_features=0.15,
        early_stopping=False,
        random_state=0,
    )
    model.fit(examples.features, examples.labels, sample_weight=examples.weights)
    ours = boosted(examples, 9).predict(examples.features)
    assert np.abs(ours - model.predict_proba(examples.features)).max() < 1e-4


def test_shipped_weights_survive_being_saved(tmp_path: Path, examples: Examples) -> None:
    shipped().save(tmp_path / "weights.npz")
    again, width = read_weights(tmp_path / "weights.npz"), 600
    values = np.random.default_rng(1).normal(size=(20, width)).astype(np.float32)
    assert np.array_equal(again.links.predict(values), shipped().links.predict(values))
    assert again.whole == shipped().whole
    assert FILE.stat().st_size < 1_500_000


def _page(body: str, url: str = "http://forum.example/forum/7") -> Page:
    return Page(f"<html><body>{body}</body></html>", url, NOW)


def test_groups_tell_sums_and_spreads_of_all_at_once() -> None:
    random = np.random.default_rng(5)
    numbers = numbered(random.integers(0, 7, 60).tolist())
    values, places = random.normal(5, 2, 60), np.sort(random.integers(0, 900, 60))
    groups = Groups(numbers)
    for group in range(int(numbers.max()) + 1):
        own, steps = values[numbers == group], np.diff(places[numbers == group])
        assert groups.mean(values)[group] == pytest.approx(own.mean())
        assert groups.spread(values)[group] == pytest.approx(own.std() / max(1.0, own.mean()))
        assert groups.distinct(places)[group] == len(set(places[numbers == group].tolist()))
        steady = steps.std() / max(1.0, steps.mean()) if len(own) > 2 else 1.0
        assert groups.steadiness(places)[group] == pytest.approx(steady)


def test_a_learned_list_is_a_rival_only_where_it_has_other_rows() -> None:
    rows = "".join(
        f'<tr><td><a href="/topic/{at}-name-{at}">Some title number'
        f" {at}</a></td><td>{at}</td><td>2026-01-0{at} 10:15</td></tr>"
        for at in range(1, 7)
    )
    page = _page(
        f"<table>{rows}</table><p><a href='/help/page'>A page with"
        f" help</a></p><p>{'Words. ' * 80}</p>"
    )
    second = TwoReadings(page, None)
    table = second.links.links
    titles = np.asarray(
        [[0.1, 0.9, 0.0] if "topic" in link.url else [0.9, 0.1, 0.0] for link in table]
    )
    second.given["links"] = titles
    assert second.both_readings(0)[1] is None and second.threads is second.lists.threads
    other = TwoReadings(page, None, {"links": np.full((len(table), 3), 1 / 3)}, {0: [0.3, 0.8]})
    assert len(other.offered(0)) == 2 and other.threads is not None
    assert len(other.threads.rows) == 7
    other = TwoReadings(page, None, other.given, {0: [0.8, 0.3]})
    assert other.threads is not None and len(other.threads.rows) == 6
    little = TwoReadings(
        _page(f"<table>{rows}</table><p><a href='/help/page'>A page with help</a></p>"),
        None,
        other.given,
        {0: [0.3, 0.8]},
    )
    assert len(little.offered(0)) == 1 and little.threads is little.lists.threads


@pytest.mark.parametrize("labels", [0, 3, 12])
def test_the_same_rows_with_parts_of_them_are_no_rival(labels: int) -> None:
    rows = "".join(
        f'<tr><td><a href="/topic/{at}-name-{at}">Some title number {at}</a> <a'
        f' href="/label/{min(at, labels)}">Label</a></td><td>{at}</td><td>2026-01-{at:02}'
        " 10:15</td></tr>"
        for at in range(1, 13)
    )
    second = TwoReadings(_page(f"<table>{rows}</table><p>{'Words. ' * 80}</p>"), None)
    named = ("topic", "label") if labels else ("topic",)
    shares = [
        [0.1, 0.9, 0.0] if any(name in link.url for name in named) else [0.9, 0.1, 0.0]
        for link in second.links.links
    ]
    second.given["links"] = np.asarray(shares)
    assert second.lists.threads is not None and len(second.lists.threads.rows) == 12
    assert second.both_readings(0)[1] is None


@pytest.mark.parametrize("apart", [False, True])
def test_the_same_list_without_some_of_its_rows_is_no_rival(apart: bool) -> None:
    """Pinned topics of a recorded forum were lost to such a list. Rows that differ from the others,
    such as those of a box above them, may be none."""
    rows = [
        f'<tr><td><a href="/topic/{at}-name-{at}">Some title number {at}</a></td><td>{at}</td>'
        f"<td>2026-01-{at:02} 10:15</td></tr>"
        for at in range(1, 13)
    ]
    if apart:
        rows[:2] = [row.replace("<a ", "<b><a ").replace("</a>", "</a></b>") for row in rows[:2]]
    page = _page(f"<table>{''.join(rows)}</table><p>{'Words. ' * 80}</p>")
    second = TwoReadings(page, None)
    rules = second.lists.threads
    fewer = row_set(
        page, [link for link in second.links.links if not re.search("/[12]-", link.url)]
    )
    assert rules is not None and len(rules.rows) == 12
    assert fewer is not None and len(fewer.rows) == 10
    assert second._are_rivals(rules, fewer) == apart


def test_headings_of_rows_are_no_rival_of_the_rows() -> None:
    parts = "".join(
        f"<li><a href='/part/{part}'>Part of boards {part}</a><ul>"
        + "".join(
            f"<li><a href='/forum/{part}{at}'>Board {part}{at}</a> {at + 3} topics, {at + 9}"
            " posts</li>"
            for at in range(4)
        )
        + "</ul></li>"
        for part in range(1, 4)
    )
    second = TwoReadings(
        _page(f"<ul>{parts}</ul><p>{'Words. ' * 80}</p>", "http://forum.example/"), None
    )
    shares = [
        [0.1, 0.0, 0.9] if "/part/" in link.url else [0.9, 0.0, 0.1] for link in second.links.links
    ]
    second.given["links"] = np.asarray(shares)
    assert second.lists.boards is not None and len(second.lists.boards.rows) == 12
    assert second.offered(1) == [second.lists.boards]
    below = TwoReadings(
        second.page, None
    )  # the rules found the boards of one heading, the models found the headings
    below.given["links"] = np.asarray(
        [
            [0.9, 0.0, 0.1] if "/forum/1" in link.url else row
            for link, row in zip(second.links.links, shares, strict=True)
        ]
    )
    some = row_set(second.page, [link for link in second.links.links if "/forum/1" in link.url])
    assert some is not None
    below.__dict__["lists"] = BestCandidates(None, some)
    assert [len(rows.rows) for rows in below.offered(1)] == [4, 3]


LAST_ROWS = (
    "<table><tr><th>Thread / Author</th><th>Replies</th><th>Views</th><th>Last"
    " post</th></tr><tr><td><a href='showthread.php?tid=82'>What about the old"
    " pump?</a><br>maria</td><td>0</td><td>7</td><td>17-10-2026 15:53<br>Last post:"
    " maria</td></tr><tr><td><a href='showthread.php?tid=81'>Bread that stays"
    " fresh</a><br>wangfang</td><td>0</td><td>7</td><td>17-10-2026 06:42<br>Last post:"
    " wangfang</td></tr></table>"
)


def test_an_expected_kind_of_which_the_rules_are_certain_stands_against_the_models() -> None:
    page = _page(
        f"{LAST_ROWS}<p>{'Words. ' * 80}</p>", "http://forum.example/forumdisplay.php?fid=3&page=3"
    )
    shares = np.asarray([0.03, 0.95, 0.01, 0.01])
    second = TwoReadings(page, None, {"kind": shares})
    assert (
        second.final_kind(second.kind_shares(PageKind.threadlist), PageKind.threadlist)
        is PageKind.index
    )
    assert second.agreed(PageKind.threadlist) is PageKind.threadlist
    assert (
        second.agreed(PageKind.index) is None
        and second.agreed(PageKind.thread) is None
        and second.agreed(None) is None
    )


def test_two_rows_that_the_rules_take_for_one_are_two() -> None:
    rows = "".join(
        f'<tr><td>{at}</td><td><a href="/topic/{at}-name">Some title {at}</a></td><td>by'
        " anna</td></tr>"
        for at in range(12)
    )
    second = TwoReadings(_page(f"<table>{rows}</table><p>{'Words. ' * 80}</p>"), None)
    second.given["links"] = np.asarray([[0.1, 0.9, 0.0] for _ in second.links.links])
    every_other = row_set(second.page, second.links.links[::2])
    assert every_other is not None and {len(row.record) for row in every_other.rows} == {2}
    second.__dict__["lists"] = BestCandidates(every_other)
    rival = second.both_readings(0)[1]
    assert rival is not None and len(rival.rows) == 12


@pytest.mark.parametrize(
    ("words", "shares", "kind"),
    [
        (80, (0.2, 0.1, 0.1, 0.6), PageKind.other),  # 0.6 exceeds DOUBTED
        (
            80,
            (0.3, 0.2, 0.1, 0.4),
            PageKind.threadlist,
        ),  # the models are uncertain and the rules are not
        (
            0,
            (0.0, 0.0, 0.1, 0.9),
            PageKind.threadlist,
        ),  # the page has too little content for the models
    ],
)
def test_the_rules_settle_a_kind_that_the_models_doubt(
    words: int, shares: tuple[float, ...], kind: PageKind
) -> None:
    rows = "".join(
        f'<tr><td><a href="/topic/{at}-name-{at}">Some title number'
        f" {at}</a></td><td>{at}</td><td>2026-01-0{at} 10:15</td></tr>"
        for at in range(1, 7)
    )
    second = TwoReadings(_page(f"<table>{rows}</table><p>{'Words. ' * words}</p>"), None)
    assert second.final_kind(np.asarray(shares), None) is kind


def test_no_posts_are_learned_on_a_page_that_shows_too_little() -> None:
    body = "<div>{}</div>"
    for text, is_read in (("Loading.", False), ("A text that goes on and on. " * 30, True)):
        second = TwoReadings(_page(body.format(text)), None)
        second.given["bodies"] = np.full(len(second.bodies.nodes), 0.9)
        assert (second.posts is not None) is is_read


def test_candidates_are_chosen_relative_to_the_best_of_their_page() -> None:
    page = _page("".join(f'<p><a href="/x/{at}-name">Name number {at}</a></p>' for at in range(6)))
    clusters = np.zeros((6, 4), dtype=int)
    clusters[:, 1] = clusters[:, 2] = [0, 0, 1, 2, 3, 4]
    low = np.asarray([0.3, 0.28, 0.29, 0.1, 0.02, 0.01])
    assert chosen_links(page.links, clusters, low) == [0, 1, 2]
    assert chosen_links(page.links, clusters, low * 3) == [0, 1, 2]
    weak_like = np.asarray(
        [0.9, 0.3, 0.8, 0.1, 0.02, 0.01]
    )  # 1 scores low, but is chosen: it shares the clusters of 0
    assert chosen_links(page.links, clusters, weak_like) == [0, 1, 2]


def test_what_stands_like_most_of_the_chosen_is_chosen_whatever_its_score() -> None:
    page = _page("".join(f'<p><a href="/x/{at}-name">Name number {at}</a></p>' for at in range(10)))
    clusters = np.zeros((10, 4), dtype=int)
    clusters[:, 1] = clusters[:, 2] = [0] * 8 + [1, 1]
    scores = np.asarray([0.9] * 6 + [0.01, 0.01, 0.9, 0.01])
    assert chosen_links(page.links, clusters, scores) == list(
        range(9)
    )  # 6 of 8 high scores in a cluster are most, 1 of 2 is not


@pytest.mark.parametrize("talks", [True, False])
def test_a_thread_whose_title_leads_off_the_site_is_at_the_link_to_what_is_said_of_it(
    talks: bool,
) -> None:
    rows = "".join(
        f'<tr><td><a href="http://elsewhere{at}.example/">Title number {at}</a></td></tr><tr><td>9'
        f' points <a href="/user?id=a{at}">a{at}</a> <a href="/item?id=9{at}">{at} hours ago</a> <a'
        f' href="/hide?id=9{at}">hide</a>'
        + (
            f' <a href="/item?id=9{at}">{f"{at} comments" if at else "discuss"}</a></td></tr>'
            if talks
            else "</td></tr>"
        )
        for at in range(6)
    )
    page = _page(f"<table>{rows}</table>", "http://forum.example/")
    made = row_set(page, [link for link in page.links if not link.is_local])
    assert made is not None
    records = ThreadRows(made).records()
    assert [record.title for record in records] == [f"Title number {at}" for at in range(6)]
    beside = "http://forum.example/item?id=9{}" if talks else "http://elsewhere{}.example/"
    assert [record.url for record in records] == [beside.format(at) for at in range(6)]
    assert all("point" not in (record.author or "") for record in records)


def test_rows_named_by_their_times_are_titled_by_what_leads_elsewhere() -> None:
    rows = "".join(
        f'<tr><td><a href="http://elsewhere{at}.example/">Title number {at}</a> (<a'
        f' href="/from?site=e{at}">e{at}.example</a>)</td></tr><tr><td>9 points <a'
        f' href="/user?id=a{at}">a{at}</a> <a href="/item?id=9{at}">{at} hours ago</a> <a'
        f' href="/item?id=9{at}">{at + 2} comments</a></td></tr>'
        for at in range(6)
    )
    page = _page(f"<table>{rows}</table>", "http://forum.example/")
    made = row_set(page, [link for link in page.links if link.text.endswith("ago")])
    assert made is not None
    found = [(record.title, record.url, record.replies) for record in ThreadRows(made).records()]
    assert found == [
        (f"Title number {at}", f"http://forum.example/item?id=9{at}", at + 2) for at in range(6)
    ]


def test_of_nested_texts_the_better_one_is_chosen() -> None:
    page = _page("<div><div>one text</div></div><div>another text</div>")
    outline = page.outline
    divs = [node for node, tag in enumerate(outline.tags) if tag == "div"]
    assert chosen_bodies(outline, np.asarray(divs), np.asarray([0.6, 0.8, 0.7])) == [1, 2]


def test_a_text_in_the_place_of_most_texts_is_one_however_low_its_score() -> None:
    page = _page(
        "".join(f"<div class=post><div class=text>text {at}</div></div>" for at in range(4))
        + "<div class=foot>foot</div>"
    )
    outline = page.outline
    nodes = np.asarray(
        [node for node, name in enumerate(outline.classes) if name in ("text", "foot")]
    )
    scores = np.asarray([0.6, 0.1, 0.6, 0.6, 0.1])
    assert chosen_bodies(outline, nodes, scores) == [0, 2, 3]
    assert chosen_bodies(outline, nodes, scores, TwoReadings(page, None).signals.chains) == [
        0,
        1,
        2,
        3,
    ]


def test_rows_stand_around_links_of_several_shapes() -> None:
    rows = [
        (
            '<li class="row"><h3><a href="/wordpress/first">First title</a></h3> <span>3'
            " replies</span></li>"
        ),
        (
            '<li class="row"><b><a href="/word-press/2-second">Second title</a></b> <span>4'
            " replies</span></li>"
        ),
        (
            '<li class="row pinned"><p><em><a href="/p.php?id=9">Third title</a></em></p> <span>5'
            " replies</span></li>"
        ),
    ]
    page = _page(f"<ul>{''.join(rows)}</ul>")
    made = row_set(page, list(page.links))
    assert made is not None
    assert [row.text for row in made.rows] == [
        "First title 3 replies",
        "Second title 4 replies",
        "Third title 5 replies",
    ]


def test_one_key_for_many_things_tells_nothing_apart() -> None:
    page = _page(
        "".join(
            f'<p><a href="/t/5/?name=a{at}">Title {word}</a></p>'
            for at, word in enumerate("abcdef")
        )
    )
    assert len(set(identities(page.links))) == len({link.url for link in page.links}) == 6


def test_posts_without_times_have_none() -> None:
    posts = "".join(
        f'<div class="c"><b>anna{at}</b><div class="t">Some words that say {at} things.</div></div>'
        for at in range(3)
    )
    page = _page(posts, "http://forum.example/topic/7")
    outline = page.outline
    bodies = [node for node, name in enumerate(outline.classes) if name == "t"]
    records = [record for _, record in LearnedPosts(page, bodies).records()]
    assert [record.text for record in records] == [
        f"Some words that say {at} things." for at in range(3)
    ]
    assert {record.posted for record in records} == {None}
