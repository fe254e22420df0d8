"""SimHash, and its index compared with an exhaustive search."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlmgr.text.similarity import SimHashIndex, blocks, distance, simhash

fingerprints = st.integers(min_value=-(2**63), max_value=2**63 - 1)


def flip(value: int, bits: list[int]) -> int:
    for bit in bits:
        value ^= 1 << bit
    return value


def test_one_word_is_its_own_hash_and_counts_do_not_change_it():
    assert simhash(["crawl"]) == simhash(["crawl"] * 5) != 0
    assert simhash([]) == 0


def test_majority_of_three_words_bit_by_bit():
    mask = 2**64 - 1
    a, b, c = (simhash([word]) & mask for word in ("a", "b", "c"))
    assert simhash(["a", "b", "c"]) & mask == (a & b) | (a & c) | (b & c)


def test_a_word_that_outweighs_the_others_decides_every_bit():
    assert simhash(["heavy"] * 5 + ["a", "b"]) == simhash(["heavy"])


def test_order_does_not_matter():
    assert simhash(["a", "b", "b"]) == simhash(["b", "a", "b"])


def test_similar_texts_are_nearer_than_different_ones():
    rng = random.Random(1)
    words = [f"w{i}" for i in range(400)]
    base = rng.choices(words, k=300)
    edited = base.copy()
    edited[:6] = ["other"] * 6
    assert distance(simhash(base), simhash(edited)) < distance(
        simhash(base), simhash(rng.choices(words, k=300))
    )


def test_distance_counts_bits_across_signs():
    assert distance(0, -1) == 64
    assert distance(-1, 2**64 - 1) == 0
    assert distance(0b1011, 0b0001) == 2


@given(fingerprints)
def test_fingerprints_fit_a_bigint_and_blocks_rebuild_them(value):
    a, b, c, d = blocks(value)
    assert (a << 48 | b << 32 | c << 16 | d) == value & (2**64 - 1)
    assert -(2**63) <= simhash([str(value)]) < 2**63


@given(st.lists(fingerprints, max_size=30), fingerprints, st.data())
def test_index_finds_exactly_what_comparing_all_finds(stored, query, data):
    near = [
        flip(query, data.draw(st.lists(st.integers(0, 63), max_size=5, unique=True)))
        for _ in range(5)
    ]
    index = SimHashIndex()
    everything = [*stored, *near, *near[:1]]
    for name, value in enumerate(everything):
        index.add(value, name)
    apart = [(distance(value, query), name) for name, value in enumerate(everything)]
    expected = sorted(pair for pair in apart if pair[0] <= 3)
    assert sorted(index.near(query)) == expected
    assert len(index) == len(everything)
    best = index.nearest(query)
    assert best is None if not expected else best[0] == expected[0][0]


def test_a_wider_search_is_refused_instead_of_missing_some():
    with pytest.raises(ValueError, match="up to 3"):
        list(SimHashIndex().near(0, limit=4))


def test_a_search_looks_at_few_entries():
    rng = random.Random(7)
    index = SimHashIndex()
    for name in range(20_000):
        index.add(rng.getrandbits(64), name)
    query = rng.getrandbits(64)
    looked_at = sum(
        len(table.get(block, ())) for table, block in zip(index._tables, blocks(query), strict=True)
    )
    assert looked_at < 40
