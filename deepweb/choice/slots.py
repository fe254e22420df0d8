"""The inputs of a form that narrow a search ("slots"): selects and other choices, text boxes whose
values are known from records, and ranges, with the positions of known records in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

import numpy as np

from deepweb.answers.retrieved import Logged, Query, Retrieved, Term
from deepweb.forms.field_roles import FieldRole
from deepweb.forms.templates import Range, inputs_of, ranges, whole_range
from deepweb.search_forms import Form

_TEXT_VALUES = 20
_MIN_VALUES = 5
_PARSED = 0.8
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
_DAY = re.compile(r"(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})")
_NUMBER = re.compile(r"\d{1,3}(?:[,'  ]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_ANSWERS = 40


_WORDS = re.compile(r"[^\W\d_]{3,}")


_ENDS = frozenset(
    (
        "from",
        "min",
        "max",
        "low",
        "high",
        "start",
        "end",
        "von",
        "bis",
        "since",
        "until",
        "after",
        "before",
    )
)


@dataclass(frozen=True, slots=True)
class Slot:
    """Inputs that are set together ("slot"): one input with the `values` of its choices, or the two
    inputs for the ends of a range, with the range `whole` of their possible values."""

    names: tuple[str, ...]
    values: tuple[str, ...] = ()
    whole: Range | None = None

    def binding(self, value: str | Range) -> Query:
        """Returns the terms that set the slot's inputs to `value`: one of the choices, or a range
        with its two ends."""
        texts = value.typed() if isinstance(value, Range) else (value,)
        return tuple(Term(name, text) for name, text in zip(self.names, texts, strict=True))


def slots_of(form: Form, box: str) -> list[Slot]:
    """Returns the inputs of a form, other than its text box `box`, that narrow a search: selects,
    radios, groups of checkboxes, ranges."""
    inputs = inputs_of(form)
    fields = {field.name: field for field in form.fields}
    found = [
        Slot((each.name,), each.values)
        for each in inputs
        if not each.free and not (box and each.role is FieldRole.REQUIRED)
    ]
    for low, high in ranges([each for each in inputs if each.name != box]):
        whole = whole_range(fields[low], fields[high])
        if whole is not None:
            found.append(Slot((low, high), whole=whole))
    return found


def text_slots(
    columns: Mapping[str, Sequence[str]], listed: Iterable[Mapping[str, str]], slots: Sequence[Slot]
) -> list[Slot]:
    """Returns text boxes whose possible values are known from records: `columns` names for each box
    the record fields that it searches. Each box gets the values that occur most often in these
    fields of the records `listed`; boxes already in `slots` are left out."""
    taken = {name for slot in slots for name in slot.names}
    counts: dict[str, Counter[str]] = {name: Counter() for name in columns if name not in taken}
    for record in listed if counts else ():
        for name, count in counts.items():
            count.update(
                str(record[column]).strip() for column in columns[name] if record.get(column)
            )
    chosen = {
        name: tuple(v for v, times in count.most_common(_TEXT_VALUES) if times > 1)
        for name, count in counts.items()
    }
    return [Slot((name,), values) for name, values in chosen.items() if len(values) > 1]


def value_of(text: str, whole: Range) -> float | None:
    """Returns a record's value as a position in the range `whole` (a number, or a day's ordinal),
    read from the text of the record's field; None if it contains no number or day, or one outside
    the range."""
    if whole.mask:
        found = _day_of(text, whole.mask)
    else:
        match = _NUMBER.search(text)
        found = float(re.sub(r"[,'  ]", "", match.group())) if match else None
    return found if found is not None and whole.low <= found <= whole.high else None


def _day_of(text: str, mask: str) -> float | None:
    for pattern in (mask, "%Y-%m-%d", "%d %B %Y", "%B %d, %Y", "%d %b %Y", "%b %d, %Y", "%d.%m.%Y"):
        try:
            return float(datetime.strptime(text.strip(), pattern).toordinal())
        except ValueError:
            continue
    match = _DAY.search(text)
    if match:
        try:
            return float(date(*map(int, match.groups())).toordinal())
        except ValueError:
            return None
    year = _YEAR.search(text)
    return float(date(int(year.group(1)), 7, 1).toordinal()) if year else None


def column_of(
    records: Mapping[int, Mapping[str, str]],
    whole: Range,
    answers: Sequence[tuple[Range, Sequence[int]]],
    named: frozenset[str],
) -> str | None:
    """Returns the name of the record field that the range `whole` filters; None if unknown. A field
    fits if it has at least five values in `answers` (queried range, record ids), 80 % of them in
    the queried range. Of those that fit, or of all if none does, one in `named` (lower case,
    letters only) is taken; otherwise the only one that fits, if a part of `whole` found records.
    `records`: fields by id."""
    counts: dict[str, list[int]] = {}
    for span, found in answers:
        for pk in found:
            for name, text in records.get(pk, {}).items():
                value = value_of(str(text), whole)
                pair = counts.setdefault(name, [0, 0])
                pair[0] += value is not None and span.low <= value <= span.high
                pair[1] += 1
    fits = [
        name
        for name, (inside, total) in counts.items()
        if total >= _MIN_VALUES and inside >= _PARSED * total
    ]
    same = [name for name in fits or _columns(records) if _bare(name) in named]
    if same:
        return same[0]
    narrow = any(span.low > whole.low or span.high < whole.high for span, found in answers if found)
    return fits[0] if len(fits) == 1 and narrow else None


def _columns(records: Mapping[int, Mapping[str, str]]) -> list[str]:
    return list(dict.fromkeys(name for fields in records.values() for name in fields))


def _bare(text: str) -> str:
    return re.sub(r"[\W_\d]+", "", text.casefold())


class RangePlaces:
    """The positions of seen records in the ranges that the form searches, each computed once and
    then kept. A position is the record's value (a number, or a day's ordinal) in the field that the
    range searches."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], dict[int, float | None]] = {}

    def values(
        self,
        form: Form,
        slots: Sequence[Slot],
        listed: Mapping[int, Mapping[str, str]],
        log: Sequence[Logged],
        seen: Retrieved,
    ) -> dict[str, np.ndarray]:
        """Returns an array for each range, by the name of its first input: the value of each record
        of `seen`, in their order (nan if it has none). Ranges whose record field is unknown are
        missing. `slots`: inputs of the form, `listed`: fields of the records by id, `log`: finished
        queries."""
        found = {}
        for slot in slots:
            whole = slot.whole
            if whole is None:
                continue
            answers = _answers_in(slot, whole, log[-_ANSWERS:])
            column = column_of(listed, whole, answers, _named(form, slot))
            if column is None:
                continue
            known = self._known.setdefault((slot.names[0], column), {})
            for pk, fields in listed.items():
                if pk not in known:
                    known[pk] = value_of(str(fields.get(column, "")), whole)
            said = [
                known.get(key) if isinstance(key := seen.key(place), int) else None
                for place in range(seen.records)
            ]
            found[slot.names[0]] = np.array(
                [np.nan if value is None else value for value in said], dtype=float
            )
        return found


def _answers_in(slot: Slot, whole: Range, log: Iterable[Logged]) -> list[tuple[Range, list[int]]]:
    answers = []
    for entry in log:
        ends = [
            term.value for name in slot.names for term in entry.choice.query if term.input == name
        ]
        span = whole.read(ends) if len(ends) == len(slot.names) else None
        if span is not None:
            answers.append((span, entry.found))
    return answers


def _named(form: Form, slot: Slot) -> frozenset[str]:
    labels = {field.name: field.label for field in form.fields}
    said = " ".join(f"{name} {labels.get(name, '')}" for name in slot.names)
    return frozenset(_WORDS.findall(said.casefold().replace("_", " "))) - _ENDS
