"""Every place where a user's selector or pattern is evaluated ends within a second on the worst
known one, names it, and is on the list here."""

from __future__ import annotations

import ast
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from crawlmgr.frontier import hosts
from crawlmgr.models import Page
from crawlmgr.web.pages.tree import parse
from focused.run.scope import Scope
from forums.discovery import correction_page
from forums.discovery.correction_page import dissect
from forums.models import Site, Visit
from forums.reading import PageKind, read_page
from forums.reading.corrections import KindRules, SiteCorrections
from forums.selectors import bounded, child
from forums.sites import rereads
from tests.crawlmgr.admin.rows import user
from tests.forums.test_crawl import crawl, read_once
from tests.site.forum import ForumServer, LocalForum

NOW = datetime(2026, 5, 1, tzinfo=UTC)
SECONDS = 1.0
DEEP = "//*[count(//*[count(//*[count(//*[count(//*)>0])>0])>0])>0]"
UNION = "//*[" + " | ".join(["//*//*//*"] * 12) + "]"
TEXTS = "//*[contains(concat(" + ",".join(["string(/)"] * 40) + "),'zz')]//*[string(/)!='']"
CSS = "* " * 8 + "*:not(" + "* ~ * ~ * ~ *)"
SELECTORS = {"counts": DEEP, "unions": UNION, "texts": TEXTS, "css": CSS}
PATTERNS = {
    "nested": r"^(([a-z0-9:/.?=&]+)+)+Z$",
    "or": r"^(a|b|ab|[a-z:/.0-9])*!",
    "pairs": r"(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)\d{9}Z",
    "again": r"(\w+[./:]?)+\1Z$",
}
URL = "http://forum.example/board/" + "abab/" * 30
HTML = (
    "<ul>"
    + "".join(
        f"<li><a href='/x/{n}'>Entry {n}</a> <q>who{n}</q> <i>{n + 3}</i></li>" for n in range(150)
    )
    + "</ul>"
)


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """The child is started once for a process, which is not what is measured here."""
    bounded.first_match(["x"], "x")
    read_page(HTML, URL, NOW)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded._evaluator, "failed", {})


def seconds_of(work: Callable[[], Any], least: Callable[[], Any] = lambda: None) -> float:
    """CPU seconds that `work` and the processes under it took, less those of `least`; a busy
    machine counts nothing."""

    def used(one: Callable[[], Any]) -> float:
        before = os.times()
        child_before = _cpu_of_child()
        one()
        after = os.times()
        here = after.user + after.system - before.user - before.system
        return here + _cpu_of_child() - child_before

    return used(work) - used(least)


def _cpu_of_child() -> float:
    """CPU seconds of the evaluating process and of the evaluations that it has ended."""
    process = bounded._evaluator.process
    if process is None:
        return 0.0
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def in_rows(selector: str) -> SiteCorrections:
    return SiteCorrections(
        ((PageKind.threadlist, KindRules("li", (("url", "a"), ("title", selector)))),)
    )


def as_rows(selector: str) -> SiteCorrections:
    return SiteCorrections(((PageKind.threadlist, KindRules(selector)),))


def learned(selector: str) -> SiteCorrections:
    taught = SiteCorrections(((PageKind.threadlist, KindRules("", (("author", selector),))),))
    return SiteCorrections().over(taught)


def stated(pattern: str) -> SiteCorrections:
    return SiteCorrections((), ((pattern, PageKind.thread),))


def _read(rules: SiteCorrections | None) -> Any:
    return read_page(HTML, URL, NOW, rules=rules, expect=PageKind.threadlist)


@pytest.mark.parametrize("name", SELECTORS)
@pytest.mark.parametrize("made", [in_rows, as_rows, learned])
def test_reading_a_page_by_a_costly_selector_ends_and_names_it(
    made: Callable[[str], SiteCorrections], name: str
) -> None:
    found: list[Any] = []
    rules = made(SELECTORS[name])
    cost = seconds_of(lambda: found.append(_read(rules)), lambda: found.append(_read(None)))
    assert cost < SECONDS
    by_rules, plain = found
    if name == "counts":
        assert "uncorrected" in by_rules.evidence and not by_rules.complete
        assert by_rules.doubts[0] == f"{DEEP}: takes too long or too much memory"
        assert by_rules.records == plain.records


