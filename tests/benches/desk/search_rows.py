"""Fills the database for `bench desk` with generated search sites, forms, harvests, queries and
records."""

from __future__ import annotations

from crawlmgr.models import Run
from deepweb.forms.stored import form_to_json
from deepweb.models import Cluster, Form, Harvest, Query, Record, Source
from deepweb.search_forms import read_forms
from tests.benches.desk.bulk import Sizes, Sql, insert

FORMS = 3  # number of forms per site
QUERIES_OF_A_HARVEST = 60
PAGE = (
    "<form action=/search><label for=q>Search</label><input id=q name=q><input type=submit></form>"
)


def fill(sizes: Sizes) -> None:
    """Inserts the rows, in numbers that follow from `sizes`: a search site for every three forums,
    each form harvested once, and one record for every twenty posts.
    """
    now, sources, first = sizes.now, max(1, sizes.forums // 3), sizes.runs + 100
    forms, records = sources * FORMS, sizes.posts // 20
    described = form_to_json(read_forms(PAGE, "http://catalogue.example/")[0])
    insert(
        Source,
        sources,
        id=Sql("i + 1"),
        url=Sql("printf('http://catalogue%d.example/', i)"),
        key_hash=Sql("i"),
        name=Sql("printf('Catalogue %d', i)"),
        created=now,
        looked_at=now,
        pages=30,
        records=records // sources,
    )
    insert(
        Cluster,
        5,
        id=Sql("i + 1"),
        name=Sql("printf('Books %d', i)"),
        terms=["book", "author"],
        forms_count=forms // 5,
        made=now,
    )
    insert(
        Form,
        forms,
        id=Sql("i + 1"),
        source_id=Sql(f"1 + i / {FORMS}"),
        signature=Sql("printf('%016d', i)"),
        page_url="http://catalogue.example/",
        action="http://catalogue.example/search",
        method="get",
        type=Sql(f"CASE WHEN i % {FORMS} = 0 THEN 'search' ELSE 'login' END"),
        confidence=0.9,
        searchable=Sql(f"i % {FORMS} = 0"),
        described=described,
        cluster_id=Sql("1 + i % 5"),
        found=now,
        language="en",
        words={"page": {"book": 1.0}, "form": {"book": 1.0}},
    )
    insert(
        Run,
        forms,
        id=Sql(f"{first} + i"),
        kind="deepweb-harvest",
        label="Catalogue",
        target=Sql("i + 1"),
        state="finished",
        stopped_by="queries",
        created=now,
        started=now,
        finished=now,
        begun=True,
        parameters={
            "forms": [],
            "queries": 60,
            "policy": "paper",
            "probes": 0,
            "seed_terms": ["book"],
        },
    )
    insert(
        Harvest,
        forms,
        id=Sql("i + 1"),
        run_id=Sql(f"{first} + i"),
        form_id=Sql("i + 1"),
        queries=QUERIES_OF_A_HARVEST,
        valid=50,
        requests=70,
        returned=900,
        records=500,
        ended=True,
        stopped_by="queries",
    )
    insert(
        Query,
        forms * QUERIES_OF_A_HARVEST,
        harvest_id=Sql(f"1 + i / {QUERIES_OF_A_HARVEST}"),
        number=Sql(f"i % {QUERIES_OF_A_HARVEST}"),
        kind="policy",
        terms=[["q", "book"]],
        state="valid",
        pages=1,
        requests=1,
        returned=20,
        new=9,
        records_after=Sql(f"9 * (i % {QUERIES_OF_A_HARVEST})"),
        requests_after=Sql(f"i % {QUERIES_OF_A_HARVEST}"),
        sent_at=now,
        ended_at=now,
    )
    fields = Sql("""printf('{"title": "Book %d", "author": "Author %d"}', i, i % 977)""")
    insert(
        Record,
        records,
        id=Sql("i + 1"),
        source_id=Sql(f"1 + i % {sources}"),
        form_id=Sql(f"1 + {FORMS} * (i % {sources})"),
        key_hash=Sql("i"),
        url=Sql("printf('http://catalogue.example/book/%d', i)"),
        fields=fields,
        listed=fields,
        text=Sql("printf('Book %d Author %d', i, i % 977)"),
        first_seen=now,
    )


def arguments(sizes: Sizes) -> dict[str, dict[str, object]]:
    """Returns the URL arguments with which `bench desk` opens the views of one object, by view
    name."""
    return {
        name: {"pk": 1} for name in ("source", "source-delete", "search-form", "harvest", "record")
    }


QUERIES = {
    "records": ("q=Book", "q=Author+976", "q=nothing", "last", "site=1", "sort=-first_seen"),
    "harvests": ("sort=records", "show=active"),
    "harvest": ("part=live", "last"),
    "source": ("part=live",),
    "sources": ("sort=records", "sort=search", "sort=-inspected", "q=catalogue+9", "last"),
}
"""Query strings with which `bench desk` also measures views, by view name."""
