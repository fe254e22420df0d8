"""The hand-written rules for a page's kind: scores of its best readings as boards, as threads and
as posts, lowered by signs that the page does not belong to a forum."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from lxml.html import HtmlElement

from crawlmgr.web.pages.outline import Outline
from forums.reading.addresses import names_board, names_user
from forums.reading.best_candidates import (
    MIN_QUALITY,
    BestCandidates,
    describe_authors,
    has_people,
    inside,
)
from forums.reading.document import Page
from forums.reading.lists.row_sets import RowSet
from forums.reading.model import PageKind
from forums.reading.patterns import leads_to
from forums.reading.posts.post_set import PostSet
from forums.reading.words import class_roles


class KindScores(NamedTuple):
    """How well the hand-written rules can read a page as a list of threads, as an index of boards
    and as the posts of a thread. A score is 0 if they cannot; a reading is accepted if its score is
    at least `MIN_QUALITY`. `evidence`: codes of the evidence that changed the scores."""

    threads: float
    boards: float
    posts: float
    evidence: tuple[str, ...]


def kind_scores(page: Page, found: BestCandidates) -> KindScores:
    """Scores how well a page fits as list of threads, list of boards and thread, from its best
    lists and posts (`found`)."""
    evidence: list[str] = []
    threads, boards = _lists(page, found, evidence)
    posts = _posts(page, found, evidence)
    if "names-of-posts" in evidence:
        threads *= 0.3
    return KindScores(threads, boards, posts, tuple(evidence))


def ruled(page: Page, scores: KindScores, expect: PageKind | None) -> tuple[PageKind, float]:
    """Returns the kind of the page by the hand-written rules, and their certainty in [0, 1].

    `scores` holds the scores of the page as each kind; that of `expect`, the kind that the site's
    model expects, is raised. If no score reaches `MIN_QUALITY`, the kind is `thread` with certainty
    0 for a thread's address, otherwise `other`.
    """
    values = {
        PageKind.threadlist: scores.threads,
        PageKind.index: scores.boards,
        PageKind.thread: scores.posts,
    }
    if expect in values and values[expect] >= 0.5 * MIN_QUALITY:
        values[expect] *= 1.5
    kind = max(values, key=lambda name: values[name])
    best = values[kind]
    if best < MIN_QUALITY:
        if page.is_thread_address and leads_to(page.pattern) == "thread":
            return PageKind.thread, 0.0
        return PageKind.other, min(1.0, 1 - best)
    return kind, min(1.0, best) * min(1.0, 0.5 + (best - sorted(values.values())[-2]))


def _lists(page: Page, found: BestCandidates, evidence: list[str]) -> tuple[float, float]:
    """Returns the page's scores as a list of threads and as an index of boards. Adds codes of what
    lowered them to `evidence`."""
    threads = found.threads.quality if found.threads else 0.0
    boards = found.boards.quality if found.boards else 0.0
    if found.threads and not _is_of_a_forum(page, found.threads):
        threads *= 0.35
        evidence.append("no-forum-words")
    elif found.threads and _are_announcements(found.threads):
        threads *= 0.28
        evidence.append("announcements")
    if found.threads and found.boards and inside(found.threads, found.boards):
        threads *= 0.3
        evidence.append("threads-in-boards")
    if (
        found.threads
        and threads >= MIN_QUALITY
        and len(found.threads.rows) >= 3
        and boards
        and names_board(page.board_key)
    ):
        boards *= 0.7
        evidence.append("board-address")
    if page.is_thread_address:
        threads, boards = 0.6 * threads, 0.6 * boards
    if found.boards and len(found.boards.rows) < 2:
        boards *= 0.6
    return threads, boards


def _posts(page: Page, found: BestCandidates, evidence: list[str]) -> float:
    """Returns the page's score as a thread. Appends to `evidence` codes of the reasons that raised
    or lowered it."""
    if not found.posts:
        return 0.0
    posts, value = found.posts, 1.3 * found.posts.quality
    if page.is_thread_address:
        value *= 1.4
        evidence.append("thread-address")
    elif names_board(page.board_key) and leads_to(page.pattern) == "board":
        value *= 0.4 if len(posts.spans) == 1 else 0.7
    elif (
        len(posts.spans) == 1
        and leads_to(page.pattern) != "thread"
        and not (posts.is_sure(0) or _is_answered(page, posts, found.others))
    ):
        value *= 0.3
        evidence.append("lone-text")
    elif len(posts.spans) > 1 and _are_articles(page, posts):
        value *= 0.35
        evidence.append("articles")
    elif (
        len(posts.spans) > 1
        and leads_to(page.pattern) != "thread"
        and not (has_people(posts) or _is_answered(page, posts, found.others))
    ):
        value *= 0.35
        evidence.append("nobody-writes")
    if not page.is_thread_address and (reason := _is_no_thread(page, posts)):
        value *= 0.25
        evidence.append(reason)
    for rows in (found.threads, found.boards):
        written = "announcements" in evidence or page.is_thread_address
        if rows and _posts_are_rows(posts, rows) and not (written and describe_authors(posts)):
            value *= 0.3
            if rows is found.threads:
                evidence.append("rows-not-posts")
    if (
        found.threads
        and len(posts.spans) > 1
        and not found.threads.is_labelled
        and _names_posts(posts, found.threads)
    ):
        evidence.append("names-of-posts")
    return value


_FRONT = re.compile(r"/?(?:index\.\w+)?")


def _is_no_thread(page: Page, posts: PostSet) -> str:
    """Returns the code of a reason why the supposed posts are not a thread's: the page is the
    site's home page ("front-page"), a user's profile ("profile") or a form with two passwords
    ("registration"), or the texts have no authors and are dated only by days ("days-of-nobody"). ""
    if there is no such reason."""
    parts = urlsplit(page.url)
    if _FRONT.fullmatch(parts.path) and not parts.query:
        return "front-page"
    if leads_to(page.pattern) != "thread":
        if names_user(page.url):
            return "profile"
        people = {link.text for link in page.links if link.is_user}
        if page.headings and page.headings[0] in people:
            return "profile"
    if len(posts.spans) == 1:
        return "registration" if len(page.root.findall(".//input[@type='password']")) > 1 else ""
    days = all(
        span.anchor.moment.precision_seconds >= 86_400 and not span.anchor.moment.relative
        for span in posts.spans
    )
    return "days-of-nobody" if days and not has_people(posts) else ""


_DATED = re.compile(r"/(?:19|20)\d\d/(?:0?[1-9]|1[0-2])/")
_FORUM_COUNTS = frozenset({"replies", "comments", "posts", "views"})


def _is_of_a_forum(page: Page, rows: RowSet) -> bool:
    """Tells whether a list of supposed threads clearly belongs to a forum. Signs are words,
    addresses of threads, counts labelled as replies or views, rows with users and counts, or a page
    address like that of a board. Titles, times and images are no signs, since lists of news and
    products have them too."""
    if sum(bool(_DATED.search(row.title.url)) for row in rows.rows) * 2 > len(rows.rows):
        return False
    if rows.is_labelled:
        return True
    if leads_to(rows.group.pattern) == "thread" and (
        rows.group.share("times") >= 0.5 or rows.is_titles_only
    ):
        return True
    counted = sum(any(found.roles & _FORUM_COUNTS for found in row.counts) for row in rows.rows)
    if counted * 2 >= len(rows.rows):
        return True
    people = sum(any(link.is_user for link in row.links) for row in rows.rows)
    if people * 2 >= len(rows.rows) and rows.group.share("counts") >= 0.5:
        return True
    return names_board(page.board_key) and leads_to(page.pattern) == "board"


def _takes_text(form: HtmlElement) -> bool:
    """Tells whether a form, such as one for comments, has at least two input fields for text (name,
    address …) and none for a password."""
    types = [(field.get("type") or "text").lower() for field in form.iter("input")]
    return "password" not in types and types.count("text") >= 2


def _replies(posts: PostSet, other: PostSet) -> bool:
    """Tells whether the set `other` is a single reply to `posts`: one text with a line of a name
    and a time, whose time, position and text differ from those of the first post."""
    if (
        len(other.spans) != 1
        or other.plain_share < 0.8
        or not other.has_byline(0)
        or not other.body_lengths[0]
    ):
        return False
    apart = (
        other.spans[0].anchor.node != posts.spans[0].anchor.node
        and other.bodies[0] != posts.bodies[0]
    )
    return apart and other.spans[0].anchor.moment != posts.spans[0].anchor.moment


def _is_answered(page: Page, posts: PostSet, others: tuple[PostSet, ...]) -> bool:
    """Tells whether candidate posts whose authors are uncertain (see `PostSet.is_sure`) belong to a
    discussion.

    - Several posts: the page has a field for a reply, and at least two thirds of the posts have a
      byline (`has_byline`).
    - A single post: the page has a `<textarea>`, and the byline has name and time on one line. A
      name that is a link to something other than a user is rejected, because it may be an entry of
      a menu.
    - A single post with a byline is always accepted if the page has a `<textarea>` and one of
      `others`, its other sets of posts, is a reply to the post (`_replies`)."""
    large = page.root.find(".//textarea") is not None
    if (
        large
        and len(posts.spans) == 1
        and posts.has_byline(0)
        and any(_replies(posts, other) for other in others)
    ):
        return True
    single = len(posts.spans) == 1
    if not large and (single or not any(_takes_text(form) for form in page.root.iter("form"))):
        return False
    if single and posts.people[0]:
        if posts.writers[0] is not None and not posts.writers[0].is_user and not posts.links_people:
            return False
        first = page.outline.piece_from[posts.people[0][0][1]]
        return posts.has_byline(0) and page.outline.pieces[first].line == posts.spans[0].anchor.line
    return 3 * sum(posts.has_byline(at) for at in range(len(posts.spans))) >= 2 * len(posts.spans)


def _are_announcements(rows: RowSet) -> bool:
    """Tells whether the rows are announcements, as on the home page of a blog or newspaper: their
    links do not have addresses of threads or boards, and on average more than 260 characters of
    text follow each."""
    if leads_to(rows.group.pattern) in ("thread", "board"):
        return False
    return sum(len(row.text) - len(row.title.text) for row in rows.rows) > 260 * len(rows.rows)


def _are_articles(page: Page, posts: PostSet) -> bool:
    """Tells whether supposed posts only announce other pages, as in blogs and news: at least 60 %
    of them have a heading that is linked to another page, and these headings differ."""
    headings = []
    for span in posts.spans:
        for link in page.links_in(span.start, span.end):
            if (
                link.is_user
                or link.fragment
                or link.key == page.key
                or leads_to(link.pattern) == "post"
            ):
                continue
            if (
                len(link.text) >= 8
                and page.moment(link.text) is None
                and _is_heading(page.outline, link.node, span.start)
            ):
                headings.append(link)
                break
    return len(headings) >= 0.6 * len(posts.spans) and len(
        {link.text for link in headings}
    ) >= 0.8 * len(headings)


def _is_heading(page: Outline, node: int, top: int) -> bool:
    for _ in range(3):
        if node < top:
            return False
        if page.tags[node] in ("h1", "h2", "h3", "h4") or "title" in class_roles(
            page.classes[node]
        ):
            return True
        node = page.parents[node]
    return False


def _posts_are_rows(posts: PostSet, rows: RowSet) -> bool:
    """Tells whether the supposed posts are really rows of the list `rows`: at least 70 % of their
    times are inside those rows, and nothing shows that the rows' title links belong to posts or are
    buttons."""
    if (
        posts.plain_share >= 0.5
        and not rows.is_labelled
        and (len(rows.rows) < 2 or _names_posts(posts, rows))
    ):
        return False
    spans = rows.group.spans
    if (
        len(rows.rows) > 1
        and posts.plain_share >= 0.5
        and len({row.title.text for row in rows.rows}) == 1
    ):
        return False  # Links with the same text to many pages are buttons.
    inside = sum(
        any(start <= span.anchor.node < end for start, end in spans) for span in posts.spans
    )
    return inside >= 0.7 * len(posts.spans)


def _names_posts(posts: PostSet, rows: RowSet) -> bool:
    """Tells whether the title links of the rows are only permalinks or subjects of the posts: the
    texts of the posts are longer than the links, and the links do not look like those of a list of
    threads."""
    if posts.plain_share < 0.5:
        return False
    longer = sum(posts.body_lengths) / len(posts.spans) > 1.5 * sum(
        len(row.title.text) for row in rows.rows
    ) / len(rows.rows)
    if longer and rows.page.is_thread_address and _carry_ids(posts, rows):
        return True
    if leads_to(rows.group.pattern) != "post" and rows.group.share("counts") >= 0.5:
        return False
    return longer and leads_to(rows.group.pattern) != "thread"


def _carry_ids(posts: PostSet, rows: RowSet) -> bool:
    """Tells whether at least 60 % of the rows' title links have addresses that end in a number from
    the element ids of the posts."""
    elements = posts.page.outline.elements
    ids = " ".join(
        elements[node].get("id") or ""
        for span in posts.spans
        for node in range(span.start, min(span.end, span.start + 4))
    )
    known = set(re.findall(r"\d+", ids))
    return sum(
        (re.findall(r"\d+", row.title.url) or [""])[-1] in known for row in rows.rows
    ) >= 0.6 * len(rows.rows)
