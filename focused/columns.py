"""Growable arrays, one for each column of a table whose length is not known in advance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Columns:
    """A set of numpy arrays (columns), one for each keyword argument `name=dtype`, that grow
    together by doubling their capacity. Only the first `size` elements of each are valid. An
    element may itself be an array: a column given as (float, 7) has seven numbers in each row.
    """

    def __init__(self, **kinds: Any) -> None:
        self.size = 0
        self._room = 256
        self._kinds = kinds
        for name, kind in kinds.items():
            setattr(self, name, np.zeros(self._room, dtype=kind))

    def __getattr__(self, name: str) -> NDArray[Any]:
        raise AttributeError(name)

    def extend(self, number: int) -> slice:
        """Appends `number` rows of zeros and returns the slice of their indices."""
        first, self.size = self.size, self.size + number
        while self.size > self._room:
            self._room *= 2
            for name in self._kinds:
                array = getattr(self, name)
                setattr(self, name, np.concatenate([array, np.zeros_like(array)]))
        return slice(first, self.size)
