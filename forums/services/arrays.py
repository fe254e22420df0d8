"""Storing numpy arrays in a database field."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np


def packed(arrays: Mapping[str, Any]) -> bytes:
    """Named numpy arrays as bytes, for a binary field."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def unpacked(data: bytes) -> dict[str, Any]:
    """The named arrays stored by `packed`."""
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}
