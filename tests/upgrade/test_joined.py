"""Threads that version 0.1.0 stored twice are joined when its data are first opened, also if that
is killed; nothing of them is lost."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.serving import ROOT, manage
from tests.upgrade.test_from_v010 import V010, begin, statement

pytestmark = pytest.mark.slow
THREAD = (
    "site_id, title, author, created, last_reply, replies, pinned, posts, signature, pending,"
    " misses, last_page_url, previous_page_url, last_page, fetched_at, first_seen, gone_at"
)
POST = (
    "key, post_id, page, position, author, posted, precision_seconds, text, url, first_seen,"
    " edited_at, gone_at"
)
COPY_THREAD = (
    f"INSERT INTO forums_thread (id, key, url, board_id, {THREAD})"  # noqa: S608 - constants
    " SELECT {new}, '{key}',"
    f" '{{address}}', board_id, {THREAD} FROM forums_thread WHERE id = {{pk}}"
)
COPY_POSTS = (
    f"INSERT INTO forums_post (id, thread_id, {POST})"  # noqa: S608 - constants
    f" SELECT id + {{last}}, {{new}}, {POST} FROM forums_post WHERE thread_id = {{pk}}"
)
NAME_POST = (
    "UPDATE forums_post SET url = '{address}#p{number}' WHERE thread_id IN ({pk}, {new})"
    " AND post_id = '{post}'"
)
KILLED = """
import os, signal, sys
import django
from django.core.management import execute_from_command_line
os.environ["DJANGO_SETTINGS_MODULE"] = "crawlmgr.settings"
django.setup()
from forums.visits import moved_addresses as moves

def killed(*given, left=[int(sys.argv.pop())], real=moves._alias):
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    real(*given)

moves._alias = killed
execute_from_command_line(["manage.py", "run", "list"])
"""


def doubled(environment: dict[str, str]) -> list[int]:
    """Stores three threads a second time, as 0.1.0 did: two under the address of one of their
    posts, one under that of a moved thread, which the archived page shows; returns their ids."""
    rows = statement(
        environment,
        "SELECT t.id, t.url, MIN(p.post_id) FROM forums_thread t JOIN forums_post p ON"
        " p.thread_id = t.id WHERE p.post_id <> '' GROUP BY t.id, t.url ORDER BY t.id LIMIT 3",
    )
    highest = statement(environment, "SELECT MAX(id) FROM forums_thread")[0][0]
    for at, (pk, url, post) in enumerate(rows, 1):
        root, new = url.split("/", 3)[:3], highest + 100 + at
        number = "".join(filter(str.isdigit, post))
        address = "/".join([*root, f"viewtopic.php?p={number}" if at < 3 else "topic/90001"])
        key = address.split("://")[1].split(":")[0] + ("/" + address.split("/", 3)[3])
        key = key if at < 3 else key.partition("/")[0] + " t:90001"
        last = statement(environment, "SELECT MAX(id) FROM forums_post")[0][0]
        values = {"new": new, "pk": pk, "key": key, "address": address, "last": last, "post": post}
        statement(environment, COPY_THREAD.format(**values))
        statement(environment, COPY_POSTS.format(**values))
        if at == 3:
            redirect(environment, address, url)
        else:
            statement(environment, NAME_POST.format(**values, number=number))
    return [pk for pk, _url, _post in rows]


def redirect(environment: dict[str, str], address: str, final: str) -> None:
    """Gives an archived page the address of a moved thread and the final one to which it led."""
    words = (
        "from crawlmgr.models import Page; from crawlmgr.web.url import url_hash;"
        f"page = Page.objects.order_by('pk').first();"
        f"Page.objects.filter(pk=page.pk).update(url={address!r},"
        f" url_hash=url_hash({address!r}), final_url={final!r}, status=200)"
    )
    code = (
        "import os, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'crawlmgr.settings';"
        f" django.setup(); {words}"
    )
    done = subprocess.run((sys.executable, "-c", code), cwd=ROOT, env=environment)
    assert done.returncode == 0


def test_doubled_threads_are_joined_although_that_is_killed(
    installation: dict[str, str], tmp_path: Path
) -> None:
    with tarfile.open(V010 / "installation.tar.xz") as tar:
        tar.extractall(tmp_path / "v010", filter="data")
    begin(installation, tmp_path / "v010")
    posts = "SELECT thread_id, key, text, first_seen FROM forums_post ORDER BY thread_id, key"
    totals = "SELECT (SELECT COUNT(*) FROM forums_thread), (SELECT COUNT(*) FROM forums_post)"
    before, counted = statement(installation, posts), statement(installation, totals)
    pages = statement(installation, "SELECT COUNT(*) FROM crawlmgr_page")
    kept = doubled(installation)
    assert len(kept) == 3 and statement(installation, totals) != counted
    for done in (0, 1):  # each start is killed inside a joining
        words = (sys.executable, "-c", KILLED, str(done))
        killed = subprocess.run(words, cwd=ROOT, env=installation, capture_output=True, text=True)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    opened = manage(installation, "run", "list", "--json")
    assert opened.returncode == 0 and json.loads(opened.stdout)["runs"], opened.stderr
    assert statement(installation, totals) == counted
    assert statement(installation, posts) == before
    assert statement(installation, "SELECT COUNT(*) FROM crawlmgr_page") == pages
    aliases = statement(installation, "SELECT thread_id FROM forums_alias ORDER BY thread_id")
    assert [pk for (pk,) in aliases] == sorted(kept)
    told = "SELECT text FROM crawlmgr_event WHERE code = 'threads_joined'"
    assert "3 threads" in statement(installation, told)[0][0]