@pytest.mark.parametrize("name", PATTERNS)
def test_reading_a_page_by_a_costly_pattern_ends_and_names_it(name: str) -> None:
    found: list[Any] = []
    rules = stated(PATTERNS[name])
    cost = seconds_of(lambda: found.append(_read(rules)), lambda: found.append(_read(None)))
    assert cost < SECONDS
    assert name == "pairs" or found[0].doubts[0].startswith(f"{PATTERNS[name]}: takes too long")


@pytest.mark.parametrize(
    "work",
    [
        lambda: correction_page.checked(PageKind.threadlist, "title", DEEP),
        lambda: correction_page.with_address(None, PATTERNS["nested"], PageKind.thread),
        lambda: dissect(HTML, URL, NOW, rules=stated(PATTERNS["nested"])),
        lambda: SiteCorrections.from_json(stated(PATTERNS["nested"]).to_json()),
        lambda: Scope(paths=("*a" * 250 + "!",)).refusal(URL + "a" * 2000, 1),
        lambda: Scope(without_paths=("*[!z]?" * 80 + "!",)).refusal(URL + "a" * 2000, 1),
    ],
    ids=["selector saved", "pattern saved", "shown", "loaded", "topic", "not in topic"],
)
def test_other_places_end(work: Callable[[], Any]) -> None:
    assert seconds_of(work) < SECONDS


def test_too_much_memory_ends_the_evaluation_only() -> None:
    doubled = "string(/)"
    for _ in range(24):
        doubled = f"concat({doubled},{doubled})" if len(doubled) < 230 else doubled
    rules = in_rows(f"//*[string-length({doubled}) > 0]")
    page = HTML.replace("Entry 7", "word " * 400_000)
    assert seconds_of(lambda: read_page(page, URL, NOW, rules=rules)) < 3 * SECONDS
    assert _read(in_rows("a")).evidence == ()


def test_the_same_child_answers_after_an_evaluation_was_ended() -> None:
    process = bounded._evaluator.process
    assert process is not None
    for pattern in (PATTERNS["nested"], PATTERNS["or"]):
        with pytest.raises(bounded.TooCostly, match="takes too long"):
            bounded.first_match(["x9", pattern], URL)
    assert bounded.first_match(["nothing", r"/board/"], URL) == 1
    assert bounded._evaluator.process is process and process.poll() is None


def test_a_child_that_was_killed_is_started_again() -> None:
    process = bounded._evaluator.process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert bounded.first_match([r"/board/"], URL) == 0


def test_a_costly_one_is_not_tried_again_on_the_same_page() -> None:
    with pytest.raises(bounded.TooCostly):
        bounded.first_match([PATTERNS["nested"]], URL)
    before = _cpu_of_child()
    for _ in range(34):
        with pytest.raises(bounded.TooCostly):
            bounded.first_match([PATTERNS["nested"]], URL)
    assert _cpu_of_child() - before < 0.1


def test_threads_do_not_wait_for_each_other_without_end() -> None:
    told: list[str] = []

    def ask(number: int) -> None:
        try:
            bounded.first_match([PATTERNS["nested"]], f"{URL}{'a' * number}")
        except ValueError as error:
            told.append(str(error))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 12 and bounded.BUSY in told
    assert time.monotonic() - begun < bounded.WAIT_SECONDS + 10 * child.CPU_SECONDS


