"""Charts on the page of a topic run: pheromone of the links taken (ant colony) and Pareto fronts,
both compared with values computed by hand; other strategies have no such charts."""

from __future__ import annotations

import pytest
from django.test import Client

from focused import reads
from focused.admin import charts
from focused.models import TopicPage
from tests.crawlmgr.admin.rows import user
from tests.focused.test_crawl import crawled, topic_of, web
from tests.focused.topical import TopicalWeb

__all__ = ["web"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("strategy", "shown"),
    [
        ("ant_colony", {"chart-pheromone", "chart-fronts"}),
        ("space_evolution", {"chart-fronts"}),
        ("best_first", set()),
    ],
)
def test_a_run_shows_what_its_strategy_has(web: TopicalWeb, strategy: str, shown: set[str]) -> None:
    run = crawled(topic_of(web), strategy, pages=30)
    reader = Client()
    reader.force_login(user("viewer"))
    text = reader.get(f"/admin/topics/run/{run.pk}/").content.decode()
    assert {name for name in ("chart-pheromone", "chart-fronts") if f'"{name}"' in text} == shown
    if shown:
        reasons = reads.reasons(run.pk, 30)
        scored = [one for one in reasons if "target" in one.score_parts]
        assert (
            len(reasons) == TopicPage.objects.filter(run=run, kind=TopicPage.Kind.PAGE).count()
            and len(scored) > 15
        )
        drawn = charts.walked(reasons)[-1].figure["data"]
        assert sum(len(one["x"]) for one in drawn) == len(scored)


def test_fronts_and_pheromone_by_hand() -> None:
    def reason(
        number: int, relevant: bool, anchor: float, page: float, target: float, tau: float
    ) -> reads.Reason:
        return reads.Reason(
            number, relevant, {"anchor": anchor, "page": page, "target": target, "pheromone": tau}
        )

    given = [
        reason(0, True, 0.9, 0.1, 0.1, 1.0),
        reason(1, False, 0.1, 0.1, 0.9, 2.0),
        reason(2, True, 0.1, 0.1, 0.8, 3.0),
        reason(3, True, 0.05, 0.1, 0.7, 0.5),
        reason(4, True, 0.01, 0.0, 0.0, 0.5),
        reads.Reason(5, True, {}),
    ]
    pheromone, found = charts.walked(given)
    assert [(one["x"], one["y"]) for one in pheromone.figure["data"]] == [
        ([1, 3, 4, 5], [1.0, 3.0, 0.5, 0.5]),
        ([2], [2.0]),
    ]
    rest, first, second, third = (
        [*zip(one["x"], one["y"], strict=True)] for one in found.figure["data"]
    )
    assert (first, second, third, rest) == (
        [(0.1, 0.9), (0.9, 0.1)],
        [(0.8, 0.1)],
        [(0.7, 0.05)],
        [(0.0, 0.01)],
    )
    assert [one.empty for one in charts.walked([])] == [
        "No link scored by anchor, page and target has been followed yet."
    ]
