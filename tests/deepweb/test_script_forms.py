"""Forms submitted by scripts, where the request can be read from the page; large forms split into
parts; "load more" buttons that contain an address."""

from __future__ import annotations

import lxml.html
import pytest

from deepweb.paging import next_page
from deepweb.search_forms import Form, ScriptRequest, read_forms
from deepweb.submission import fill

BOX = '<form id=f onsubmit="return go()"><input id=w name=w><button>Search</button></form>'
CALLS = (
    "fetch('/api/find?lang=en&q=' + encodeURIComponent(w)).then(show)",
    "fetch(`/api/find?lang=en&q=${encodeURIComponent(w)}`)",
    "$.getJSON('/api/find?lang=en', {q: w}, show)",
    "axios.get('/api/find?lang=en', {params: {q: w}})",
    "x.open('GET', '/api/find?lang=en&q=' + w)",
)


@pytest.mark.parametrize("call", CALLS)
def test_a_plain_request_of_a_script_is_what_the_form_sends(call: str) -> None:
    form = read_forms(
        f"{BOX}<script>function go() {{ {call}; return false }}</script>", "http://x.org/s/"
    )[0]
    assert (
        fill(form, {"q": "red house"}).url == "http://x.org/api/find?lang=en&q=red+house"
        and not form.scripted
    )


@pytest.mark.parametrize(
    "script",
    [
        "go = build(secret)",
        "fetch('https://other.example/find?q=' + w)",
        "fetch('/log?event=' + w)",
    ],
)
def test_a_request_that_is_not_plain_is_said_to_need_a_browser(script: str) -> None:
    form = read_forms(f"{BOX}<script>{script}</script>", "http://x.org/")[0]
    assert form.scripted and [field.name for field in form.fields if field.kind == "text"] == ["w"]


def test_an_ordinary_form_is_left_alone_whatever_scripts_do() -> None:
    page = f"<form action=/find><input name=words></form><script>{CALLS[0]}</script>"
    form = read_forms(page, "http://x.org/")[0]
    assert (form.action, form.scripted, form.fields[0].name) == (
        "http://x.org/find",
        False,
        "words",
    )
    assert ScriptRequest("a", "q").fixed == ()


ASPNET = (
    "<form method=post action=/><input type=hidden name=__VIEWSTATE value=abc><div><input"
    " name=ctl00$find><input type=submit name=ctl00$go value=Search></div><div>Newsletter <input"
    " name=ctl00$mail placeholder='E-mail'><input type=submit name=ctl00$send"
    " value=Subscribe></div></form>"
)


def names(form: Form) -> list[str]:
    return [field.name for field in form.fields]


def test_a_page_that_is_one_form_is_cut_by_its_buttons() -> None:
    first, second = read_forms(ASPNET, "http://x.org/")
    assert names(first) == ["__VIEWSTATE", "ctl00$find", "ctl00$go"] and names(second)[1:] == [
        "ctl00$mail",
        "ctl00$send",
    ]
    assert first.method == second.method == "post" and first.signature != second.signature
    assert "ctl00%24mail" not in fill(first, {"ctl00$find": "x"}).body
    assert len(read_forms(ASPNET, "http://x.org/", cut=False)) == 1
    assert len(read_forms(ASPNET.replace("__VIEWSTATE", "state"), "http://x.org/")) == 1


@pytest.mark.parametrize(
    "button",
    [
        '<button data-url="/find?q=a&at=2">Load more</button>',
        '<a class=more data-next-url="/find?q=a&at=2">Show more</a>',
        '<button hx-get="/find?q=a&at=2">Next</button>',
    ],
)
def test_a_button_that_loads_more_names_the_next_page(button: str) -> None:
    form = read_forms("<form action=/find><input name=q></form>", "http://x.org/")[0]
    root = lxml.html.document_fromstring(f"<html><body><ul><li>one</li></ul>{button}</body></html>")
    found = next_page(
        root, "http://x.org/find?q=a", form, {"q": "a"}, number=1, size=10, may_post=False
    )
    assert found is not None and (found.submission.url, found.by) == (
        "http://x.org/find?q=a&at=2",
        "more",
    )
