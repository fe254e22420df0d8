"""Forms are submitted as the HTML standard says: entry list, pressed button, encoding."""

from __future__ import annotations

import pytest

from deepweb.forms.classifier import Classification
from deepweb.forms.types import FormType
from deepweb.search_forms import read_forms
from deepweb.submission import fill, refusal
from forums.sites.login_pages import login_form

PAGE = "http://x.org/dir/page?old=1"
PASSWORD = '<input name="user"><input type="password" name="secret">'


def sent(markup: str, charset: str = "utf-8") -> str:
    """Returns method, address and body of the first form when "w" is entered into its box q."""
    form = read_forms(f"<body>{markup}</body>", PAGE)[0]
    made = fill(form, {"q": "w"} if any(f.name == "q" for f in form.fields) else {}, charset)
    return f"{made.method} {made.url.removeprefix('http://x.org')} {made.body}".strip()


BOX = '<input type="text" name="q">'


@pytest.mark.parametrize(
    ("inside", "query"),
    [
        pytest.param(
            f'{BOX}<fieldset disabled><legend>Old</legend><input type="hidden" name="legacy"'
            ' value="1"><select name="shelf"><option value="none"></select></fieldset>'
            '<input type="submit" disabled name="beta" value="1"><button name="go" value="1">',
            "q=w&go=1",
            id="disabled fieldset and disabled button",
        ),
        pytest.param(
            '<fieldset disabled><legend><input name="q"></legend><legend><input name="b"></legend>'
            '<div><legend><input name="c"></legend></div></fieldset>',
            "q=w",
            id="what stands in the first legend is not disabled",
        ),
        pytest.param(
            f'<input type="submit" value="Search">{BOX}<button name="clear" value="1">Clear',
            "q=w",
            id="the first button is pressed although it has no name",
        ),
        pytest.param(
            f'{BOX}<button type="button" name="a" value="1">A</button><button type="reset" name="b"'
            '>B</button><button type="menu" name="c" value="1">C</button>',
            "q=w&c=1",
            id="what is no submit button is not pressed",
        ),
        pytest.param(f'{BOX}<input type="image">', "q=w&x=1&y=1", id="a picture without a name"),
        pytest.param(
            f'{BOX}<input type="submit" name="only" value="1" disabled>',
            "q=w",
            id="no button can be pressed",
        ),
        pytest.param(
            f"{BOX}<select name=a><option value='' disabled selected>Choose<option>1</select>"
            "<select name=b><option disabled>0<option>1<option>2</select>"
            "<select name=c><optgroup disabled><option>0</optgroup><option>1</select>"
            "<select name=d><option selected>0<option selected>1</select>"
            "<select name=e multiple><option selected>0<option>1<option selected>2</select>"
            "<select name=f size=4><option>0<option>1</select>",
            "q=w&b=1&c=1&d=1&e=0&e=2",
            id="options",
        ),
        pytest.param(
            f"{BOX}<input type=checkbox name=a><input type=checkbox name=b checked>"
            "<input type=radio name=c value=1><input type=radio name=c value=2 checked>"
            "<input type=checkbox name=d value=1 checked disabled><input name='' value=1>"
            "<datalist><input name=e value=1></datalist>",
            "q=w&b=on&c=2",
            id="what is not checked, named or enabled is not sent",
        ),
        pytest.param(
            f'{BOX}<input name="t" value="x" dirname="t.dir"><input type=hidden name=_CHARSET_>',
            "q=w&t=x&t.dir=ltr&_CHARSET_=UTF-8",
            id="direction and encoding are told",
        ),
        pytest.param(
            f"{BOX}<textarea name=t>a\nb~*</textarea>", "q=w&t=a%0D%0Ab%7E*", id="line ends"
        ),
    ],
)
def test_the_entry_list_is_the_standards(inside: str, query: str) -> None:
    assert sent(f'<form action="/find">{inside}</form>') == f"GET /find?{query}"


def test_a_control_belongs_to_the_form_that_it_names() -> None:
    markup = (
        '<button form="f" name="first" value="1">Go</button><form action="/a" id="f">'
        f'{BOX}<input name="other" form="g"><input name="nobody" form="none">'
        '<button name="second">Go</button></form><form id="g" action="/b"><input name="r"></form>'
        '<input form="f" name="last" value="2">'
    )
    assert sent(markup) == "GET /a?first=1&q=w&last=2"
    assert [field.name for field in read_forms(markup, PAGE)[1].fields] == ["other", "r"]


