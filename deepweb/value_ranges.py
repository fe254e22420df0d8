"""Ranges of numbers or dates that are searched between two inputs of a form: their bounds, halves,
and text form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from deepweb.search_forms import FormField

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
