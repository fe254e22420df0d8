"""Tests of the weights of words on a form's page, and of query words, which are spelt as on the
site."""

import pytest

from deepweb.choice.terms import query_words, substring_words
from deepweb.forms.clustering import words_of_form_page

FILLER = "<p>" + "filler " * 60 + "</p>"
PAGE = f"""<title>Antique maps</title><h1>Atlas</h1><p>upper <b>strong</b></p><script>hidden\
</script>{FILLER}
<div>distant</div><div>d1</div><div>d2</div><div>d3</div><div>d4</div><form action=/s>Keyword \
<input name=q placeholder="region">
<select><option>Europe</option></select><input type=submit value="Locate"></form><div>adjacent</div>
<div>x1</div><div>x2</div><div>x3</div><div>x4</div><h2>late</h2><p>plain <b>fat</b></p>{FILLER}"""


def test_k_by_place_and_type_of_text():
    found = words_of_form_page(PAGE, 0)
    assert found.form == {"keyword": 1, "region": 1, "europe": 0.5, "locate": 1}
    assert {
        word: found.page[word]
        for word in (
            "antique",
            "maps",
            "atlas",
            "upper",
            "strong",
            "adjacent",
            "late",
            "plain",
            "fat",
        )
    } == {
        "antique": 3.0,
        "maps": 3.0,
        "atlas": pytest.approx(2 * 1.2),
        "upper": 1.2,
        "strong": pytest.approx(1.5 * 1.2),
        "adjacent": 2.0,
        "late": 2.0,
        "plain": 1.0,
        "fat": 1.5,
    }
    assert found.page["filler"] == pytest.approx(60 * 1.2 + 60 * 1.0)
    assert "hidden" not in found.page and not set(found.form) & {"adjacent", "distant"}


def test_another_form_is_part_of_the_page_and_no_form_or_page_is_no_error():
    page = "<form>tulip</form><form>orchid</form>"
    assert (
        set(words_of_form_page(page, 1).form) == {"orchid"}
        and words_of_form_page(page, 1).page["tulip"] > 0
    )
    assert (
        words_of_form_page("<p>word</p>", 3).form == {}
        and words_of_form_page("<p>word</p>", 3).page["word"] > 0
    )
    assert words_of_form_page("", 0).page == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Running the Crawlers, 2009", ["running", "crawlers"]),
        ("Sell O’Neill's e-mail x", ["sell", "o’neill's", "e-mail"]),
        ("我们使用網絡爬蟲", ["使用", "網絡", "爬蟲"]),
        ("北京的天气 ABC", ["北京", "天气", "abc"]),
        ("ＦＵＬＬ　width", ["full", "width"]),
        ("Straße müßig поиск книг", ["straße", "müßig", "поиск", "книг"]),
        ("a" * 60 + " 1234 !", []),
        ("", []),
    ],
)
def test_query_words_are_spelt_as_the_site_does(text, words):
    assert query_words(text) == words


def test_substring_words_hold_every_pair_of_neighbours():
    assert substring_words("明月，几时有 ABC") == [
        "明",
        "月",
        "几",
        "时",
        "有",
        "明月",
        "几时",
        "时有",
        "abc",
    ]


@pytest.mark.parametrize(
    ("before", "weight"),
    [
        ("<p>tulip</p><p>b</p>", 2.0),
        ("<p>tulip</p><div><ul><li>b</li></ul></div>", 2.0),
        ("<div><div><p>tulip</p></div></div><p>a</p><p>b</p>", 2.0),
        ("<p>tulip</p><p>a</p><p>b</p><p>c</p>", 1.0),
    ],
)
def test_three_blocks_from_the_form_are_blocks_of_text(before: str, weight: float) -> None:
    first = "<p>" + "x " * 400 + "</p>"  # the upper third of the page
    page = f"<body>{first}<p>1</p><p>2</p><p>3</p>{before}<form>orchid <input name=q></form>"
    assert words_of_form_page(page, 0).page["tulip"] == weight


@pytest.mark.parametrize("tag", ["nav", "footer", "div role=navigation"])
def test_menus_and_feet_are_no_words_of_a_page(tag: str) -> None:
    page = f"<{tag}>login</{tag.split()[0]}><p>tulip</p><form>orchid</form>"
    assert set(words_of_form_page(page, 0).page) == {"tulip"}
    inside = f"<{tag}>tulip <form>orchid</form></{tag.split()[0]}>"
    assert set(words_of_form_page(inside, 0).page) == {"tulip"}
