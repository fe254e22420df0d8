"""Charts of topics: words and their weights, pages found over a run, lengths of tunnels, and
compared strategies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from django.utils.translation import gettext as _

from crawlmgr.admin.charts import BAD, COLOURS, NEW, UPDATED, Chart, Series, chart
from focused import reads
from focused.lab.evaluate import IMPORTANT_PAGES
from focused.models import TopicRun
from focused.strategies.pareto import fronts

WORDS_SHOWN = 30


def lexicon(vector: Mapping[str, float]) -> Chart:
    """Makes a bar chart of the WORDS_SHOWN words with the greatest weights in the topic's vector,
    as in its reading, and of up to ten words with negative weights, which are drawn below zero."""
    top = sorted(vector.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = [*top[:WORDS_SHOWN], *[pair for pair in top[WORDS_SHOWN:] if pair[1] < 0][:10]]
    names = [word for word, _weight in shown]
    good = [weight if weight > 0 else None for _word, weight in shown]
    bad = [weight if weight < 0 else None for _word, weight in shown]
    series = [Series(_("raises relevance"), names, good, NEW)]
    if any(bad):
        series.append(Series(_("lowers relevance"), names, bad, BAD))
    note = _("the %(number)s heaviest of %(all)s words") % {"number": len(shown), "all": len(top)}
    title, weight = _("Words of the topic"), _("weight (heaviest word of the samples = 1)")
    empty = _("The topic has no words yet: add samples or keywords.")
    return chart(
        "chart-lexicon",
        title,
        series,
        x=_("word"),
        y=weight,
        note=note,
        dates=False,
        each=True,
        empty=empty,
    )


def shares(parts: Sequence[tuple[str, float]]) -> Chart:
    """Makes a bar chart of each word's contribution to a score, from pairs of word and
    contribution."""
    names = [word for word, _share in parts]
    series = [
        Series(
            _("raises relevance"),
            names,
            [share if share > 0 else None for _word, share in parts],
            NEW,
        ),
        Series(
            _("lowers relevance"),
            names,
            [share if share < 0 else None for _word, share in parts],
            BAD,
        ),
    ]
    kept = [one for one in series if any(one.y)] or series[:1]
    title, empty = (
        _("Explanation: contribution of each word"),
        _("The text contains no word of the topic."),
    )
    return chart(
        "chart-why",
        title,
        kept,
        x=_("word"),
        y=_("share of the score"),
        dates=False,
        each=True,
        empty=empty,
    )


def harvest(row: TopicRun) -> Chart:
    """Makes a line chart over the number of fetched pages: pages on topic and the harvest rate so
    far, as estimated from the marks."""
    points = row.harvest.get("curve", [])
    x = [fetched for fetched, _relevant in points]
    series = [
        Series(_("pages on topic"), x, [relevant for _fetched, relevant in points], NEW, line=True),
        Series(
            _("harvest rate"),
            x,
            [relevant / fetched for fetched, relevant in points],
            UPDATED,
            line=True,
            second_axis=True,
        ),
    ]
    axes: dict[str, Any] = {
        "x": _("pages fetched"),
        "y": _("pages on topic"),
        "y2": _("harvest rate (share)"),
    }
    empty = (
        _("Not enough to tell: mark ten pages.")
        if row.harvest_rate is None
        else _("No page is on topic.")
    )
    return chart("chart-harvest", _("Harvest"), series, numbers=True, empty=empty, **axes)


def tunnels(row: TopicRun) -> Chart:
    """Makes a bar chart of the lengths of tunnels: numbers of off-topic pages on a path, and how
    many pages on topic were reached through as many."""
    lengths = {int(length): n for length, n in row.harvest.get("tunnels", {}).items()}
    top = max(lengths, default=0)
    names = [str(length) for length in range(1, top + 1)]
    values = [lengths.get(length, 0) for length in range(1, top + 1)]
    empty = (
        _("Not enough to tell: mark ten pages.")
        if row.harvest_rate is None
        else _("No page on topic has been reached through pages off topic yet.")
    )
    axes: dict[str, Any] = {"x": _("tunnel length (pages off topic)"), "y": _("pages on topic")}
    return chart(
        "chart-tunnels",
        _("Tunnels"),
        [Series(_("pages"), names, values, COLOURS[3])],
        dates=False,
        empty=empty,
        **axes,
    )


def walked(reasons: Sequence[reads.Reason]) -> list[Chart]:
    """Makes the charts of a run whose strategy scores links by three objectives: relevance of the
    anchor, of the page and of the target. A scatter chart shows the links in `reasons` by anchor
    and target; colours mark the Pareto fronts over all three. If the strategy uses pheromone, a
    chart of the pheromone of each link when it was chosen comes first.
    """
    scored = [one for one in reasons if {"anchor", "page", "target"} <= one.score_parts.keys()]
    found = [_fronts(scored)]
    if any("pheromone" in one.score_parts for one in scored):
        series = []
        for name, relevant, colour in (
            (_("led to a page on topic"), True, NEW),
            (_("led off topic"), False, COLOURS[8]),
        ):
            own = [one for one in scored if one.relevant == relevant]
            heights = [one.score_parts["pheromone"] for one in own]
            series.append(Series(name, [one.number + 1 for one in own], heights, colour, dots=True))
        axes: dict[str, Any] = {"x": _("pages fetched"), "y": _("pheromone (τ)")}
        found.insert(
            0,
            chart(
                "chart-pheromone",
                _("Pheromone of the links followed"),
                series,
                numbers=True,
                **axes,
            ),
        )
    return found


def _fronts(scored: Sequence[reads.Reason]) -> Chart:
    """Makes a scatter chart of links by the relevance of the anchor and the expected relevance of
    the target; the first three Pareto fronts over the three objectives have colours of their own.
    """
    points = np.array(
        [
            [one.score_parts["anchor"], one.score_parts["page"], one.score_parts["target"]]
            for one in scored
        ]
    ).reshape(-1, 3)
    names = [_("first Pareto front"), _("second Pareto front"), _("third Pareto front")]
    series, left = [], set(range(len(scored)))
    for name, colour, front in zip(names, (BAD, COLOURS[2], NEW), fronts(points), strict=False):
        series.append(
            Series(name, points[front, 2].tolist(), points[front, 0].tolist(), colour, dots=True)
        )
        left -= set(front.tolist())
    rest = sorted(left)
    name = _("further Pareto fronts")
    series.insert(
        0, Series(name, points[rest, 2].tolist(), points[rest, 0].tolist(), COLOURS[8], dots=True)
    )
    axes: dict[str, Any] = {
        "x": _("expected relevance of the target"),
        "y": _("relevance of the anchor"),
    }
    title, empty = (
        _("Pareto fronts of the objectives"),
        _("No link scored by anchor, page and target has been followed yet."),
    )
    note = _(
        "a link is in the first Pareto front if no other link is at least as good in anchor, page"
        " and target and better in one of them"
    )
    return chart("chart-fronts", title, series, numbers=True, note=note, empty=empty, **axes)


def compared(
    results: Sequence[Mapping[str, Any]], pages_in_archive: int | None = None
) -> list[Chart]:
    """Makes charts of the strategies' curves from `results`, the rows of `laboratory.gathered`:
    pages found, harvest rate, similarity, important pages, and lengths of tunnels. Charts of
    important pages are left out if the archive has no more pages than are counted as important."""
    found: list[Series] = []
    rates: list[Series] = []
    likeness: list[Series] = []
    important: list[Series] = []
    ranked: list[Series] = []
    for index, one in enumerate(results):
        colour = COLOURS[index % len(COLOURS)]
        x = [fetched for fetched, _relevant in one["curve"]]
        found.append(
            Series(
                one["strategy"], x, [relevant for _f, relevant in one["curve"]], colour, line=True
            )
        )
        rates.append(
            Series(one["strategy"], x, [r / f for f, r in one["curve"]], colour, line=True)
        )
        similarity = one["similarity_curve"]
        steps = [one["fetched"] * (n + 1) / max(1, len(similarity)) for n in range(len(similarity))]
        for series, name in ((important, "important_curve"), (ranked, "pagerank_curve")):
            points = one.get(name, [])
            series.append(
                Series(
                    one["strategy"],
                    [f for f, _n in points],
                    [n for _f, n in points],
                    colour,
                    line=True,
                )
            )
        likeness.append(Series(one["strategy"], steps, similarity, colour, line=True))
    fetched, first = _("pages fetched"), _("fetched of the 100 most important")
    of_importance = [
        chart(
            "chart-important",
            _("Important pages (HITS)"),
            important,
            x=fetched,
            y=first,
            numbers=True,
        ),
        chart(
            "chart-ranked",
            _("Important pages (PageRank)"),
            ranked,
            x=fetched,
            y=first,
            numbers=True,
        ),
    ]
    return [
        chart(
            "chart-found",
            _("Pages on topic"),
            found,
            x=fetched,
            y=_("pages on topic"),
            numbers=True,
        ),
        chart(
            "chart-rates",
            _("Harvest rate"),
            rates,
            x=fetched,
            y=_("pages on topic per page fetched (share)"),
            numbers=True,
        ),
        chart(
            "chart-likeness",
            _("Mean similarity to the topic"),
            likeness,
            x=fetched,
            y=_("mean cosine similarity"),
            numbers=True,
        ),
        *(of_importance if pages_in_archive is None or pages_in_archive > IMPORTANT_PAGES else []),
        _lengths(results),
    ]


def so_far(trails: Mapping[str, Sequence[bool]]) -> list[Chart]:
    """Returns charts of the pages on topic and the harvest rate for a comparison that is still
    running, from finished repetitions. `trails`: for each strategy, whether each fetched page was
    on topic, in order."""
    found, rates = [], []
    for index, (name, marks) in enumerate(trails.items()):
        x, sums, colour = (
            list(range(1, len(marks) + 1)),
            np.cumsum(np.asarray(marks, dtype=int)),
            COLOURS[index % len(COLOURS)],
        )
        found.append(Series(name, x, [int(number) for number in sums], colour, line=True))
        rates.append(
            Series(
                name,
                x,
                [int(number) / n for n, number in zip(x, sums, strict=True)],
                colour,
                line=True,
            )
        )
    fetched, share = _("pages fetched"), _("pages on topic per page fetched (share)")
    note = _("one finished repetition of each strategy, judged by the topic's own words")
    return [
        chart(
            "chart-found",
            _("Pages on topic so far"),
            found,
            x=fetched,
            y=_("pages on topic"),
            numbers=True,
            note=note,
        ),
        chart("chart-rates", _("Harvest rate so far"), rates, x=fetched, y=share, numbers=True),
    ]


def _lengths(results: Sequence[Mapping[str, Any]]) -> Chart:
    top = max((int(length) for one in results for length in one["tunnel_lengths"]), default=0)
    names = [str(length) for length in range(1, top + 1)]
    series = [
        Series(
            one["strategy"],
            names,
            [one["tunnel_lengths"].get(name, 0) for name in names],
            COLOURS[index % len(COLOURS)],
        )
        for index, one in enumerate(results)
    ]
    empty = _("No page on topic has been reached through pages off topic yet.")
    axes: dict[str, Any] = {
        "x": _("tunnel length (pages off topic)"),
        "y": _("pages on topic, all strategies"),
    }
    return chart("chart-lengths", _("Tunnels"), series, dates=False, empty=empty, **axes)