@pytest.mark.parametrize(
    ("markup", "request_line"),
    [
        (f'<form action="/a">{BOX}<button formaction="/b">Go</button></form>', "GET /b?q=w"),
        (f'<form action="/a">{BOX}<button formaction="">Go</button></form>', "GET /a?q=w"),
        (
            f'<base href="/d/"><form method=post>{BOX}<input type=submit formmethod=get'
            " formaction=e?f=g#h></form>",
            "GET /d/e?q=w",
        ),
        (f"<form action=/a>{BOX}<button formmethod=POST>Go</button></form>", "POST /a q=w"),
        (
            f"<form action=/a>{BOX}<button disabled formaction=/b>No</button><button>Go</form>",
            "GET /a?q=w",
        ),
        (f"<form>{BOX}</form>", "GET /dir/page?q=w"),
    ],
)
def test_the_pressed_button_says_where_and_how_the_form_is_sent(
    markup: str, request_line: str
) -> None:
    assert sent(markup) == request_line


def test_another_button_sends_to_its_own_address_and_else_to_that_of_the_form() -> None:
    form = read_forms(
        f"<form action=/a>{BOX}<button formaction=/b>B</button><button>A</button>"
        "<button formaction=/c formmethod=post>C</button></form>",
        PAGE,
    )[0]
    buttons = form.of_kind("submit")
    assert [fill(form, {}, "utf-8", one).url.partition("org")[2] for one in buttons] == [
        "/b?q=",
        "/a?q=",
        "/c",
    ]


def test_a_form_whose_first_button_posts_needs_consent_as_one_that_posts() -> None:
    form = read_forms(f"<form action=/a>{BOX}<button formmethod=post>Go</button></form>", PAGE)[0]
    assert (
        refusal(form, Classification(FormType.SEARCH, 0.99, True, {}), False) == "post_not_released"
    )


@pytest.mark.parametrize(
    ("asked", "charset", "query"),
    [
        ("", "gb18030", "q=%B5%C6%C1%FD&c=GBK"),
        (
            "accept-charset='unknown  Windows-1251 utf-8'",
            "utf-8",
            "q=%26%2328783%3B%26%2331548%3B&c=windows-1251",
        ),
        ("accept-charset=unknown", "gb18030", "q=%E7%81%AF%E7%AC%BC&c=UTF-8"),
        ("", "utf-16le", "q=%E7%81%AF%E7%AC%BC&c=UTF-8"),
        ("accept-charset=big5", "utf-8", "q=%BFO%C5%A2&c=Big5"),
    ],
)
def test_the_encoding_is_what_the_form_asks_for_or_the_pages(
    asked: str, charset: str, query: str
) -> None:
    text = "灯笼" if "big5" not in asked else "燈籠"
    form = read_forms(
        f"<form action=/a {asked}>{BOX}<input type=hidden name=_charset_ value=x></form>", PAGE
    )[0]
    got = fill(form, {"q": text}, charset).url.partition("?")[2]
    assert got.replace("_charset_", "c") == query


@pytest.mark.parametrize(
    ("inside", "action", "pairs"),
    [
        pytest.param(
            f"{PASSWORD}<button>Log in</button><button name=forgot value=1>Forgot</button>",
            "/in",
            "user= secret=",
            id="first button without a name",
        ),
        pytest.param(
            f"<fieldset disabled><input type=password name=old></fieldset>{PASSWORD}<button"
            " type=button name=show>Show</button><button formaction=/go name=a value=b>",
            "/go",
            "user= secret= a=b",
            id="disabled password and formaction",
        ),
        pytest.param(
            f"<input type=hidden name=_charset_>{PASSWORD}<select name=for><option disabled>0"
            "<option>1</select><input type=checkbox name=remember>",
            "/in",
            "_charset_=windows-1251 user= secret= for=1 remember=on",
            id="encoding and options",
        ),
    ],
)
def test_logins_are_sent_by_the_same_rules(inside: str, action: str, pairs: str) -> None:
    form = login_form(f"<form method=post action=/in>{inside}</form>", PAGE, "windows-1251")
    assert form is not None and form.action == f"http://x.org{action}"
    assert " ".join(f"{name}={value}" for name, value in form.pairs) == pairs
    assert (form.user_field, form.password_field) == ("user", "secret")
