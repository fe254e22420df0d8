"""Typed parameters of strategies and runs: fields of a frozen dataclass with default, help, range
and choices, for forms and the command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

Value = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Parameter:
    """The description of one parameter for forms and lists; the parameter's type is that of its
    default."""

    name: str
    default: Value
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    title: str = ""
    """The parameter's display name; without one its identifier is shown."""

    @property
    def kind(self) -> str:
        """The kind of the parameter: bool, int, float or choice."""
        return "choice" if self.choices else type(self.default).__name__

    def read(self, value: Value) -> Value:
        """Converts a value, which may be text, to the parameter's type. Raises ValueError with a
        one-line message if it is invalid or out of range.
        """
        if self.choices:
            if value not in self.choices:
                raise ValueError(f"{self.name} is one of {', '.join(self.choices)}, not {value}")
            return value
        if isinstance(self.default, bool):
            return self._read_bool(value)
        try:
            number = int(value) if isinstance(self.default, int) else float(value)
        except ValueError:
            raise ValueError(
                f"{self.name} is {'a whole number' if self.kind == 'int' else 'a number'}, not"
                f" {value}"
            ) from None
        if not (self.low is None or number >= self.low) or not (
            self.high is None or number <= self.high
        ):
            raise ValueError(
                f"{self.name} lies between {self.low:g} and {self.high:g}, not {str(value)[:20]}"
            )
        return number

    def _read_bool(self, value: Value) -> bool:
        words = {
            "true": True,
            "yes": True,
            "on": True,
            "1": True,
            "false": False,
            "no": False,
            "off": False,
            "0": False,
        }
        try:
            return words[str(value).lower()]
        except KeyError:
            raise ValueError(f"{self.name} is yes or no, not {value}") from None


def gettext_noop(text: str) -> str:
    """Marks a text for translation and returns it unchanged. Replaces Django's function in pure
    modules; the web interface translates the text when it is displayed."""
    return text


def parameter(
    default: Any,
    help: str,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    title: str = "",
) -> Any:
    """Makes a dataclass field that is a parameter, to be used as the field's default value; numbers
    need `low` and `high`, texts need `choices`."""
    shown = {"help": help, "low": low, "high": high, "choices": choices, "title": title}
    return field(default=default, metadata={"default": default, "shown": shown})


def parameters_of(settings: type) -> tuple[Parameter, ...]:
    """Returns the parameters that a settings dataclass declares, in order."""
    return tuple(
        Parameter(name=f.name, default=f.metadata["default"], **f.metadata["shown"])
        for f in fields(settings)
    )


def read_settings(settings: type, values: Mapping[str, Value]) -> Any:
    """Makes an instance of a settings dataclass from names and values (text or typed). Raises
    ValueError for an unknown name or an invalid value.
    """
    known = {p.name: p for p in parameters_of(settings)}
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise ValueError(f"no parameter {unknown[0]}; there are: {', '.join(known) or 'none'}")
    return settings(**{name: known[name].read(value) for name, value in values.items()})