def test_a_large_page_is_read_by_many_usual_selectors() -> None:
    rows = "".join(
        f"<tr class=row><td class=t><a href='/x/{n}'>Entry {n}</a></td><td><q>who{n}</q></td>"
        f"<td class='num r'>{n}</td><td class='num v'>{n + 3}</td><td><b>x</b></td></tr>"
        for n in range(1_000)
    )
    fields = (
        ("url", ".t a::attr(href)"),
        ("title", "td.t a"),
        ("author", ".//q"),
        ("replies", "td:nth-child(3)"),
        ("views", "./td[contains(@class, 'v')]"),
    )
    fields += (("last_author", "td b"), ("board_name", "td > b::text"), ("pinned", ".sticky"))
    page = f"<table>{rows}</table>"
    root = parse(page)
    picked = bounded.pick(root, page, "//table//tr[td]", [selector for _role, selector in fields])
    assert len(picked.rows) == 1_000
    assert picked.found["./td[contains(@class, 'v')]"][2][0].text == "5"
    assert picked.found[".t a::attr(href)"][999] == ["/x/999"]
    assert picked.found[".sticky"][0] == []


def test_elements_that_the_reader_adds_are_selected_too() -> None:
    """Lines of text get elements of their own, which the page's HTML does not have."""
    lines = "".join(
        f"<a href='/t/{n}'>Subject number {n}</a> <i>who{n}</i> {n + 2} replies<br>\n"
        for n in range(9)
    )
    page = f"<div @click='x' id=all><pre>{lines}</pre></div>"
    plain = read_page(page, URL, NOW, expect=PageKind.threadlist)
    rules = SiteCorrections(((PageKind.threadlist, KindRules("", (("author", "i"),))),))
    reading = read_page(page, URL, NOW, expect=PageKind.threadlist, rules=rules)
    assert len(plain.records) == 9 and "uncorrected" not in reading.evidence
    assert [one.author for one in reading.records] == [  # type: ignore[union-attr]
        f"who{n}" for n in range(9)
    ]


# Modules that evaluate an expression which is no constant, and whose it is.
EVALUATE = {
    "crawlmgr/environment.py": "forms of settings, ours",
    "crawlmgr/text/dates_words.py": "words of locales, escaped",
    "crawlmgr/web/next_page/pagination_urls.py": "an escaped address with digits",
    "deepweb/choice/matching.py": "an escaped word after a mark of ours",
    "deepweb/forms/templates.py": "words of ours for limits, as min and max",
    "focused/run/scope.py": "users' path patterns, with `*` only (matched without going back)",
    "forums/admin/simulations.py": "forms of messages, ours",
    "forums/discovery/correction_page.py": "selectors from an element's own tags and classes",
    "forums/discovery/evidence.py": "a number",
    "forums/discovery/claims.py": "selectors derived as in anatomy",
    "forums/reading/patterns.py": "forms of queries, ours",
    "forums/reading/posts/post_records.py": "an escaped id",
    "forums/reading/words.py": "words of ours",
    "forums/selectors/child.py": "users' selectors and patterns within the limits, and `select`",
}
_RE = {"compile", "search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split"}
_OTHER = {"xpath", "XPath", "cssselect", "css_to_xpath", "fnmatch", "fnmatchcase"}


