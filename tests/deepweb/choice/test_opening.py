"""The first queries of a harvest: options of select inputs without a search word, then words from
the records returned."""

from __future__ import annotations

import pytest

from deepweb.answers.retrieved import Choice, Retrieved, Term
from deepweb.choice.opening import LONE_CHOICES, lone_choice, words_of_records
from deepweb.choice.required import IN_VAIN, Parts, parts_of
from deepweb.choice.slots import Slot
from deepweb.choice.words import FreshPolicy
from deepweb.form_roles import with_roles
from deepweb.harvest_session import FillPlan, filter_way, forget_what_was_shown, ways_of
from deepweb.search_forms import read_forms

SLOTS = [
    Slot(("empty",)),
    *(Slot((f"choice{place}",), ("a", "b")) for place in range(LONE_CHOICES + 2)),
]


def test_each_of_the_first_inputs_is_asked_by_itself_once_until_records_are_known() -> None:
    seen = Retrieved()
    asked = []
    while (query := lone_choice(SLOTS, seen)) is not None:
        asked.append(query)
        seen.add(Choice(query), [], False)
    assert asked == [(Term(f"choice{place}", "a"),) for place in range(LONE_CHOICES)]
    known = Retrieved()
    known.add(Choice((Term("q", "lute"),)), [(1, [Term("q", "lute")])], False)
    assert lone_choice(SLOTS, known) is None and lone_choice([], Retrieved()) is None


def test_the_words_of_most_records_come_first_and_only_those_for_the_box() -> None:
    seen = Retrieved()
    found = [
        (1, [Term("q", "rare"), Term("q", "common"), Term("kind", "x")]),
        (2, [Term("q", "common"), Term("kind", "x")]),
    ]
    seen.add(Choice((Term("kind", "x"),)), found, False)
    assert words_of_records(seen, "q") == [Term("q", "common"), Term("q", "rare")]
    assert words_of_records(seen, "other") == []


FILTER = (
    "<form><select name=_filter_column_1><option value=''>- column"
    " -<option>name<option>author</select><select name=_filter_op_1>{operators}</select><input"
    " name=_filter_value_1><button>Apply</button></form>"
)
OPERATORS = (
    "<option value=exact>=<option value=not>!=<option value=contains>contains<option value=gt>&gt;"
)
NAMES = ("_filter_column_1", "_filter_op_1")


@pytest.mark.parametrize(
    ("operators", "chosen"),
    [
        (OPERATORS, ("contains",)),
        ("<option value=1>等于<option value=2>包含", ("2",)),
        ("<option value='='>=<option value='<'>&lt;", ("=", "<")),
    ],
)
def test_a_filter_is_asked_by_column_operator_and_value_together(
    operators: str, chosen: tuple[str, ...]
) -> None:
    form = read_forms(FILTER.format(operators=operators), "http://x.org/")[0]
    assert ways_of(form, ())[0] == filter_way(form) == FillPlan("_filter_value_1", NAMES)
    made = parts_of(with_roles(form, dict.fromkeys(NAMES, "required")))
    assert made == [
        (Term(NAMES[0], column), Term(NAMES[1], each))
        for column in ("name", "author")
        for each in chosen
    ]


def test_choices_that_compare_nothing_make_no_filter() -> None:
    plain = FILTER.format(operators="<option>novel<option>atlas<option>like new")
    assert filter_way(read_forms(plain, "http://x.org/")[0]) is None
    alone = "<form><select name=op><option>=<option>contains</select><input name=value></form>"
    assert filter_way(read_forms(alone, "http://x.org/")[0]) is None


def test_a_column_is_asked_for_its_own_words_and_left_alone_when_they_bring_nothing() -> None:
    columns = {"lute": "Name", "bach": "Author"}
    parts = [(Term("column", "name"),), (Term("column", "author"),)]
    seen = Retrieved(lambda term: columns.get(term.value, ""))
    own = Parts(parts, lambda term: columns.get(term.value, ""), is_filter=True)
    words = [Term("value", "lute"), Term("value", "bach")]
    first = Choice((Term("value", "x"), *parts[0]))
    seen.add(first, [(1, words), (2, words)], False)
    own.add(first, [(1, words), (2, words)], False, False)
    [offer] = own.offers(seen, FreshPolicy(), 10)
    assert offer.choice.query in {(words[0], *parts[0]), (words[1], *parts[1])}
    for number in range(IN_VAIN):
        for part in parts:
            vain = Choice((Term("value", f"vain{number}"), *part))
            seen.add(vain, [], False)
            own.add(vain, [], False, False)
    [offer] = own.offers(seen, FreshPolicy(), 10)
    is_first = offer.choice.query == (words[0], *parts[0])
    assert is_first, "the other part brought nothing in four queries"


def test_what_nonsense_showed_without_a_choice_is_forgotten() -> None:
    state = {"nonsense": [["x", []]], "nonsense_failed": 1, "furniture": {}, "page_size": 10}
    forget_what_was_shown(state)
    assert state == {"page_size": 10}
