"""Forms with several inputs: which sets of inputs are worth setting together (Madhavan et al.
2008), with which values, and the ranges that are searched between two inputs."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from deepweb.forms.field_roles import FieldRole
from deepweb.search_forms import Form, FormField

INFORMATIVE = 0.2


MAX_BOUND = 3


Template = frozenset[str]


"""Names of the inputs that a query sets; all others keep the form's defaults."""


_ANY = re.compile(
    r"^(-+|\*|0|-1|all|any|every|alle|tous|toutes|todos|todas|tutti|tutte|wszystkie|все|любой|全部|所有"
    r"|不限|すべて|전체|none|select|choose)\b"
    r"|^(--|please|bitte|choisi|selec|seleziona|wahl|wähl|请选择|請選擇|选择)",
    re.I,
)


_CONTAINS = re.compile(
    r"contains|like$|includes|enthält|contient|contiene|contém|bevat|zawiera|содержит|包含|含む|포함",
    re.I,
)


_OPERATOR = re.compile(
    rf"{_CONTAINS.pattern}|[=≠<>≤≥!]=?$|(?:exact|equals?|eq|ne|neq|not|gte?|lte?|is|is"
    r" ?not|in|begins|starts|ends|"
    r"startswith|endswith|doesn?o?'?t|greater|less|between|matches|regexp?|glob|gleich|beginnt"
    r"|endet|égal|igual|等于|大于|小于|不等于)\b",
    re.I,
)


_NOT_ASKED = frozenset(
    (
        *(
            FieldRole.SORT,
            FieldRole.PAGE,
            FieldRole.PAGE_SIZE,
            FieldRole.TERMS,
            FieldRole.REMEMBER,
            FieldRole.SUBMIT,
        ),
        *(FieldRole.FIXED, FieldRole.TOKEN),
    )
)


@dataclass(frozen=True, slots=True)
class Input:
    """An input that a query may set. `values` are the form's own choices; empty for free text,
    numbers and dates."""

    name: str
    kind: str
    role: FieldRole
    values: tuple[str, ...] = ()

    @property
    def free(self) -> bool:
        """Tells whether the input is a text box, without a fixed list of values."""
        return not self.values


def inputs_of(form: Form) -> list[Input]:
    """Returns the inputs of a search form that choose records: text boxes, ranges and dates;
    selects, radios and groups of checkboxes with at least two real choices.

    Left out: sort orders, pages and page sizes, consent, hidden fields, and choices that mean
    "any".
    """
    found: dict[str, Input] = {}
    for field in form.fields:
        if not field.name or field.role in _NOT_ASKED or field.name in found:
            continue
        if (
            field.kind in ("text", "search", "number", "date", "month", "range")
            or field.role is FieldRole.QUERY
        ):
            found[field.name] = Input(field.name, field.kind, field.role)
        elif field.kind in ("select", "radio", "checkbox"):
            values = choices_of(field)
            if len(values) >= 2:
                found[field.name] = Input(field.name, field.kind, field.role, values)
    return list(found.values())


def choices_of(field: FormField) -> tuple[str, ...]:
    """Returns the values of a field that narrow a search: neither empty nor labelled as any or
    all."""
    kept = [
        o.value
        for o in field.options
        if not o.disabled
        and o.value.strip()
        and not _ANY.match(o.value.strip())
        and not _ANY.match(o.label.strip())
    ]
    return tuple(dict.fromkeys(kept))


def is_operator(field: FormField) -> bool:
    """Tells whether a select chooses a comparison operator: at least two of its choices, and at
    least half, are named as operators.
    """
    said = [
        bool(_OPERATOR.match(option.label.strip()) or _OPERATOR.match(option.value.strip()))
        for option in field.options
    ]
    return field.kind == "select" and sum(said) >= max(2, len(said) / 2)


def widest_operators(field: FormField) -> tuple[str, ...]:
    """Returns the values of the operators by which a word is found anywhere in a value; empty if
    the select has none. "like" is used only if there is no other such operator, because it needs
    the site's own wildcards."""
    found = [
        o
        for o in field.options
        if not o.disabled and (_CONTAINS.match(o.value.strip()) or _CONTAINS.match(o.label.strip()))
    ]
    plain = [o for o in found if "like" not in (o.value.strip().lower(), o.label.strip().lower())]
    return tuple(o.value for o in plain or found)


def query_input(inputs: Sequence[Input]) -> Input | None:
    """Returns the text box for words: the one with the role QUERY, otherwise the first free text
    box that is not for a date or a number. None if there is neither."""
    texts = [
        each
        for each in inputs
        if each.free and (each.kind in ("text", "search") or each.role is FieldRole.QUERY)
    ]
    said = next((each for each in texts if each.role is FieldRole.QUERY), None)
    return said or next(
        (each for each in texts if each.role not in (FieldRole.DATE, FieldRole.NUMBER)), None
    )


def ranges(inputs: Sequence[Input]) -> list[tuple[str, str]]:
    """Returns the (low, high) pairs of names of free inputs that are the two ends of a range."""
    return range_ends([each for each in inputs if each.free])


