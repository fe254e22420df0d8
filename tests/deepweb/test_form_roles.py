"""Roles of a form's fields, decided for the whole form: misleading names, ends of ranges, required
choices, and corrections by users."""

from __future__ import annotations

import pytest

from deepweb.answers.retrieved import Choice, Retrieved, Term
from deepweb.choice.required import Parts, parts_of
from deepweb.choice.slots import slots_of
from deepweb.choice.words import FreshPolicy
from deepweb.form_roles import asks_for_something_else, only_orders_a_list, with_roles
from deepweb.forms.field_roles import FieldRole
from deepweb.forms.templates import inputs_of, query_input
from deepweb.search_forms import Form, read_forms


def form(inside: str, told: dict[str, str] | None = None) -> Form:
    return with_roles(
        read_forms(f"<form action=/f>{inside}<button>Go</button></form>", "http://x.org/")[0], told
    )


def role(found: Form, name: str) -> FieldRole:
    return next(field.role for field in found.fields if field.name == name)


def box(found: Form) -> str | None:
    words = query_input(inputs_of(found))
    return words.name if words is not None else None


@pytest.mark.parametrize(
    "name", ["p", "from", "start", "page", "offset", "n", "title", "isbn", "seite", "zip"]
)
def test_a_lone_box_is_the_query_whatever_its_name(name: str) -> None:
    assert box(form(f"<input name={name}>")) == name
    assert (
        box(
            form(
                f"<input name={name}><select name=sort><option>a<option>b</select><input"
                " type=hidden name=page value=1>"
            )
        )
        == name
    )


def test_a_page_number_beside_the_words_stays_one() -> None:
    found = form("<input name=title> <input name=page size=2>")
    assert (box(found), role(found, "page")) == ("title", FieldRole.PAGE)
    assert "page" not in {each.name for each in inputs_of(found)}


def test_a_lone_box_for_a_number_is_asked_too() -> None:
    assert (
        box(form("<input type=number name=zip>")) == "zip"
        and box(form("<input type=tel name=nr>")) == "nr"
    )


def test_personal_fields_are_never_made_a_query_not_even_by_hand() -> None:
    for inside in ("<input name=email>", "<input type=password name=p>", "<input name=captcha>"):
        name = read_forms(f"<form>{inside}</form>", "http://x.org/")[0].fields[0].name
        assert role(form(inside, {name: "query"}), name) is not FieldRole.QUERY


def test_the_ends_of_a_range_are_no_pages() -> None:
    found = form(
        "<input name=q> <input name=from type=date> <input name=to type=date> <input name=p_min>"
        " <input name=p_max>"
    )
    assert (
        box(found) == "q"
        and role(found, "from") is FieldRole.DATE
        and role(found, "p_min") is FieldRole.NUMBER
    )
    assert {slot.names for slot in slots_of(found, "q")} == {("from", "to"), ("p_min", "p_max")}


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("<input name=filter_name placeholder='Name your filter'>", True),
        ("<input name=orderNumber> <input name=orderPin>", True),
        ("<textarea name=question></textarea>", True),
        ("<label>Go to page <input name=page></label>", True),
        ("<input name=postcode>", True),
        (
            (
                "<input type=text> <input type=radio name=poll value=1>yes <input type=radio"
                " name=poll value=2>no"
            ),
            True,
        ),
        ("<input type=text> <input name=q>", False),
        ("<input name=postcode> <input name=q>", False),
        ("<input name=postcode> <select name=make><option>Audi<option>BMW</select>", False),
        ("<input name=title> <input name=author>", False),
        ("<input name=p>", False),
        ("<select name=make><option>Audi<option>BMW</select>", False),
        ("<select name=sort><option>price<option>name</select>", True),
        (
            (
                "<select name=orderby><option>price<option>name</select> <select"
                " name=per_page><option>10<option>50</select>"
            ),
            True,
        ),
        (
            (
                "<select name=sort><option>price<option>name</select> <select"
                " name=sd><option>Ascending<option>Descending</select>"
            ),
            True,
        ),
        (
            (
                "<select name=sort><option>price<option>name</select> <label>Page"
                " <select><option>1<option>2</select></label>"
            ),
            True,
        ),
        ("<select name=sort><option>price<option>name</select> <input name=q>", False),
        (
            (
                "<select name=sort><option>price<option>name</select> <select"
                " name=make><option>Audi<option>BMW</select>"
            ),
            False,
        ),
    ],
)
def test_forms_that_ask_for_something_else_than_words_are_in_doubt(
    inside: str, expected: bool
) -> None:
    found = read_forms(f"<form action=/f>{inside}<button>Go</button></form>", "http://x.org/")[0]
    assert asks_for_something_else(found) is expected


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("<select name=orderby><option>price<option>name</select>", True),
        (
            (
                "<select name=productsPerPage><option>36<option>72</select> <input type=hidden"
                " name=cat value=3>"
            ),
            True,
        ),
        (
            (
                "Sort by <select name=sk><option>author<option>title</select> <select"
                " name=sd><option>Ascending<option>Descending</select>"
            ),
            True,
        ),
        (
            (
                "<select name=sort><option>price</select> <label>Page"
                " <select><option>1<option>2</select></label>"
            ),
            True,
        ),
        (
            (
                "<select name=sort><option>price</select> <input type=radio name=dir"
                " value=asc><input type=radio name=dir value=desc>"
            ),
            True,
        ),
        (
            (
                "<select name=sort><option>price</select> <select"
                " name=make><option>Audi<option>BMW</select>"
            ),
            False,
        ),
        ("<select name=sort><option>price</select> <input type=checkbox name=stock>", False),
        ("<select name=sort><option>price</select> <input name=q>", False),
        ("<input type=radio name=sort value=price>", False),
        ("<input type=hidden name=sort value=price>", False),
    ],
)
def test_forms_that_only_order_a_list_or_set_its_length_are_told_by_their_fields(
    inside: str, expected: bool
) -> None:
    found = read_forms(f"<form action=/f>{inside}<button>Go</button></form>", "http://x.org/")[0]
    assert only_orders_a_list(found) is expected


