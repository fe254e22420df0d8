"""Forms with several inputs: ranges are halved, templates are tested and refined, and whole sites
are harvested without a text box."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepweb.answers.retrieved import Choice, Query, Retrieved, Term
from deepweb.choice.slots import Slot, slots_of
from deepweb.choice.template_search import TemplateSearch
from deepweb.forms.templates import Range, whole_range
from deepweb.search_forms import read_forms

FORM = """<form action=/s><input name=q>
 <select name=kind><option value="">All</option><option>a</option><option>b</option><option>c\
</option></select>
 <select name=sort><option>new</option><option>old</option></select>
 Price <input type=number name=price_min min=5> to <input type=number name=price_max max=900>
 From <input type=date name=from> until <input type=date name=to><input type=submit></form>"""


@given(st.integers(-1_000, 10**7), st.integers(0, 10**7), st.booleans())
def test_halves_cover_the_range_and_end(low: int, width: int, days: bool) -> None:
    begin = 600_000 + abs(low) % 100_000  # days in the years 1643 to 2163
    whole = Range(begin, begin + width % 90_000, "%Y-%m-%d") if days else Range(low, low + width)
    left, right = whole.halves() or (whole, whole)
    assert (left.low, right.high) == (whole.low, whole.high) and right.low <= left.high + 1
    if whole.high > whole.low:
        assert (
            left.high - left.low < whole.high - whole.low
            and right.high - right.low < whole.high - whole.low
        )
    assert whole.read(whole.typed()) == whole


def test_ranges_are_read_from_the_form() -> None:
    form = read_forms(FORM, "http://x.org/")[0]
    slots = {slot.names: slot for slot in slots_of(form, "q")}
    assert set(slots) == {("kind",), ("price_min", "price_max"), ("from", "to")}
    assert slots["kind",].values == ("a", "b", "c")
    assert slots["price_min", "price_max"].whole == Range(5, 900)
    assert slots["from", "to"].whole is not None and slots["from", "to"].whole.typed() == (
        "1900-01-01",
        "2100-12-31",
    )
    years = read_forms(
        "<form>Jahr <input name=jahr_von> bis <input name=jahr_bis></form>", "http://x.org/"
    )[0]
    assert whole_range(*years.fields[:2]) == Range(1500, 2100)


class Books:
    """Records 0 … n-1 with a kind and a price; responses show the first `cut`; inputs in `deaf`
    have no effect."""

    def __init__(self, count: int, cut: int, deaf: Iterable[str] = ()) -> None:
        self.all = [("abc"[n % 3], (n * 37) % 500) for n in range(count)]
        self.cut, self.deaf = cut, set(deaf)

    def ask(self, query: Query) -> tuple[list[int], bool]:
        bound = {term.input: term.value for term in query if term.input not in self.deaf}
        low, high = int(bound.get("price_min", 0)), int(bound.get("price_max", 10**9))
        found = [
            n
            for n, (kind, price) in enumerate(self.all)
            if bound.get("kind", kind) == kind and low <= price <= high
        ]
        return found[: self.cut], len(found) > self.cut


KIND, SHADE = Slot(("kind",), ("a", "b", "c")), Slot(("shade",), ("x", "y", "z"))
PRICE = Slot(("price_min", "price_max"), whole=Range(0, 1_000))


def asked(books: Books, slots: list[Slot], queries: int) -> tuple[Retrieved, TemplateSearch]:
    seen = Retrieved()
    search = TemplateSearch(slots, books.cut)
    for _ in range(queries):
        offers = search.offers(seen)
        if not offers:
            break
        choice = offers[0].choice
        assert len({term.input for term in choice.query}) <= 3 and not seen.was_asked(choice.query)
        found, cut = books.ask(choice.query)
        seen.add(choice, [(n, ()) for n in found], cut)
    return seen, search


def test_cut_answers_are_refined_until_all_is_seen() -> None:
    seen, search = asked(Books(200, cut=20), [KIND, PRICE], 60)
    assert seen.records == 200
    assert search.informative(frozenset(("kind",)), seen) is True
    assert any(len(outcome.query) == 3 for outcome in seen.outcomes)


def test_an_input_that_is_not_heeded_is_given_up() -> None:
    seen, search = asked(Books(60, cut=100, deaf=["shade"]), [KIND, SHADE], 40)
    assert seen.records == 60 and len(seen.outcomes) <= 6
    assert search.informative(frozenset(("shade",)), seen) is not True
    assert not any(
        {"kind", "shade"} <= {term.input for term in outcome.query} for outcome in seen.outcomes
    )


def test_a_choice_beside_words_counts_only_where_it_changes_the_answer() -> None:
    seen, search = Retrieved(), TemplateSearch([SHADE], 10)
    word = Term("q", "river")
    seen.add(Choice((word,)), [(n, ()) for n in range(10)], True)
    for value in SHADE.values:
        seen.add(Choice((word, Term("shade", value))), [(n, ()) for n in range(10)], True)
    search.note(seen)
    assert search.informative(frozenset(("q", "shade")), seen) is not True
    for place, value in enumerate(SHADE.values):
        seen.add(
            Choice((Term("q", "stone"), Term("shade", value))),
            [(place * 10 + n, ()) for n in range(10)],
            True,
        )
    search.note(seen)
    assert search.informative(frozenset(("q", "shade")), seen) is True


@pytest.mark.parametrize("slots", [[KIND, PRICE], [PRICE, KIND]])
def test_the_same_log_gives_the_same_next_query(slots: list[Slot]) -> None:
    books = Books(200, cut=20)
    seen, _ = asked(books, slots, 12)
    again = Retrieved()
    for outcome in seen.outcomes:
        found, cut = books.ask(outcome.query)
        again.add(Choice(outcome.query, outcome.predicted), [(n, ()) for n in found], cut)
    assert TemplateSearch(slots, 20).offers(again) == TemplateSearch(slots, 20).offers(seen)