def range_ends(fields: Iterable[Input | FormField]) -> list[tuple[str, str]]:
    """Returns the (low, high) pairs of field names that differ only in words such as min/max,
    from/to, start/end or low/high."""
    ends = (
        ("min", "max"),
        ("from", "to"),
        ("start", "end"),
        ("low", "high"),
        ("von", "bis"),
        ("since", "until"),
        ("after", "before"),
    )
    names = {each.name for each in fields}
    found = []
    for name in sorted(names):
        for low, high in ends:
            partner = re.sub(rf"(?i)(?<![a-z]){low}(?![a-z])|^{low}|{low}$", high, name, count=1)
            if partner != name and partner in names:
                found.append((name, partner))
                break
    return found


def is_informative(signatures: Sequence[Hashable]) -> bool:
    """Tells whether a template (set of inputs) is informative: at least 20 % of the answers to
    queries that set it are different. `signatures` are the answers, each represented by a hashable
    value such as the set of its records."""
    return bool(signatures) and len(set(signatures)) >= INFORMATIVE * len(signatures)


FIRST_DAY, LAST_DAY = date(1900, 1, 1), date(2100, 12, 31)


YEARS = (1500, 2100)


NUMBERS = (0, 1_000_000)


_WIDE = 16


_YEAR = re.compile(r"year|jahr|année|annee|año|anno|ano|rok|год|年", re.I)


_MASKS = (
    (re.compile(r"[dt]{2}\.m{2}\.[yja]{4}|\d{2}\.\d{2}\.\d{4}", re.I), "%d.%m.%Y"),
    (re.compile(r"m{2}/d{2}/y{4}", re.I), "%m/%d/%Y"),
    (re.compile(r"[dj]{2}/m{2}/[ya]{4}", re.I), "%d/%m/%Y"),
    (re.compile(r"y{4}/m{2}/d{2}|\d{4}/\d{2}/\d{2}", re.I), "%Y/%m/%d"),
    (re.compile(r"y{4}m{2}d{2}|\d{8}", re.I), "%Y%m%d"),
)


@dataclass(frozen=True, slots=True)
class Range:
    """The values between two bounds, both included: whole numbers, or days as ordinals if `mask` (a
    format of `strftime`) is set."""

    low: int
    high: int
    mask: str = ""

    def typed(self) -> tuple[str, str]:
        """Returns the two bounds as texts to enter in the inputs."""
        if not self.mask:
            return str(self.low), str(self.high)
        return date.fromordinal(self.low).strftime(self.mask), date.fromordinal(self.high).strftime(
            self.mask
        )

    def ends(self) -> tuple[Range, Range]:
        """Returns the two ranges that contain only the lowest and only the highest value, which
        match hardly any records."""
        return Range(self.low, self.low, self.mask), Range(self.high, self.high, self.mask)

    def read(self, ends: Sequence[str]) -> Range | None:
        """Parses two bounds written in the format of this range; None if they have another
        format."""
        try:
            low, high = (
                datetime.strptime(text, self.mask).toordinal() if self.mask else int(text)
                for text in ends
            )
        except ValueError:
            return None
        return Range(low, high, self.mask)

    def halves(self) -> list[Range]:
        """Returns the two halves of the range; empty for a range of a single value. Both contain
        the middle value (unless there are only two values), so that no fractional value is missed.

        Numbers that span more than four octaves are split at the geometric mean, because most
        prices and sizes are small.
        """
        if self.high <= self.low:
            return []
        if not self.mask and self.low >= 0 and self.high > _WIDE * (self.low + 1):
            middle = round(((self.low + 1) * (self.high + 1)) ** 0.5) - 1
        else:
            middle = (self.low + self.high) // 2
        return [
            Range(self.low, middle, self.mask),
            Range(middle if middle > self.low else self.high, self.high, self.mask),
        ]


def whole_range(low: FormField, high: FormField) -> Range | None:
    """Returns the widest range that two inputs accept: from the minimum and maximum that the form
    declares for numbers, or else years from 1500 to 2100, other numbers from 0 to 1,000,000, dates
    from 1900 to 2100. None if the inputs take neither numbers nor dates."""
    said = f"{low.words} {high.words}"
    if (
        low.kind in ("date", "month", "datetime-local")
        or low.kind == "text"
        and _mask_of(f"{low.words} {low.value}")
    ):
        mask = {"date": "%Y-%m-%d", "month": "%Y-%m", "datetime-local": "%Y-%m-%dT00:00"}.get(
            low.kind, ""
        )
        mask = mask or _mask_of(f"{low.words} {low.value}") or "%Y-%m-%d"
        return Range(FIRST_DAY.toordinal(), LAST_DAY.toordinal(), mask)
    if low.kind == "text" and re.search(r"date|datum|日期|дата|fecha", said, re.I):
        return Range(FIRST_DAY.toordinal(), LAST_DAY.toordinal(), "%Y-%m-%d")
    if low.kind not in ("text", "number", "range"):
        return None
    least, most = YEARS if _YEAR.search(said) else NUMBERS
    return Range(
        _number(low.low, least), max(_number(high.high or low.high, most), _number(low.low, least))
    )


def _mask_of(text: str) -> str:
    return next((mask for pattern, mask in _MASKS if pattern.search(text)), "")


def _number(text: str, otherwise: int) -> int:
    try:
        return int(float(text))
    except (ValueError, OverflowError):
        return otherwise
