"""The start of a harvest: the ways of submitting the form that are tried in turn, and the alternatives tried if query words
return no record."""

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
    """A way to submit a form: its text box, and inputs that every query must set although the form does not mark them as
    required.
    """

    box: str
    required: tuple[str, ...] = ()

    @property
    def is_filter(self) -> bool:
        """Tells whether the text box is the value of a filter, so that queries also choose the record field to compare and an
        operator.
        """
        return len(self.required) > 1


def ways_of(form: Form, personal: Collection[str]) -> list[Way]:
    """The ways to submit a form, in the order in which they are tried: the most likely box alone; the value of a filter, with
    its record field and operator (first, if the most likely box is that value); the most likely box with each optional choice;
    every other text box whose role is not in `personal`; and the first way once more, for which more words are tried."""
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
    """The form's filter, if it has one: a select of record fields, then a select of operators (=, contains, …), then a text
    box for the value, whose role is not in `personal`."""
    named = [field for field in form.fields if field.name]
    place = next((place for place, field in enumerate(named) if is_operator(field)), None)
    if place is None:
        return None
    column = next((f for f in reversed(named[:place]) if f.kind == "select" and len(choices_of(f)) > 1), None)
    value = next((f for f in named[place:] if f.kind in ("text", "search") and f.role not in personal), None)
    return Way(value.name, (column.name, named[place].name)) if column is not None and value is not None else None


def looks_inside_values(form: Form, way: Way) -> bool:
    """Tells whether a way of submitting is a filter with an operator that finds a word anywhere in a value."""
    return way.is_filter and any(widest_operators(field) for field in form.fields if field.name == way.required[1])


def unfiltered(form: Form, way: Way) -> Query:
    """The choice that makes a filter search all record fields ("any column"), if the form offers it; otherwise, and for other
    ways of submitting, an empty query."""
    column = next((f for f in form.fields if way.is_filter and f.name == way.required[0]), None)
    open_ = [o for o in column.options if not o.value.strip()] if column is not None else []
    return (Term(column.name, open_[0].value),) if column is not None and open_ else ()


def calibration(box: str, slots: Sequence[Slot], number: int, nonsense: str, part: Query) -> Query:
    """A calibration query: the content of its answer, which should have no results, belongs to the site's template.

    A form with the text box `box` gets the word `nonsense`, with the choices of `part` (inputs that the site requires).
    Without a text box the query is one of two choices of an input, or one of the two ends of a range: the first or the second
    by `number` (0 or 1). Empty if the form has none of these.
    """
    if box:
        return (Term(box, nonsense), *part)
    slot = next((slot for slot in slots if len(slot.values) > number), None)
    if slot is not None:
        return slot.binding(slot.values[-number])
    span = next((slot for slot in slots if slot.whole is not None), None)
    return span.binding(span.whole.ends()[number]) if span is not None and span.whole is not None else ()


def lone_choice(slots: Sequence[Slot], seen: Seen) -> Query | None:
    """A choice to submit without a word after words have returned nothing: the records that it returns show words that the
    site contains.

    The first choice of each of the first three inputs is tried once; None if records are known already or all three have been
    tried.
    """
    if seen.records:
        return None
    queries = [slot.binding(slot.values[0]) for slot in slots if slot.values][:LONE_CHOICES]
    return next((query for query in queries if not seen.was_asked(query)), None)


def words_of_records(seen: Seen, box: str) -> list[Term]:
    """The words for the text box `box` that most of the records seen contain, most frequent first: at most 20."""
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
    """The heaviest words of the form's page, at most 10; `words` are weights by word space (see `models.Form.words`)."""
    page = words.get("page", {})
    return sorted(page, key=lambda word: -page[word])[:PAGE_WORDS]


def paper_words(of_cluster: Sequence[str], of_page: Sequence[str]) -> list[str]:
    """The seed words of the deep-web paper: the heaviest words of the form's cluster (`of_cluster`); if it has none, those of
    the form's own page (`of_page`).
    """
    return list(dict.fromkeys(of_cluster or of_page))


def forget_what_was_shown(state: MutableMapping[str, Any]) -> None:
    """Deletes the results of nonsense queries sent while a required choice was missing, since the site responds differently
    with the choice."""
    for name in ("nonsense", "nonsense_failed", "furniture"):
        state.pop(name, None)


def in_vain(form: Form) -> str:
    """The reason code for ending the harvest of a form that returned no record."""
    return "needs_browser" if form.scripted else "no_results"
