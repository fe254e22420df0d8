"""Tests how result pages, pages without results and error pages are distinguished, which templates
(sets of inputs) are worth querying, and what a form submits."""

from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest

from crawlmgr.web.pages.outline import outline
from deepweb.answers.page import filled_by_script
from deepweb.answers.result_list import page_lines
from deepweb.answers.totals import (
    ResultKind,
    judge,
    learn_no_result_pages,
    nonsense_word,
)
from deepweb.forms.classifier import Classification
from deepweb.forms.templates import (
    choices_of,
    inputs_of,
    is_informative,
    query_input,
    ranges,
)
from deepweb.forms.types import FormType
from deepweb.search_forms import parse_page, read_forms
from deepweb.submission import fill, refusal

FURNITURE = "\n".join(
    f"Menu entry {word} of the library catalogue"
    for word in ("books", "maps", "prints", "letters", "music")
)


def page(query, *records, count=0):
    said = "\n".join(records) or f"Sorry, nothing was found for {query}. Try other words."
    return (
        f"{FURNITURE}\nYou searched: {query}\n{count} results in 0.0{len(query)}"
        f" seconds\n{said}\nVisitors today: {len(query) * 37}"
    )


@pytest.fixture
def nothing():
    words = [nonsense_word(np.random.default_rng(seed)) for seed in (1, 2)]
    return learn_no_result_pages([(page(word), [word]) for word in words])


def test_nonsense_is_nonsense():
    word = nonsense_word(np.random.default_rng(1))
    assert (
        len(word) == 12
        and not set(word) & set("aeiouy")
        and word != nonsense_word(np.random.default_rng(2))
    )


def test_pages_are_judged_by_what_they_say_besides_the_template(nothing):
    assert judge(200, page("zebra"), ["zebra"], 0, nothing) is ResultKind.NO_RESULTS
    assert (
        judge(200, page("zebra"), ["zebra"], 7, nothing) is ResultKind.NO_RESULTS
    )  # seven menu entries are not records
    one = page("zebra", "The striped horse: a study of zebra herds", count=1)
    assert judge(200, one, ["zebra"], 1, nothing) is ResultKind.VALID
    assert judge(200, one, ["zebra"], 0, nothing) is ResultKind.NO_RESULTS
    assert judge(500, one, ["zebra"], 1, nothing) is ResultKind.ERROR
    assert judge(200, one, ["zebra"], 1, None) is ResultKind.VALID


def test_answers_to_nonsense_that_differ_are_compared_by_fingerprint():
    tip = (
        "Have a look at our newest acquisitions from the estate of the botanist and traveller, {}"
        " items in all, on the second floor"
    )
    answers = [(f"{tip.format('many')}\nnothing for {word}", [word]) for word in ("qqqq", "zzzz")]
    answers.append(
        (
            (
                "Please try a different spelling of the name or fewer words in the box above this"
                " notice"
            ),
            ["xxxx"],
        )
    )
    nothing = learn_no_result_pages(answers)
    assert nothing is not None and not nothing.template
    assert nothing.same(answers[0][0].replace("qqqq", "tulip"), ["tulip"])
    assert not nothing.same(
        "Tulips of the Ottoman court, an illustrated history in two volumes", ["tulip"]
    )
    assert learn_no_result_pages(answers[:1]) is None


def test_chinese_pages():
    nothing = learn_no_result_pages(
        [(f"图书馆首页\n没有找到与{word}有关的结果", [word]) for word in ("qwzxk", "bbdfg")]
    )
    assert nothing is not None
    assert (
        judge(200, "圖書館首頁\n没有找到与明月有关的结果", ["明月"], 1, nothing)
        is ResultKind.NO_RESULTS
    )
    assert judge(200, "图书馆首页\n水调歌头 明月几时有", ["明月"], 1, nothing) is ResultKind.VALID


FORM = """<form action="/find?old=1" method={method}><input type=hidden name=lang value=en>\
<input name=q value="">
<input name=author><select name=kind><option value="">Any kind<option value=b>Books\
<option value=m selected>Maps</select>
<select name=sort><option>date<option>rank</select>\
<input type=radio name=scope value=all checked>all<input type=radio name=scope value=t>titles
<input name=year_min><input name=year_max><input type=checkbox name=full value=1>\
<input type=checkbox name=old value=1 checked>
<input type=submit name=go value=Search><input type=submit name=clear value=Clear></form>"""


