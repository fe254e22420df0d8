"""How the asking of a form begins: the ways of asking that are tried in turn, and what is tried while words bring nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from deepweb.field_roles import FieldRole
from deepweb.search_forms import Form
from deepweb.seen import Query, Seen, Term
from deepweb.template_search import Slot
from deepweb.templates_informative import choices_of, inputs_of, is_operator, widest_operators
from deepweb.terms import asking_of

LONE_CHOICES = 3
KNOWN_WORDS = 20
PAGE_WORDS = 10


class Way(NamedTuple):
    """How a form is asked: its box for words, and an input that every query has to choose of though the form says nothing."""

    box: str
    required: tuple[str, ...] = ()

    @property
    def is_filter(self) -> bool:
        """Whether the box takes the value of a filter: a column and an operator are chosen with it."""
        return len(self.required) > 1


def ways_of(form: Form, personal: Collection[str]) -> list[Way]:
    """The ways of asking in the order in which they are tried: the likeliest box alone, the value of a filter beside its column
    and operator (first, where the likeliest box is that value), the likeliest box beside each open choice, then every other box
    that is not of a `personal` role; at the end the first one again, with more words."""
    first = asking_of(form).box
    if not first:
        return [Way("")]
    texts = [f.name for f in form.fields if f.kind in ("text", "search") and f.name and f.role not in personal]
    open_ = [each.name for each in inputs_of(form) if each.values and each.role is FieldRole.REFINEMENT]
    chosen = {f.name for f in form.fields if any(o.selected and o.value.strip() for o in f.options)}
    others = [Way(name) for name in dict.fromkeys(texts) if name != first]
    beside = [Way(first, (name,)) for name in open_ if name not in chosen]
    filters = [way for way in [filter_way(form, personal)] if way is not None]
    begin = sorted([Way(first), *filters], key=lambda way: way.box == first and not way.is_filter and bool(filters))
    return [*begin, *beside, *others, *([Way(first)] if beside or others else [])]


def filter_way(form: Form, personal: Collection[str] = ()) -> Way | None:
    """A filter of three parts, where a form has one: the choice of an operator (=, contains, …) with the choice of a column
    before it and the box for the value after it, in the order of the form."""
    named = [field for field in form.fields if field.name]
    place = next((place for place, field in enumerate(named) if is_operator(field)), None)
    if place is None:
        return None
    column = next((f for f in reversed(named[:place]) if f.kind == "select" and len(choices_of(f)) > 1), None)
    value = next((f for f in named[place:] if f.kind in ("text", "search") and f.role not in personal), None)
    return Way(value.name, (column.name, named[place].name)) if column is not None and value is not None else None


def looks_inside_values(form: Form, way: Way) -> bool:
    """Whether a filter has an operator that finds a word anywhere in a value."""
    return way.is_filter and any(widest_operators(field) for field in form.fields if field.name == way.required[1])


def unfiltered(form: Form, way: Way) -> Query:
    """What leaves a filter's column open, where its form offers that; empty for any other way of asking."""
    column = next((f for f in form.fields if way.is_filter and f.name == way.required[0]), None)
    open_ = [o for o in column.options if not o.value.strip()] if column is not None else []
    return (Term(column.name, open_[0].value),) if column is not None and open_ else ()


def calibration(box: str, slots: Sequence[Slot], number: int, nonsense: str, part: Query) -> Query:
    """What tells a page's furniture: nonsense, with the choices of a `part`; where there is no box for words, two choices of one
    input or the two ends of a range, by `number` the first or the second. Empty where a form has none of these."""
    if box:
        return (Term(box, nonsense), *part)
    slot = next((slot for slot in slots if len(slot.values) > number), None)
    if slot is not None:
        return slot.binding(slot.values[-number])
    span = next((slot for slot in slots if slot.whole is not None), None)
    return span.binding(span.whole.ends()[number]) if span is not None and span.whole is not None else ()


def lone_choice(slots: Sequence[Slot], seen: Seen) -> Query | None:
    """A choice to ask without a word, where words in the dark brought nothing: its records tell words that the site holds.

    The first choice of each of the first three slots, each once; None where records are known or all were asked."""
    if seen.records:
        return None
    queries = [slot.binding(slot.values[0]) for slot in slots if slot.values][:LONE_CHOICES]
    return next((query for query in queries if not seen.was_asked(query)), None)


def words_of_records(seen: Seen, box: str) -> list[Term]:
    """The words for a box that the records seen say, in most of them first: at most 20."""
    order = np.argsort(-np.asarray(seen.frequency), kind="stable")
    terms = (seen.term(int(place)) for place in order)
    found: list[Term] = []
    for term in terms:
        if len(found) == KNOWN_WORDS:
            break
        if term.input == box:
            found.append(term)
    return found


def page_words(words: Mapping[str, Any]) -> list[str]:
    """The heaviest words of a form's page (its two spaces, as `models.Form.words` has them): at most 10."""
    page = words.get("page", {})
    return sorted(page, key=lambda word: -page[word])[:PAGE_WORDS]


def paper_words(of_cluster: Sequence[str], of_page: Sequence[str]) -> list[str]:
    """What the source begins with: the heaviest words of the cluster; of the form's own page where there is no cluster."""
    return list(dict.fromkeys(of_cluster or of_page))


def forget_what_was_shown(state: MutableMapping[str, Any]) -> None:
    """Takes back what nonsense told of a site while a choice was missing: it shows something else when that is made."""
    for name in ("nonsense", "nonsense_failed", "furniture"):
        state.pop(name, None)


def in_vain(form: Form) -> str:
    """Why a form ends that brought no record."""
    return "needs_browser" if form.scripted else "no_results"
