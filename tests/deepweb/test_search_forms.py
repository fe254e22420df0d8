"""Forms as parsed values: labels, options, roles, addresses, signatures, and deliberately broken
pages."""

import pytest

from crawlmgr.web.pages.forms import Option
from deepweb.forms.field_roles import FieldRole, concepts_in, role_of
from deepweb.search_forms import Form, read_forms
from tests.growth import FACTOR, MAX_RATIO, growth

URL = "http://example.org/shop/list.php?id=3#top"


def only(html: str, url: str = URL) -> Form:
    forms = read_forms(html, url)
    assert len(forms) == 1
    return forms[0]


def test_labels_come_from_for_wrapping_aria_and_the_text_before():
    form = only(
        """<form action=find><label for=a>Title</label><input id=a name=t><label>Writer \
<input name=w></label>
        <input name=p aria-label="Publisher"> <b>Year:</b> <input name=y> \
<input name=z placeholder="any word"></form>"""
    )
    assert [field.label for field in form.fields] == ["Title", "Writer", "Publisher", "Year:", ""]
    assert form.fields[4].placeholder == "any word"
    assert (form.action, form.method) == ("http://example.org/shop/find", "get")


def test_radios_and_checkboxes_of_a_name_are_one_field_with_named_options():
    form = only(
        """<form method=POST><p>Sort by: <input type=radio name=s value=d checked> Date \
<input type=radio name=s value=r> Rank
        <input type=checkbox name=ok value=1> I agree
        <input type=checkbox name="c[]" value=x>X<input type=checkbox name="c[]" value=y>Y</form>"""
    )
    sort, agree, many = form.fields
    assert sort.options == (Option("d", "Date", True), Option("r", "Rank", False))
    assert (sort.label, sort.role, form.method) == ("Sort by:", FieldRole.SORT, "post")
    assert (agree.label, agree.role, agree.multiple) == ("I agree", FieldRole.TERMS, False)
    assert [option.label for option in many.options] == ["X", "Y"] and many.multiple


def test_select_options_defaults_and_an_unselected_value():
    form = only(
        "<form><select name=c><option>All<option value=2 selected>Books</select><textarea"
        " name=m>hi</textarea></form>"
    )
    assert form.fields[0].options == (Option("All", "All"), Option("2", "Books", True))
    assert [field.value for field in form.fields] == ["2", "hi"]


def test_an_empty_action_is_the_page_and_base_href_counts():
    assert only("<form><input name=q></form>").action == "http://example.org/shop/list.php?id=3"
    assert (
        only("<base href='/other/'><form action=go><input name=q></form>").action
        == "http://example.org/other/go"
    )
    assert only("<form action='http://[bad'><input name=q></form>").action.startswith(
        "http://example.org/"
    )


def test_controls_outside_the_form_and_disabled_ones():
    form = only(
        "<form id=f><input name=a><input name=gone disabled></form><input name=b form=f><button"
        " form=f>Find</button>"
    )
    assert [(field.name, field.kind) for field in form.fields] == [
        ("a", "text"),
        ("b", "text"),
        ("", "submit"),
    ]
    assert form.fields[-1].label == "Find"


def test_signature_is_one_for_a_box_on_every_page_and_differs_by_fields_and_target():
    box = "<form action='/search'><input name=q><input type=hidden name=sid value={}></form>"
    first = only(box.format("aa"), "http://example.org/a")
    again = only(box.format("bb"), "http://example.org/deep/page7.html")
    assert first.signature == again.signature
    assert (
        first.signature
        != only(
            "<form action='/search'><input name=keyword></form>", "http://example.org/a"
        ).signature
    )
    assert (
        first.signature != only(box.replace("/search", "/find"), "http://example.org/a").signature
    )
    assert (
        first.signature
        != only(box.replace("action", "method=post action"), "http://example.org/a").signature
    )
    assert (
        only("<form action='/t/1/q?x=1'><input name=q></form>").signature
        == only("<form action='/t/22/q?x=9'><input name=q></form>").signature
    )