def form(method="get", more=""):
    return read_forms(
        FORM.format(method=method).replace("</form>", more + "</form>"), "http://example.org/start"
    )[0]


def test_inputs_that_choose_records_and_their_values():
    inputs = {each.name: each for each in inputs_of(form())}
    assert set(inputs) == {"q", "author", "kind", "year_min", "year_max"}
    assert inputs["kind"].values == ("b", "m") and not inputs["kind"].free
    assert query_input(list(inputs.values())).name == "q"
    assert ranges(list(inputs.values())) == [("year_min", "year_max")]
    chinese = read_forms(
        "<form><select name=c><option value=0>请选择<option value=1>全部<option value=2>诗<option"
        " value=3>词</select></form>",
        "",
    )
    assert choices_of(chinese[0].fields[0]) == ("2", "3")


def test_informative_by_distinct_answers():
    assert is_informative(["a", "a", "b", "a"]) and not is_informative([])
    assert is_informative(["a", "b", "a", "a", "a"] * 2) and not is_informative(["a"] * 10 + ["b"])


def test_a_form_sends_what_a_browser_would():
    sent = fill(form(), {"q": "水 & wine", "kind": "b"})
    assert (sent.method, sent.body) == ("GET", "") and urlsplit(sent.url)._replace(
        query=""
    ).geturl() == "http://example.org/find"
    assert parse_qsl(urlsplit(sent.url).query, keep_blank_values=True) == [
        ("lang", "en"),
        ("q", "水 & wine"),
        ("author", ""),
        ("kind", "b"),
        ("sort", "date"),
        ("scope", "all"),
        ("year_min", ""),
        ("year_max", ""),
        ("old", "1"),
        ("go", "Search"),
    ]
    posted = fill(form("post"), {"q": "x"})
    assert (
        posted.method == "POST"
        and posted.url == "http://example.org/find?old=1"
        and "kind=m" in posted.body
    )
    with pytest.raises(KeyError, match="nope"):
        fill(form(), {"nope": "1"})


def verdict(kind=FormType.SEARCH, confidence=0.99):
    return Classification(kind, confidence, kind is FormType.SEARCH, {})


@pytest.mark.parametrize(
    ("read", "judged", "released", "reason"),
    [
        (form(), verdict(), False, None),
        (form(), verdict(FormType.LOGIN), True, "not_search"),
        (form(more="<input type=password name=p>"), verdict(), True, "personal_fields"),
        (form(more="<input name=email>"), verdict(), True, "personal_fields"),
        (form("post"), verdict(), False, "post_not_released"),
        (form("post"), verdict(), True, None),
        (form("post"), verdict(confidence=0.7), True, "post_unsure"),
        (form("post", more="<textarea name=t></textarea>"), verdict(), True, "post_textarea"),
        (form('post enctype="multipart/form-data"'), verdict(), True, "post_encoding"),
        (form("post enctype='Multipart/Form-Data '"), verdict(), False, "post_encoding"),
        (form("post enctype=text/plain"), verdict(), True, "post_encoding"),
        (form("get enctype=multipart/form-data"), verdict(), False, None),
    ],
)
def test_what_may_never_be_submitted(read, judged, released, reason):
    assert refusal(read, judged, released) == reason


@pytest.mark.parametrize(
    ("body", "by_script"),
    [
        ("<div id=app></div>", True),
        ("<noscript>Please permit JavaScript.</noscript>", True),
        ("<ul id=hits></ul><div id=header-logo></div>", True),
        ("<div id=header-logo></div><p>Issues</p>", False),
        ("<div id=app></div><p>Nothing was found.</p>", False),
        ("<div id=list></div><table><tr><th>ID<th>Title</tr></table>", False),
    ],
)
def test_an_answer_without_results_is_filled_by_a_script(body: str, by_script: bool) -> None:
    root = parse_page(f"<html><body><script>run()</script>{body}</body></html>")
    assert root is not None
    assert filled_by_script(root, page_lines(outline(root))) == by_script