def _evaluations(tree: ast.Module) -> Iterator[ast.Call]:
    """Calls inside functions that evaluate a selector or pattern which is no constant."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(function):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            owner, name = "", getattr(node.func, "id", "")
            if isinstance(node.func, ast.Attribute):
                owner, name = getattr(node.func.value, "id", ""), node.func.attr
            first = node.args[0]
            constant = isinstance(first, ast.Constant) or (
                isinstance(first, ast.Name) and first.id.isupper()
            )
            if not constant and (
                (owner == "re" and name in _RE)
                or name in _OTHER
                or (name == "select" and not owner and len(node.args) == 2)
            ):
                yield node


def test_no_module_evaluates_a_users_pattern_unlisted() -> None:
    root = Path(__file__).resolve().parents[2]
    found = {
        path.relative_to(root).as_posix()
        for package in ("crawlmgr", "focused", "deepweb", "forums")
        for path in sorted((root / package).rglob("*.py"))
        if any(_evaluations(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert found == set(EVALUATE)


# On the desk.


@pytest.fixture(scope="module")
def lasting() -> Iterator[ForumServer]:
    with ForumServer(LocalForum(threads=6)) as served:
        yield served


@pytest.fixture
def forum(lasting: ForumServer, transactional_db: None) -> Site:
    hosts.forget()
    lasting.begin_again()
    return read_once(lasting)


def _client(name: str) -> Client:
    Group.objects.get_or_create(name="operator")
    client = Client()
    if name == "operator":
        client.force_login(user("first"))
    else:
        looking = User.objects.create_user(name, password="a-long-password", is_staff=True)
        looking.user_permissions.add(Permission.objects.get(codename="view_site"))
        client.force_login(looking)
    return client


def test_the_desk_evaluates_only_for_those_who_may_change(forum: Site) -> None:
    viewer, operator = _client("looking"), _client("operator")
    base = f"/admin/forums/site/{forum.pk}/correct/"
    asked = {"kind": "thread", "role": "author", "selector": DEEP}
    before = _cpu_of_child()
    for client in (viewer, operator):
        assert client.get(base, asked).status_code == 200
    assert viewer.post(f"{base}?kind=thread", {**asked, "try": "1"}).status_code == 403
    assert _cpu_of_child() - before < 0.1
    tried = operator.post(f"{base}?kind=thread", {**asked, "try": "1"}).content.decode()
    told = "takes too long or too much memory on a stored page."
    assert told in tried and 'id="effects"' not in tried
    for wrong in ({"role": "author", "selector": DEEP}, {"role": "rows", "selector": DEEP}):
        saved = operator.post(f"{base}?kind=thread", wrong, follow=True).content.decode()
        assert told in saved and "//*[count(" in saved
    assert Site.objects.get().rules == {}


@pytest.mark.parametrize("name", ["nested", "or"])
def test_a_costly_pattern_is_refused_where_it_is_saved(forum: Site, name: str) -> None:
    Page.objects.update(final_url=URL)
    page = f"/admin/forums/site/{forum.pk}/correct/?kind=thread"
    wrong = {"pattern": PATTERNS[name], "stated": "thread"}
    saved = _client("operator").post(page, wrong, follow=True).content.decode()
    assert "takes too long or too much memory on a stored page." in saved
    assert Site.objects.get().rules == {}


@pytest.mark.parametrize(
    "rules",
    [
        SiteCorrections((), ((PATTERNS["nested"], PageKind.thread),)),
        SiteCorrections(((PageKind.thread, KindRules(DEEP)),)),
        SiteCorrections(((PageKind.thread, KindRules("", (("author", DEEP),))),)),
    ],
    ids=["pattern", "rows", "field"],
)
def test_costly_rules_stored_before_are_told_and_stop_nothing(
    forum: Site, rules: SiteCorrections, caplog: pytest.LogCaptureFixture
) -> None:
    Page.objects.update(final_url=URL)
    page = f"/admin/forums/site/{forum.pk}/correct/?kind=thread"
    viewer = _client("looking")
    shown = [viewer.get(page)]
    assert "Read without the corrections" not in shown.pop().content.decode()
    Site.objects.update(rules=rules.to_json())
    assert seconds_of(lambda: shown.append(viewer.get(page))) < SECONDS
    assert "Read without the corrections" in shown[0].content.decode()
    stored = Page.objects.filter(url__contains="/topic/").latest("pk")
    assert rereads.read_again(Site.objects.get(), stored) is None
    assert "takes too long" in caplog.text


def test_a_visit_tells_that_a_correction_cannot_be_applied(forum: Site) -> None:
    rules = SiteCorrections(((PageKind.threadlist, KindRules(DEEP)),))
    Site.objects.update(rules=rules.to_json())
    run = crawl(Site.objects.get())
    stopped = Visit.objects.filter(run=run).values_list("stopped_by", flat=True)
    assert set(stopped) == {"uncorrected"}