@pytest.mark.parametrize(
    ("kind", "name", "said", "choices", "role"),
    [
        ("text", "q", "", 0, FieldRole.QUERY),
        ("text", "wd", "请输入关键字", 0, FieldRole.QUERY),
        ("text", "x1", "Suchbegriff", 0, FieldRole.QUERY),
        ("text", "mail", "Ihre E-Mail-Adresse", 0, FieldRole.EMAIL),
        ("text", "f3", "Électronique courriel", 0, FieldRole.EMAIL),
        ("text", "seccode", "验证码", 0, FieldRole.CAPTCHA),
        ("text", "page", "", 0, FieldRole.PAGE),
        ("hidden", "csrfmiddlewaretoken", "", 0, FieldRole.TOKEN),
        ("hidden", "lang", "", 0, FieldRole.FIXED),
        ("select", "per_page", "", 4, FieldRole.PAGE_SIZE),
        ("select", "dept", "Department", 9, FieldRole.REFINEMENT),
        ("checkbox", "autologin", "Запомнить меня", 1, FieldRole.REMEMBER),
        ("number", "qty", "Anzahl", 0, FieldRole.QUANTITY),
        ("date", "d", "", 0, FieldRole.DATE),
    ],
)
def test_roles(kind, name, said, choices, role):
    assert role_of(kind, name, said, choices) is role


@pytest.mark.parametrize(
    ("text", "concept"),
    [
        ("Rechercher", "search"),
        ("搜尋", "search"),
        ("Найти", "search"),
        ("signUp", "register"),
        ("Sign up", "register"),
        ("S'abonner", "newsletter"),
        ("订阅", "newsletter"),
        ("Jetzt bestellen", "order"),
        ("忘记密码", "recover"),
        ("btn-login", "login"),
    ],
)
def test_concepts_are_known_in_many_languages(text, concept):
    assert concept in concepts_in(text)


def test_words_do_not_join_over_a_long_text():
    assert "login" not in concepts_in(
        "The catalog in this town tells of boards and planks that last for years"
    )


@pytest.mark.parametrize(
    ("page", "size"),
    [
        (lambda size: "<div>" * size + "<form><input name=q></form>", 50_000),
        (lambda size: "<form>" + "<input name=a>" * size + "</form>", 20_000),
        (lambda size: "<form><input name=q></form>" * size, 1_000),
        (
            lambda size: (
                "<form><input name=__VIEWSTATE>"
                + "<div><input name=a><input type=submit></div>" * size
            ),
            2_000,
        ),
        (lambda size: "<form><select name=s>" + "<option>o" * size + "</select></form>", 20_000),
    ],
)
def test_hostile_pages_cost_no_more_than_their_length(page, size):
    assert growth(lambda html: read_forms(html, URL), page(size // FACTOR), page(size)) < MAX_RATIO


def test_hostile_pages_are_read_as_far_as_the_limits():
    assert read_forms("<div>" * 200 + "<form><input name=q></form>", URL)
    read_forms(
        "<div>" * 50_000 + "<form><input name=q></form>", URL
    )  # deeper than the parser follows: no form and no error
    assert read_forms("<form>" + "<input name=a>" * 20_000 + "</form>", URL)
    assert len(read_forms("<form><input name=q></form>" * 1_000, URL)) == 200
    options = (
        only("<form><select name=s>" + "<option>o" * 5_000 + "</select></form>").fields[0].options
    )
    assert len(options) == 500
    assert (
        read_forms("", URL)
        == read_forms(b"\x00\xff", URL)
        == read_forms("<?xml version='1.0' encoding='x'?>", URL)
        == []
    )
    assert only(
        "<?xml version='1.0' encoding='utf-16'?><html><form><input name=\ud800q></form>"
    ).fields
