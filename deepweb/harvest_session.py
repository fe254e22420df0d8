"""The state of a harvest in memory: the answers so far, and what they show about the site. It is
rebuilt from the stored queries, so that a kill loses nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, MutableMapping, Sequence
from typing import Any, NamedTuple

from deepweb.answers.result_list import ListShape, PageTemplate
from deepweb.answers.retrieved import Choice, Logged, QueryLog, Retrieved, Term, cut_at
from deepweb.answers.totals import NoResultPages, Stated, learn_no_result_pages
from deepweb.choice.matching import (
    InsideWords,
    SearchedColumns,
    how_words_combine,
    least_letters,
    looks_inside,
)
from deepweb.choice.required import Parts, parts_of
from deepweb.choice.slots import RangePlaces, Slot, slots_of
from deepweb.choice.terms import Asking, WordMode, asking_of
from deepweb.form_roles import with_roles
from deepweb.forms import stored
from deepweb.forms.field_roles import FieldRole
from deepweb.forms.templates import choices_of, inputs_of, is_operator, widest_operators
from deepweb.harvest_options import HarvestOptions
from deepweb.models import COUNTED, Harvest, Query, QueryKind, QueryState, Record
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


def unfiltered(form: Form, way: FillPlan) -> tuple[Term, ...]:
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


_CHUNK = 900


def finished_queries(harvest: Harvest) -> list[Query]:
    """Returns the answered queries of a harvest in the order in which they were sent."""
    return list(
        Query.objects.filter(harvest=harvest).exclude(state=QueryState.SENT).order_by("number")
    )


def is_counted(row: Query) -> bool:
    """Tells whether a query was sent to find records, not to calibrate or to estimate the size of
    the database."""
    return row.kind in COUNTED


def logged(row: Query) -> Logged:
    """Converts a stored query to a value that does not depend on the database."""
    query = tuple(Term(name, value) for name, value in row.terms)
    stated = tuple(Stated(*each) for each in row.stated)
    choice = Choice(query, row.predicted, row.bucket)
    return Logged(
        row.number, choice, list(row.found), row.overflowed, row.partial, stated, row.total
    )


class ListedRecords:
    """The fields of records, by record id, as lists of results showed them. `field_names` are the
    names of all fields, in the order in which they were first seen.
    """

    def __init__(self) -> None:
        self.fields: dict[int, dict[str, str]] = {}
        self.field_names: dict[str, None] = {}

    def load(self, keys: Sequence[int] | set[int]) -> None:
        """Loads the records with these ids that are not loaded yet."""
        missing = sorted(set(keys) - set(self.fields))
        for start in range(0, len(missing), _CHUNK):
            for pk, listed in Record.objects.filter(
                pk__in=missing[start : start + _CHUNK]
            ).values_list("pk", "listed"):
                self.fields[pk] = listed
                self.field_names.update(dict.fromkeys(listed))


NONSENSE = 2


INPUT_TRIES = 3


CUT_UNKNOWN_BEFORE = 4


TELLING_ANSWERS = 12


class HarvestSession:
    """One harvest in progress. `state` is stored with the harvest after each answer; everything
    else is rebuilt from the log of stored queries.
    """

    def __init__(self, harvest: Harvest, options: HarvestOptions) -> None:
        self.harvest, self.options = harvest, options
        self.state: dict[str, Any] = dict(harvest.state)
        self.form = stored.page_form(harvest.form)
        self.is_open = False
        self._shown = ListedRecords()
        self.known: set[int] = set()
        self.searched_columns = SearchedColumns(self.state.setdefault("said_in", {}))
        self.retrieved, self.asking = Retrieved(), Asking("")
        self.slots: list[Slot] = []
        self.required_parts = Parts((), self._column)
        self.inside: InsideWords | None = None
        self.fill_plans = ways_of(self.form, stored.PERSONAL)
        self.places, self.log = RangePlaces(), QueryLog()
        self.where: dict[Term, str] = {}
        self._load()

    def _load(self) -> None:
        rows = finished_queries(self.harvest)
        self.known = {pk for row in rows for pk in row.found}
        self._shown.load(self.known)
        self.log.entries += [logged(row) for row in rows if is_counted(row)]
        self._rebuild()

    @property
    def listed_fields(self) -> dict[int, dict[str, str]]:
        """The fields of all records found, as lists of results showed them, by record id."""
        return self._shown.fields

    @property
    def field_names(self) -> dict[str, None]:
        """The names of all fields that records have, in the order in which they were first seen
        (the dictionary's values are not used).
        """
        return self._shown.field_names

    def _asking(self) -> Asking:
        mode = WordMode(self.state.get("mode") or WordMode.WORDS)
        unsearched = self.searched_columns.missing(self.field_names)
        return asking_of(
            self.form,
            tuple(self.field_names),
            mode,
            self.barred_inputs(),
            unsearched,
            self.fill_plan.box,
            int(self.state.get("least", 1)),
            int(self.state.get("together", 1)),
        )

    @property
    def fill_plan(self) -> FillPlan:
        """The way of submitting the form that is in use: which text box takes the words, and which
        other inputs are always set. Either it is still being tried, or it has already returned
        records.
        """
        return self.fill_plans[min(int(self.state.get("way", 0)), len(self.fill_plans) - 1)]

    def proved(self) -> dict[str, str]:
        """Returns the roles of fields, by name, that are certain once a query in the text box has
        found records: QUERY for the box, REQUIRED for the inputs that every query sets. Empty
        before that.
        """
        if not self.fill_plan.box or not any(
            entry.found and entry.choice.query[0].input == self.fill_plan.box for entry in self.log
        ):
            return {}
        return {
            self.fill_plan.box: FieldRole.QUERY.value,
            **dict.fromkeys(self.fill_plan.required, FieldRole.REQUIRED.value),
        }

    def _note_searched(self, entry: Logged) -> None:
        """Updates what is known about which record fields the text box searches. Only complete
        answers to one word are used, since such an answer contains every record that has the word
        in a searched field."""
        query = self.required_parts.without(entry.choice.query)
        if (
            not entry.is_whole
            or len(query) != 1
            or query[0].input != self.asking.box
            or not query[0].value
        ):
            return
        if self.limit is not None and len(entry.found) >= self.limit:
            return
        whole = not entry.found or self.limit is not None or len(self.log) >= CUT_UNKNOWN_BEFORE
        listed = {
            pk: self.listed_fields[pk]
            for pk in self._known_beside(entry)
            if pk in self.listed_fields
        }
        self.searched_columns.note(
            listed, set(entry.found), query[0].value.casefold(), self.asking.mode, whole=whole
        )

    def _known_beside(self, entry: Logged) -> set[int]:
        """Returns the ids of the known records that the query `entry` could have found: those found
        by queries with the same required choices, or all known ones if it sets none."""
        part = {term for term in entry.choice.query if term.input in self.required_parts.names}
        return (
            {pk for other in self.log if part <= set(other.choice.query) for pk in other.found}
            if part
            else self.known
        )

    def barred_inputs(self) -> frozenset[str]:
        """Returns the names of the inputs, except text boxes, that are no longer queried because
        three queries of them alone returned no record."""
        boxes = {way.box for way in self.fill_plans}
        asked: Counter[str] = Counter()
        useful = set()
        for entry in self.log:
            name = entry.choice.query[0].input
            if len(entry.choice.query) == 1 and name not in boxes:
                asked[name] += 1
                if entry.found:
                    useful.add(name)
        return frozenset(
            name for name, times in asked.items() if times >= INPUT_TRIES and name not in useful
        )

    def columns_of_inputs(self) -> set[str]:
        """Returns the names of the record fields whose values can be typed into inputs of the form
        other than the text box for words."""
        return {column for columns in self.asking.columns.values() for column in columns}

    def _rebuild(self) -> None:
        """Computes the state derived from the query log again. Called when the way of submitting
        the form, or the set of record fields, has changed.
        """
        self.form = with_roles(
            self.form,
            dict.fromkeys(self.fill_plan.required, FieldRole.REQUIRED.value) | self._box_role(),
        )
        self.asking, self.where = self._asking(), {}
        self.slots = slots_of(self.form, self.asking.box)
        parts = parts_of(self.form) if self.asking.box else ()
        self.required_parts = Parts(parts, self._column, is_filter=self.fill_plan.is_filter)
        anywhere = looks_inside_values(self.form, self.fill_plan) or self.state.get("inside", False)
        self.inside = InsideWords(self.asking.box, parts) if anywhere and self.asking.box else None
        self.retrieved = Retrieved(self._column)
        terms = {
            pk: self._terms(pk)
            for entry in self.log
            for pk in entry.found
            if pk in self.listed_fields
        }
        for entry in self.log:
            found: list[tuple[int, Sequence[Term]]] = [
                (pk, terms[pk]) for pk in entry.found if pk in terms
            ]
            self._see(entry, found)

    def _box_role(self) -> dict[str, str]:
        return {self.fill_plan.box: FieldRole.QUERY.value} if self.fill_plan.box else {}

    def _see(self, entry: Logged, found: list[tuple[int, Sequence[Term]]]) -> None:
        self.retrieved.add(entry.choice, found, entry.overflowed, entry.partial)
        if self.required_parts:
            whole = [(pk, self._terms(pk)) for pk, _ in found]
            self.required_parts.add(entry.choice, whole, entry.overflowed, entry.partial)

    def _terms(self, pk: int) -> list[Term]:
        return self.asking.terms(self.listed_fields[pk], where=self.where)

    def _column(self, term: Term) -> str:
        return self.where.get(term, "")

    # --- processing of answers
    def add_answer(self, row: Query) -> dict[int, tuple[int | None, bool]]:
        """Adds a finished query to the log. Returns, by query number, what is now known about this
        and earlier queries: the total number of results (None if unknown), and whether the answer
        was truncated. Empty for probes and nonsense queries, which are not logged."""
        self._shown.load(row.found)
        self.known.update(row.found)
        if not is_counted(row):
            return {}
        entry = logged(row)
        self.log.entries.append(entry)
        if row.kind == QueryKind.TRIAL and entry.choice.query[0].value:
            self._tried(bool(row.found))
        self._note_searched(entry)
        turned = self.inside is None and looks_inside(
            self.log.entries[-TELLING_ANSWERS:], self.listed_fields, self.asking.box
        )
        if turned:
            self.state["inside"] = True
        if turned or self._asking() != self.asking:
            self._rebuild()
        else:
            self._see(
                entry,
                [(pk, self._terms(pk) if not self.retrieved.has(pk) else ()) for pk in entry.found],
            )
            self._note_length()
        told = self.log.settle(self.retrieved)
        self._note_joins(self.log[len(self.log) - 1])
        return told

    def _note_length(self) -> None:
        """Finds out from which length on the site searches for words."""
        least = least_letters(self.retrieved.outcomes, self.asking.box)
        if least > int(self.state.get("least", 1)) and self.asking.together == 1:
            self.state["least"] = least
            self._rebuild()

    def _note_joins(self, entry: Logged) -> None:
        """Finds out how the site combines words (all of them, any of them, ...) from the records
        that a query of two words in the text box returned; other queries are ignored.
        """
        query = entry.choice.query
        if len(query) != 2 or {term.input for term in query} != {self.asking.box}:
            return
        found = [self.listed_fields[pk] for pk in entry.found if pk in self.listed_fields]
        words = [term.value for term in query]
        self.state["joins"] = how_words_combine(
            words, found, self.asking.mode, fewer=self.log.is_fewer(entry)
        )

    @property
    def limit(self) -> int | None:
        """The number of records at which the site truncates its answers; None as long as there is
        no evidence of a limit."""
        return cut_at(self.retrieved.outcomes, self.log.totals)

    @property
    def page_template(self) -> PageTemplate:
        """The links and text lines that answers to nonsense queries show. Such answers have no
        results, so these are parts of every page (menus, footers), not records.
        """
        known = self.state.get("furniture", {})
        return PageTemplate(frozenset(known.get("links", ())), frozenset(known.get("lines", ())))

    @property
    def shape(self) -> ListShape | None:
        """The layout of the site's lists of results, None until it is learned from a list."""
        known = self.state.get("shape")
        return ListShape(**{**known, "ranks": tuple(known.get("ranks", ()))}) if known else None

    @property
    def finds_nothing(self) -> bool:
        """Whether the form's calibration queries, sent first to learn what a page without results
        looks like, can be expected to find no record. True for nonsense words and for the ends of a
        range, False for choices of a select input.
        """
        return bool(self.asking.box) or not any(slot.values for slot in self.slots)

    @property
    def nothing(self) -> NoResultPages | None:
        """What pages without results look like, learned from the answers to nonsense queries; None
        before there are two of them, or if the calibration queries may find records.
        """
        said = self.state.get("nonsense", []) if self.finds_nothing else []
        return (
            learn_no_result_pages([(text, words) for text, words in said])
            if len(said) >= NONSENSE
            else None
        )

    # --- information for the choice of the next query
    def asked_terms(self) -> set[Term]:
        """Returns all terms (pairs of input and value) that were queried, alone or combined."""
        return {term for entry in self.log for term in entry.choice.query}

    def switch_way(self) -> bool:
        """Switches to the next way of submitting the form, because no word returned a record by the
        present one. Returns False if there is no further way.
        """
        number = int(self.state.get("way", 0)) + 1
        if number >= len(self.fill_plans):
            return False
        self.state["way"], self.state["way_from"] = number, len(self.log)
        forget_what_was_shown(self.state if self.fill_plan.required else {})
        self.form = stored.page_form(self.harvest.form)
        self._rebuild()
        return True

    def ask_together(self) -> bool:
        """Asks for several words at once from now on, because no single word returned a record.
        Returns False if that is done already."""
        if self.asking.together > 1:
            return False
        self.state["together"], self.state["way_from"] = 2, len(self.log)
        self._rebuild()
        return True

    def _tried(self, found: bool) -> None:
        tried = self.state.get("tried", [])
        if found and tried and not self.state.get("mode"):
            self.state["mode"] = tried[-1]
