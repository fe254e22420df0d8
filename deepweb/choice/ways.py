"""The ways of filling in a form that a harvest tries in turn."""

from __future__ import annotations

from collections.abc import Collection, MutableMapping
from typing import Any, NamedTuple

from deepweb.answers.retrieved import Query, Term
from deepweb.choice.terms import asking_of
from deepweb.forms.field_roles import FieldRole
from deepweb.forms.templates import choices_of, inputs_of, is_operator, widest_operators
from deepweb.search_forms import Form


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


def forget_what_was_shown(state: MutableMapping[str, Any]) -> None:
    """Deletes from a harvest's state what was learned from nonsense queries that lacked a required
    choice, since the site responds differently with the choice."""
    for name in ("nonsense", "nonsense_failed", "furniture"):
        state.pop(name, None)
