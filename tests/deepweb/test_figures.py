"""Each figure of a harvest has one value: counters, JSON, desk and chart agree with a recount from
the stored queries."""

from __future__ import annotations

import re

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from deepweb import reads
from deepweb.models import COUNTED, Form, Harvest, Query, QueryState, Record
from tests.crawlmgr.admin.rows import tight
from tests.deepweb.test_admin import client
from tests.deepweb.test_harvest import found, harvest, the_form
from tests.site.search import SearchServer, SearchSite

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def fresh_hosts() -> None:
    from crawlmgr.frontier import hosts

    hosts.forget()


def test_every_figure_agrees_with_a_recount_from_the_database() -> None:
    with SearchServer(SearchSite(books=250, layout="list", a_page=40)) as server:
        found(server)
        run = harvest(the_form(), queries=24, probes=20, details=15)
        asked = [line for line in server.site.log if "/search?" in line]
    row, result = Harvest.objects.get(), run.result
    counted = list(
        Query.objects.filter(harvest=row, kind__in=(*COUNTED, "probe")).order_by("number")
    )
    returned = {pk for query in counted for pk in query.found}
    assert result["probes"] == sum(query.kind == "probe" for query in counted) > 0
    assert result["queries"] == row.queries == len(counted) == len(result["curve"])
    assert result["valid"] == row.valid == sum(query.state == QueryState.VALID for query in counted)
    assert (
        result["records"]
        == row.records
        == len(returned)
        == Record.objects.count()
        == result["curve"][-1][1]
    )
    assert result["returned"] == row.returned == sum(len(query.found) for query in counted)
    assert (
        result["requests"]
        == row.requests
        == sum(q.requests for q in Query.objects.all())
        == len(asked)
    )
    assert sum(query.new for query in counted) == len(returned)
    assert (
        result["records_per_query"]
        == len(returned) / len(counted)
        <= max(query.returned for query in counted)
    )
    assert (
        result["details"]
        == result["detail_requests"]
        == 15
        >= Record.objects.filter(detail_at__isnull=False).count()
    )
    answers = [
        query for query in counted if query.kind != "probe" and query.state == QueryState.VALID
    ]
    assert result["policy_share_of_cuts"] == sum(query.overflowed for query in answers) / len(
        answers
    )
    assert (result["estimated_total"] is None) == bool(result["estimate_reason"])
    assert run.requests == result["requests"] + result["detail_requests"]
    viewer = client("viewer")
    page = tight(viewer.get(reverse("admin:harvest", args=[row.pk])))
    facts = {
        name: numbers_in(shown)
        for name, shown in re.findall(r"<dt>([^<]+)</dt><dd>(.*?)</dd>", page)
    }
    low, high = result["estimated_total"] or (None, None)
    assert facts == {
        "Queries": [len(counted), result["probes"]],
        "Queries with records": [sum(query.state == QueryState.VALID for query in counted)],
        "Efficiency": [round(100 * row.valid / len(counted))],
        "Records": [len(returned)],
        "Records per query": [round(len(returned) / len(counted), 1)],
        "Records returned (with repeats)": [sum(len(query.found) for query in counted)],
        "Queries with truncated results": [round(100 * result["policy_share_of_cuts"])],
        "Requests": [len(asked)],
        "Detail pages": [result["details"]],
        "Estimated total records": [] if low is None else [round(low), round(high)],
        "Coverage": (
            []
            if low is None
            else [round(100 * len(returned) / high), min(100, round(100 * len(returned) / low))]
        ),
    }
    queries = re.findall(r'<tr><td class="num">(\d+)</td>.*?</tr>', page)
    assert [int(number) for number in queries] == [
        query.number for query in Query.objects.order_by("-number")[:50]
    ]
    tile = viewer.get(reverse("admin:index")).content.decode()
    assert f"{len(counted)} queries" in tile, "the first page counts queries as the harvest does"


def numbers_in(shown: str) -> list[float]:
    """The numbers of one figure as shown on the page, without markup."""
    return [
        float(number.replace(",", ""))
        for number in re.findall(r"\d[\d,.]*", re.sub(r"<[^>]*>", " ", shown))
    ]


def test_our_own_stop_is_no_cut_of_the_site() -> None:
    with SearchServer(
        SearchSite(books=300, layout="list", paging="link", states_total=True)
    ) as server:
        found(server)
        run = harvest(the_form(), queries=12, max_pages=2, seed_terms=["river", "stone"])
    partial = Query.objects.filter(partial=True)
    assert partial.exists() and all(query.returned == 20 for query in partial)
    assert (
        not Query.objects.filter(overflowed=True).exists()
        and run.result["policy_share_of_cuts"] == 0
    )
    assert all(query.total is not None and query.total > 20 for query in partial), (
        "totals are known all the same"
    )


def test_what_can_not_be_asked_at_all_is_said_and_ends_with_status_one() -> None:
    with SearchServer(SearchSite(books=30)) as server:
        found(server)
        form = the_form()
        action = form.action.replace("/search", "/private/search")
        Form.objects.filter(pk=form.pk).update(described={**form.described, "action": action})
        with pytest.raises(CommandError) as ended:
            call_command(
                "deepweb", "harvest", str(form.pk), "--allow-private", "--delay", "0", "--json"
            )
        assert ended.value.returncode == 1 and str(ended.value) == "not asked: robots"
        assert reads.nothing_was_asked(Harvest.objects.get().run) == "not asked: robots"
