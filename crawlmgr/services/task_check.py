"""Checks that queued tasks contain only the name of a known function and plain values. Pickled
tasks are read without executing any code in them."""

from __future__ import annotations

import io
import pickle
from collections.abc import Collection, Mapping
from typing import Any, cast

from django.conf import settings
from django.core.signing import TimestampSigner

OPTIONS = frozenset(
    {"id", "name", "func", "args", "kwargs", "started", "save", "cluster", "ack_failure", "group"}
)
LONGEST_TEXT = 300
_TIME = frozenset({"datetime", "timezone", "timedelta"})


class NotPlain(Exception):
    """A pickled task contains more than plain values; the text names what."""


class _PlainReader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module == "datetime" and name in _TIME:
            return super().find_class(module, name)
        raise NotPlain(f"{module}.{name}")


class _Plain:
    """Serializer for django.core.signing that unpickles only plain values and times."""

    @staticmethod
    def loads(data: bytes) -> Any:
        try:
            return _PlainReader(io.BytesIO(data)).load()
        except NotPlain:
            raise
        except Exception as error:  # damaged bytes can raise any exception
            raise NotPlain(f"a damaged task ({type(error).__name__})") from None


def opened(payload: str, salt: str) -> dict[str, Any]:
    """Returns a queued task as a dict, after checking its signature and unpickling it safely.
    Raises BadSignature, NotPlain."""
    task = TimestampSigner(key=settings.SECRET_KEY, salt=salt).unsign_object(
        payload, serializer=cast(Any, _Plain)
    )
    if not isinstance(task, dict):
        raise NotPlain("no task")
    return task


def objection(task: Mapping[str, Any], known: Collection[str]) -> str:
    """Returns the reason why a task must not be executed, in a few words; "" if it calls a function
    in `known` with plain arguments.

    >>> [objection({"func": name, "args": (7,)}, {"ours.work"}) for name in ("os.abort", \
"ours.work")]
    ['os.abort', '']
    """
    name = task.get("func")
    if not isinstance(name, str) or name not in known:
        return str(name)[:LONGEST_TEXT]
    if odd := sorted(str(option) for option in set(task) - OPTIONS):
        return f"{name} with {odd[0]}"
    arguments = task.get("args") or ()
    if (
        task.get("kwargs")
        or not isinstance(arguments, tuple)
        or not all(_plain(one) for one in arguments)
    ):
        return f"{name} with other arguments"
    return ""


def _plain(value: Any) -> bool:
    return type(value) is int or (type(value) is str and len(value) <= LONGEST_TEXT)
