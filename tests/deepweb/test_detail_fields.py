"""Fields of detail pages, and of lists with unusual markup (such as an issue tracker's)."""

import pytest

from deepweb.answers.page import Context, merged, read_answer, read_detail
from deepweb.answers.record_fields import with_link_title
from deepweb.answers.result_list import PageTemplate
from deepweb.search_forms import read_forms


def test_a_ticket_keeps_title_status_and_text_apart() -> None:
    page = """<html><body><div class="date"><p>Opened <a class="timeline" href="/t">2 days ago</a>\
</p></div>
    <h2><a class="id" href="/7">#7</a> <span class="status"><a href="/q?status=new">new</a></span>\
</h2>
    <h1 id="t"><span class="summary">Pump leaks</span></h1>
    <table><tr><th>Reported by:</th><td>anna</td><th>Owned by:</th><td>bert</td></tr>
    <tr><th>Keywords:</th><td></td><th>Cc:</th><td></td></tr></table>
    <div class="description"><h2>Description</h2><div><p>It leaks at night.</p>\
<p>Expected: it holds.</p></div></div>
    <div><h3>Other formats:</h3></div><p class="left">Powered by<br>Pumps 1.6</p></body></html>"""
    fields = read_detail(page, PageTemplate(lines=frozenset({"Powered by", "Pumps 1.6"})))
    assert fields["title"] == "Pump leaks" and fields["status"] == "new" and fields["id"] == "#7"
    assert (
        fields["text"] == "It leaks at night.\nExpected: it holds."
        and fields["text 2"] == "Opened 2 days ago"
    )
    assert fields["Reported by"] == "anna" and fields["Owned by"] == "bert"
    assert "Cc" not in fields and "Keywords" not in fields and "left" not in fields


def test_the_link_of_a_term_is_the_title_however_it_is_styled() -> None:
    rows = "".join(
        f'<dt><a href="/t/{n}" class="searchable"><b>#{n}</b>: pump {n} (new)</a></dt><dd'
        f' class="searchable">It leaks {n}.</dd>'
        for n in (3, 5, 8, 13)
    )
    page = (
        "<html><body><form action=/find><input name=q></form><dl"
        f" id=results>{rows}</dl></body></html>"
    )
    known = Context(
        read_forms(page, "http://s.example/find")[0],
        {"q": "pump"},
        1,
        0,
        PageTemplate(),
        None,
        False,
        "utf-8",
    )
    found = read_answer(page, "http://s.example/find", known).records
    assert [record.fields["title"] for record in found] == [
        f"#{n}: pump {n} (new)" for n in (3, 5, 8, 13)
    ]
    assert [record.fields["searchable"] for record in found] == [
        f"It leaks {n}." for n in (3, 5, 8, 13)
    ]


def test_the_column_of_titles_is_the_title_in_every_language() -> None:
    for head in ("Title", "标题", "TITEL"):
        rows = "".join(
            f"<tr><td>{n}</td><td><a href='/issue{n}'>Pump {n} leaks again</a></td></tr>"
            for n in (3, 5, 8, 13)
        )
        page = (
            "<html><body><form action=/find><input name=q></form><table>"
            f"<tr><th>ID</th><th>{head}</th></tr>{rows}</table></body></html>"
        )
        form = read_forms(page, "http://s.example/find")[0]
        known = Context(form, {"q": "pump"}, 1, 0, PageTemplate(), None, False, "utf-8")
        found = read_answer(page, "http://s.example/find", known).records
        assert [record.fields["title"] for record in found] == [
            f"Pump {n} leaks again" for n in (3, 5, 8, 13)
        ]


@pytest.mark.parametrize(
    ("listed", "heading", "title"),
    [
        ("Pump 3 leaks again", "Issue251; msg251 (view)", "Pump 3 leaks again"),
        ("n889", "Terminals served by sockets", "Terminals served by sockets"),
        ("#3: defect: Pump leaks (new)", "Pump leaks", "Pump leaks"),
        ("Pump 3 leaks ag…", "Pump 3 leaks again and again", "Pump 3 leaks again and again"),
        ("水泵又漏水了", "问题251", "水泵又漏水了"),
        ("", "Pump", "Pump"),
    ],
)
def test_a_heading_that_names_something_else_is_no_title(
    listed: str, heading: str, title: str
) -> None:
    found = merged({"title": listed, "year": "1999"} if listed else {}, {"title": heading})
    assert found["title"] == title


def test_a_cell_of_title_and_text_has_the_words_of_its_link_as_title() -> None:
    rows = "".join(
        f"<tr><td>{n}</td><td><a href='http://s{n}.example/p'>Pump {n} leaks</a><br>About the"
        f" pump number {n}.</td></tr>"
        for n in (3, 5, 8, 13)
    )
    page = f"<table><tr><th>Nr</th><th>Entry</th></tr>{rows}</table>"
    form = read_forms("<form action=/find><input name=q></form>", "http://s.example/find")[0]
    known = Context(form, {"q": "pump"}, 1, 0, PageTemplate(), None, False, "utf-8")
    found = read_answer(f"<html><body>{page}", "http://s.example/find", known).records
    assert [record.fields["title"] for record in found] == [
        f"Pump {n} leaks" for n in (3, 5, 8, 13)
    ]
    plain = {"Name": "Pump 3 leaks", "year": "1999"}
    assert with_link_title(plain, "Pump 3 leaks") == plain
