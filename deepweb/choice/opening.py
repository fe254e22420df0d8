"""The opening queries of a harvest: the ways of filling in the form that are tried in turn, and
alternatives if query words return no record."""

from __future__ import annotations

from collections.abc import Collection, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from deepweb.answers.retrieved import Query, Retrieved, Term
from deepweb.choice.template_search import Slot
from deepweb.choice.terms import asking_of
from deepweb.forms.field_roles import FieldRole
from deepweb.forms.templates import choices_of, inputs_of, is_operator, widest_operators
from deepweb.search_forms import Form

LONE_CHOICES = 3
KNOWN_WORDS = 20
PAGE_WORDS = 10


class FillPlan(NamedTuple):
    """A way to fill in a form: the name of the text box for words, and the inputs that every query
    must set as well although the form does not mark them as required."""

    box: str
    required: tuple[str, ...] = ()

    @property
    def is_filter(self) -> bool:
        """Tells whether the text box is the value of a filter, so that each query also sets the
        record field to compare and an operator."""
        return len(self.required) > 1


def ways_of(form: Form, personal: Collection[str]) -> list[FillPlan]:
    """Returns the ways to fill in a form, in the order in which they are tried: (1) the form's
    filter, if any (see `filter_way`); (2) the most likely text box alone; (3) this box with each
    optional choice that has no default; (4) each other text box whose role is not in `personal`;
    (5) if there is a way (3) or (4), the most likely box alone again, with more words. A form
    without a text box has one way, with the box ""."""
    first = asking_of(form).box
    if not first:
        return [FillPlan("")]
    texts = [
        f.name
        for f in form.fields
        if f.kind in ("text", "search") and f.name and f.role not in personal
    ]
    open_ = [
        each.name for each in inputs_of(form) if each.values and each.role is FieldRole.REFINEMENT
    ]
    chosen = {f.name for f in form.fields if any(o.selected and o.value.strip() for o in f.options)}
    others = [FillPlan(name) for name in dict.fromkeys(texts) if name != first]
    beside = [FillPlan(first, (name,)) for name in open_ if name not in chosen]
    filters = [way for way in [filter_way(form, personal)] if way is not None]
    return [
        *filters,
        FillPlan(first),
        *beside,
        *others,
        *([FillPlan(first)] if beside or others else []),
    ]


def filter_way(form: Form, personal: Collection[str] = ()) -> FillPlan | None:
    """Returns the form's filter: a select of record fields, then a select of operators (=,
    contains, …), then a text box for the value, whose role is not in `personal`. None if the form
    has none."""
    named = [field for field in form.fields if field.name]
    place = next((place for place, field in enumerate(named) if is_operator(field)), None)
    if place is None:
        return None
    column = next(
        (f for f in reversed(named[:place]) if f.kind == "select" and len(choices_of(f)) > 1), None
    )
    value = next(
        (f for f in named[place:] if f.kind in ("text", "search") and f.role not in personal), None
    )
    return (
        FillPlan(value.name, (column.name, named[place].name))
        if column is not None and value is not None
        else None
    )


def looks_inside_values(form: Form, way: FillPlan) -> bool:
    """Tells whether `way` fills in a filter that has an operator for finding a word anywhere in a
    value (such as "contains")."""
    return way.is_filter and any(
        widest_operators(field) for field in form.fields if field.name == way.required[1]
    )


def unfiltered(form: Form, way: FillPlan) -> Query:
    """Returns the query of one term that makes the form's filter search all record fields ("any
    column"). Empty if the form does not offer that, or if `way` does not use a filter."""
    column = next((f for f in form.fields if way.is_filter and f.name == way.required[0]), None)
    open_ = [o for o in column.options if not o.value.strip()] if column is not None else []
    return (Term(column.name, open_[0].value),) if column is not None and open_ else ()


def calibration(box: str, slots: Sequence[Slot], number: int, nonsense: str, part: Query) -> Query:
    """Returns a calibration query: its answer should have no results and so shows the page template
    of the site.

    If the form has a text box `box`, the query is the word `nonsense` with the choices of `part`
    (inputs that the site requires). Otherwise it is the first (`number` 0) or last (`number` 1)
    choice of an input, or the lowest or highest value of a range. Empty if the form has none of
    these.
    """
    if box:
        return (Term(box, nonsense), *part)
    slot = next((slot for slot in slots if len(slot.values) > number), None)
    if slot is not None:
        return slot.binding(slot.values[-number])
    span = next((slot for slot in slots if slot.whole is not None), None)
    return (
        span.binding(span.whole.ends()[number])
        if span is not None and span.whole is not None
        else ()
    )


def lone_choice(slots: Sequence[Slot], seen: Retrieved) -> Query | None:
    """Returns a choice to submit without a word, after words have returned nothing: the records
    that it returns show which words the site contains.

    The first choice of each of the first three inputs with choices is tried once; None if records
    are known already or all three have been tried. `slots` are the inputs of the form.
    """
    if seen.records:
        return None
    queries = [slot.binding(slot.values[0]) for slot in slots if slot.values][:LONE_CHOICES]
    return next((query for query in queries if not seen.was_asked(query)), None)


def words_of_records(seen: Retrieved, box: str) -> list[Term]:
    """Returns the words for the text box `box` that most of the seen records contain, most frequent
    first: at most 20."""
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
    """Returns the 10 words with the largest weights on the form's page. `words` contains the
    weights of the words on the page under "page", as stored in `models.Form.words`."""
    page = words.get("page", {})
    return sorted(page, key=lambda word: -page[word])[:PAGE_WORDS]


def paper_words(of_cluster: Sequence[str], of_page: Sequence[str]) -> list[str]:
    """Returns the first queries as the deep-web paper chooses them: the words with the largest
    weights in the form's cluster (`of_cluster`, in order) or, if there are none, on the form's own
    page (`of_page`).
    """
    return list(dict.fromkeys(of_cluster or of_page))


def forget_what_was_shown(state: MutableMapping[str, Any]) -> None:
    """Deletes from a harvest's state what was learned from nonsense queries that lacked a required
    choice, since the site responds differently with the choice."""
    for name in ("nonsense", "nonsense_failed", "furniture"):
        state.pop(name, None)


def in_vain(form: Form) -> str:
    """Returns the reason code for ending the harvest of a form that returned no record:
    "needs_browser" if a script submits the form, otherwise "no_results"."""
    return "needs_browser" if form.scripted else "no_results"
