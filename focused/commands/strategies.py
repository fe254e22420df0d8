"""The command `topic strategies`: lists every strategy with its parameters, their defaults, ranges
and meaning."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from crawlmgr.management.base import Result
from focused.parameters import Parameter
from focused.strategies.base import BUILT_IN, strategy_class


def add_arguments(parser: Any) -> None:
    """Adds nothing: the command has only the options that all commands have."""


def run(options: dict[str, Any]) -> Result:
    further = settings.TOPIC_STRATEGIES
    rows = [_row(name, further) for name in {**BUILT_IN, **further}]
    return Result({"strategies": rows}, "\n\n".join(_text(row) for row in rows))


def _row(name: str, further: dict[str, str]) -> dict[str, Any]:
    found = strategy_class(name, further)
    return {
        "strategy": name,
        "summary": found.summary,
        "parameters": [_parameter(p) for p in found.parameters()],
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "kind": parameter.kind,
        "default": parameter.default,
        "range": None if parameter.low is None else [parameter.low, parameter.high],
        "choices": list(parameter.choices) or None,
        "help": parameter.help,
    }


def _text(row: dict[str, Any]) -> str:
    lines = [f"{row['strategy']}: {row['summary']}"]
    for p in row["parameters"]:
        allowed = (
            "|".join(p["choices"])
            if p["choices"]
            else f"{p['range'][0]:g}–{p['range'][1]:g}"
            if p["range"]
            else "yes|no"
        )
        lines.append(f"  {p['name']}={p['default']}  ({allowed})  {p['help']}")
    return "\n".join(lines)
