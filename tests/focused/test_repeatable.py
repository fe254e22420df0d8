"""The order of a crawl does not depend on the iteration order of sets, which differs between
processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from focused.strategies.base import BUILT_IN

ROOT = Path(__file__).resolve().parents[2]
ORDERS = """
from focused.strategies.base import BUILT_IN
from tests.focused.webs import OFF, ON, Web, order
import random
draw = random.Random(4)
words = [*ON.split(), *OFF.split(), *(f"{a}{b}" for a in ("craw", "fro", "top", "lin") for b in \
("lers", "ntal", "ics", "king"))]
names = [f"p{n}" for n in range(90)]
pages = {}
for name in names:
    same = draw.sample(words, 7)  # the same words in another order: as likely, but for the last \
digit of a sum
    links = [(to, " ".join(draw.sample(same, 7)), " ".join(draw.choices(words, k=4))) for to in \
draw.sample(names, 12)]
    pages[name] = (" ".join([ON if draw.random() < 0.4 else OFF, *draw.choices(words, k=6)]), links)
for name in BUILT_IN:
    print(name, *order(name, Web(pages), names[:1]))
"""


def orders(seed: int) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", ORDERS],
        capture_output=True,
        text=True,
        env=environment,
        cwd=ROOT,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.slow
def test_every_process_takes_the_same_order() -> None:
    first = orders(1)
    assert len(first) == len(BUILT_IN) and all(len(line.split()) == 91 for line in first)
    for seed in (2, 3, 4):
        assert [
            (a.split()[0], a == b) for a, b in zip(first, orders(seed), strict=True) if a != b
        ] == []