SELECT = (
    "<input name=q><label>Genre{star} <select name=g{must}><option"
    " value=''>choose<option>a<option>b</select></label>"
)


def test_a_choice_that_has_to_be_made_is_part_of_every_query() -> None:
    for inside in (SELECT.format(star="", must=" required"), SELECT.format(star=" *", must="")):
        found = form(inside)
        assert role(found, "g") is FieldRole.REQUIRED and not slots_of(found, "q")
        assert parts_of(found) == [(Term("g", "a"),), (Term("g", "b"),)]
    assert parts_of(form(SELECT.format(star="", must=""))) == [()]
    assert parts_of(form(SELECT.format(star="", must=""), {"g": "required"})) == parts_of(found)


def test_the_word_of_a_person_holds() -> None:
    found = form("<input name=a><input name=q>", {"a": "query", "q": "other"})
    assert box(found) == "a" and role(found, "q") is FieldRole.OTHER


@pytest.mark.parametrize(("records", "expected"), [(10, "blue"), (200, "red")])
def test_a_word_is_repeated_in_another_part_only_when_many_records_are_known(
    records: int, expected: str
) -> None:
    parts, overall = Parts([(Term("g", "a"),), (Term("g", "b"),)], lambda term: ""), Retrieved()

    for word in ("red", "time"):
        choice = Choice((Term("q", word), Term("g", "a")))
        answer = [
            (record, [Term("q", said) for said in ("red", "blue", "time")])
            for record in range(records)
        ]
        overall.add(choice, answer)
        parts.add(choice, answer, False, False)
    [offer] = parts.offers(overall, FreshPolicy(), None)
    assert offer.choice.query == (Term("q", expected), Term("g", "b"))


def test_each_part_is_asked_by_what_words_bring_there() -> None:
    parts, overall = Parts([(Term("g", "a"),), (Term("g", "b"),)], lambda term: ""), Retrieved()

    def take(word: str, part: str, records: range, words: list[str]) -> None:
        choice = Choice((Term("q", word), Term("g", part)))
        answer = [
            (record, [Term("q", each) for each in words] + [Term("g", part)]) for record in records
        ]
        overall.add(choice, answer)
        parts.add(choice, answer, False, False)

    take("red", "a", range(10), ["red", "blue"])
    [offer] = parts.offers(overall, FreshPolicy(), 50)
    assert offer.gain > 0 and [term.input for term in offer.choice.query] == ["q", "g"]
    take("red", "b", range(10, 12), ["red", "green"])
    [offer] = parts.offers(overall, FreshPolicy(), 50)
    assert offer.choice.query[0].value != "red" and parts.names == {"g"}
