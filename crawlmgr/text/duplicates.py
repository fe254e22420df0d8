"""Recognises equal and nearly equal texts: a digest of the words, a 64-bit SimHash fingerprint, and
an index of fingerprints.

SimHash after Charikar (2002), the index after Manku, Jain and Das Sarma (2007): two fingerprints
that differ in at most three bits agree in at least one of four blocks of 16 bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import Generic, TypeVar

import numpy as np

NEAR = 3
"""Number of bits in which the fingerprints of near-duplicates may differ."""

_BLOCKS = 4
_BITS = 64
_BLOCK_BITS = _BITS // _BLOCKS
_MASK = (1 << _BITS) - 1

T = TypeVar("T")


@lru_cache(maxsize=32768)
def _signs(token: str) -> np.ndarray:
    """Returns the 64 bits of a word's hash as an array of shape (64,): +1 for a set bit, -1 for an
    unset one."""
    digest = blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return np.unpackbits(np.frombuffer(digest, dtype=np.uint8)).astype(np.float32) * 2 - 1


def simhash(tokens: Iterable[str]) -> int:
    """Returns the 64-bit SimHash of a text, given as its words or a Counter of them; as a signed
    integer, so that it fits a database's bigint.

    Bit b is 1 where the sum over words of count * (+1 if bit b of the word's hash is set, else -1)
    is positive. Without words the result is 0; callers leave such texts out of comparisons.
    """
    counts = Counter(tokens)
    if not counts:
        return 0
    signs = np.stack([_signs(token) for token in counts])
    sums = np.fromiter(counts.values(), dtype=np.float32, count=len(counts)) @ signs
    return int.from_bytes(np.packbits(sums > 0).tobytes(), "big", signed=True)


def distance(a: int, b: int) -> int:
    """Returns the number of bits, 0 to 64, in which two fingerprints differ; each may be signed or
    unsigned."""
    return ((a ^ b) & _MASK).bit_count()


def blocks(fingerprint: int) -> tuple[int, int, int, int]:
    """Returns the four 16-bit blocks of a fingerprint, highest bits first. Two fingerprints at
    distance <= 3 have at least one equal block; the database stores each block in an indexed
    column."""
    value = fingerprint & _MASK
    return value >> 48, value >> 32 & 0xFFFF, value >> 16 & 0xFFFF, value & 0xFFFF


def text_digest(tokens: Iterable[str]) -> bytes:
    """Returns a 16-byte digest that is equal for texts of the same words in the same order,
    whatever separates the words."""
    digest = blake2b(digest_size=16)
    for token in tokens:
        digest.update(token.encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return digest.digest()


class SimHashIndex(Generic[T]):
    """An index of (fingerprint, name) entries that finds all entries whose fingerprints differ from
    a given one in at most `NEAR` bits.

    A search compares the given fingerprint only with entries that have a 16-bit block in common
    with it: of n random entries about n / 16,384.
    """

    def __init__(self) -> None:
        self._tables: tuple[dict[int, list[int]], ...] = tuple({} for _ in range(_BLOCKS))
        self._entries: dict[int, list[T]] = {}

    def __len__(self) -> int:
        return sum(len(names) for names in self._entries.values())

    def add(self, fingerprint: int, name: T) -> None:
        """Adds one entry; several entries may have the same fingerprint."""
        value = fingerprint & _MASK
        names = self._entries.get(value)
        if names is not None:
            names.append(name)
            return
        self._entries[value] = [name]
        for table, block in zip(self._tables, blocks(value), strict=True):
            table.setdefault(block, []).append(value)

    def near(self, fingerprint: int, limit: int = NEAR) -> Iterator[tuple[int, T]]:
        """Yields (distance, name) of all entries whose fingerprints differ in at most `limit` bits,
        in no particular order. Raises ValueError for a limit above 3, for which comparing blocks
        would miss entries."""
        if limit > NEAR:
            raise ValueError(f"the index finds distances up to {NEAR}, not {limit}")
        value = fingerprint & _MASK
        seen: set[int] = set()
        for table, block in zip(self._tables, blocks(value), strict=True):
            for candidate in table.get(block, ()):
                apart = (candidate ^ value).bit_count()
                if apart <= limit and candidate not in seen:
                    seen.add(candidate)
                    for name in self._entries[candidate]:
                        yield apart, name

    def nearest(self, fingerprint: int) -> tuple[int, T] | None:
        """Returns (distance, name) of the closest entry within `NEAR` bits, one of the closest if
        there are several; None if there is none."""
        return min(self.near(fingerprint), key=lambda pair: pair[0], default=None)
