"""Storing numpy arrays in a database field."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np


def packed(arrays: Mapping[str, Any]) -> bytes:
    """Converts named numpy arrays to bytes, for a binary field."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def unpacked(data: bytes) -> dict[str, Any]:
    """Returns the named arrays from the bytes that `packed` returned."""
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}
