"""A page is read identically in every process: nothing depends on the iteration order of sets of
strings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

READ = """
import sys
from datetime import UTC, datetime
from forums.reading import read_page
rows = "".join(
    f"<tr><td><a href='/index.php?showtopic={n}'>\u4e3b\u9898 {n} \u7684\u6807\u9898</a></td><td>\
<a href='/index.php?showuser={n % 4}'>user{n % 4}</a></td>"
    f"<td>{n % 5}</td><td>{100 + 7 * n}</td><td>2026-10-{28 - n:02}, 02:17<br>\
<a href='/index.php?showtopic={n}&view=getlastpost'>\u6700\u540e</a>"
    f" <b><a href='/index.php?showuser={n % 3}'>user{n % 3}</a></b></td></tr>"
    for n in range(1, 13)
)
heads = "".join(f"<th>{head}</th>" for head in "\u4e3b\u9898 \u53d1\u8d77\u4eba \u56de\u590d \
\u67e5\u770b \u6700\u540e\u53d1\u8868".split())
page = f"<html><body><h1>\u8bba\u575b</h1><table><tr>{heads}</tr>{rows}</table></body></html>"
result = read_page(page, "http://forum.example/index.php?showforum=7", datetime(2026, 11, 1, \
tzinfo=UTC))
print(result.kind, len(result.records), [str(one.last_reply.value) if one.last_reply else None for \
one in result.records])
print(hash("the order of sets"), file=sys.stderr)
"""


@pytest.mark.parametrize("seed", ["0", "1", "2", "3", "6", "7"])
def test_a_head_that_says_last_and_posted_is_read_the_same_in_every_process(seed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READ],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    days = ", ".join(f"'2026-10-{28 - n:02} 02:17:00+00:00'" for n in range(1, 13))
    assert done.stdout.strip() == f"threadlist 12 [{days}]"
