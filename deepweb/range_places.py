"""Positions of the seen records in the ranges that a form searches. The record field that contains
a range's values is found from the answers to the range, or by its name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from deepweb.query_log import Logged
from deepweb.range_cells import column_of, value_of
from deepweb.search_forms import Form
from deepweb.seen import Seen
from deepweb.template_search import Slot
from deepweb.value_ranges import Range

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
        seen: Seen,
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
