"""Parameters of strategies and runs as form fields (label, range, default, help), and parsing of
submitted values with error messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from focused.admin import titles
from focused.parameters import Parameter

SLIDER = 10
"""A slider is shown for parameters with a fraction whose range ends at this value or below."""
NO_BOUND = 100_000
"""Upper bounds from this value on are not shown beside the field."""


@dataclass(frozen=True, slots=True)
class Field:
    """One parameter as the template renders it, with its present value and an error message
    (`wrong`, "" for none)."""

    id: str
    parameter: Parameter
    value: Any
    help: str
    choices: Sequence[tuple[str, str]]
    wrong: str = ""
    linked: bool = False
    """True if the parameter is one of several shares that sum to 1."""
    title: str = ""

    @property
    def default(self) -> str:
        """The parameter's default value as text for display."""
        default = self.parameter.default
        return titles.choice(str(default)) if self.parameter.choices else str(default)

    @property
    def number(self) -> str:
        """The value of a number field as text, a whole number without decimals; what the user typed
        if it is not a number."""
        return _plain(self.value)

    @property
    def bounds(self) -> str:
        """Range and default as text; an upper bound of NO_BOUND (100,000) or more is left out."""
        low, high = self.parameter.low, self.parameter.high
        near = high is not None and high < NO_BOUND
        named = {
            "low": _plain(low, ","),
            "high": _plain(high, ","),
            "default": _plain(self.parameter.default, ","),
        }
        text = (
            _("%(low)s–%(high)s, default %(default)s")
            if near
            else _("from %(low)s, default %(default)s")
        )
        return text % named

    @property
    def step(self) -> str:
        """The `step` attribute of the HTML input: "1" for whole numbers, otherwise "any"."""
        return "1" if self.parameter.kind == "int" else "any"

    @property
    def slides(self) -> bool:
        """True if a slider is shown beside the number: for numbers with a fraction whose range ends
        at SLIDER (10) or below, except shares that sum to 1.
        """
        one = self.parameter
        return (
            not self.linked
            and one.kind == "float"
            and one.low is not None
            and one.high is not None
            and one.high <= SLIDER
        )

    @property
    def changed(self) -> bool:
        """True if the value differs from the default."""
        return self.value != self.parameter.default


def _plain(value: Any, grouped: str = "") -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{int(value):{grouped}}" if value == int(value) else f"{value:{grouped}}"


def fields(
    parameters: Sequence[Parameter],
    values: Mapping[str, Any],
    prefix: str,
    wrong: Mapping[str, str] | None = None,
    linked: Sequence[str] = (),
    owner: str = "options",
) -> list[Field]:
    """Returns the form fields of parameters, filled with `values` or defaults; `wrong` are error
    messages by parameter name. `linked` names the parameters that are shares with the sum 1.
    `prefix` begins the fields' HTML names; `owner` is the name of the strategy that the parameters
    belong to, or "options" for those of the run.
    """
    return [
        Field(
            f"{prefix}{one.name}",
            one,
            values.get(one.name, one.default),
            _(one.help),
            [(choice, titles.choice(choice)) for choice in one.choices],
            (wrong or {}).get(one.name, ""),
            one.name in linked,
            titles.parameter(one.name, owner),
        )
        for one in parameters
    ]


def read(
    parameters: Sequence[Parameter], posted: QueryDict, prefix: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """Reads the submitted values of parameters from fields whose HTML names begin with `prefix`.
    Returns the values in the parameters' types (as typed if invalid), and error messages for
    invalid ones; both are by parameter name.
    """
    values: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for one in parameters:
        name = f"{prefix}{one.name}"
        raw = (
            ("yes" if name in posted else "no")
            if one.kind == "bool"
            else posted.get(name, str(one.default)).strip()
        )
        try:
            values[one.name] = one.read(raw)
        except ValueError as error:
            values[one.name], wrong[one.name] = raw, str(error)
    return values, wrong
