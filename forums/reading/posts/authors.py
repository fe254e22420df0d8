"""Finds the authors of posts: the column (elements in corresponding positions) of short texts that
look most like names."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from forums.reading.document import Link, Page
from forums.reading.posts.record_spans import PostSpans, Span, title_parts
from forums.reading.values import count, ends_by, is_name
from forums.reading.words import NOT_NAMES, PROFILE, RANK, class_roles, is_profile_line, text_roles

_NAME_LENGTH = 24
MOST_WORDS = 5
_LETTER = re.compile(r"[^\W\d_]")


def link_of(page: Page, node: int) -> Link | None:
    """Returns the link whose node is `node` or one of its three nearest ancestors; None if there is
    none."""
    for _ in range(4):
        if node < 0:
            return None
        if node in page.link_at:
            return page.link_at[node]
        node = page.outline.parents[node]
    return None


def writers(page: Page, people: Sequence[Sequence[tuple[str, int]]]) -> list[Link | None]:
    """Returns for each post the link on its author's name; None where there is no author or link.
    people: (name, node) candidates of each post, best first."""
    return [link_of(page, found[0][1]) if found else None for found in people]


def repeats(links: Sequence[Link | None]) -> bool:
    """Tells whether the links are on people's names, judged by repetition: they lead to at least
    two addresses, at least one of these occurs more than once, all links to one address have the
    same text, and no two addresses have the same text. Links on the titles of threads, boards or
    replies do not recur in this way."""
    names: dict[str, set[str]] = defaultdict(set)
    times: dict[str, int] = defaultdict(int)
    for link in links:
        if link is not None:
            names[link.url].add(link.text)
            times[link.url] += 1
    if len(names) < 2 or any(len(texts) > 1 for texts in names.values()):
        return False
    return max(times.values()) >= 2 and len({next(iter(texts)) for texts in names.values()}) == len(
        names
    )


def address_ends_in_name(link: Link) -> bool:
    """Tells whether the end of a link's address is the text of the link, as in `/p/anna` for
    "anna"; case and punctuation are ignored."""
    name = _plain(link.text)
    return len(name) >= 2 and _plain(
        unquote(link.url.rstrip("/")).rsplit("/", 1)[-1].rpartition("=")[2]
    ).endswith(name)


def _plain(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def are_short(links: Sequence[Link | None]) -> bool:
    """Tells whether the links' texts are as short as names: at most 24 characters, on average at
    most 1.4 words."""
    texts = [link.text for link in links if link is not None]
    words = sum(len(text.split()) for text in texts)
    dense = any(len(text) > 8 and max(text) >= "\u2e80" for text in texts)
    return (
        bool(texts)
        and not dense
        and words <= 1.4 * len(texts)
        and max(map(len, texts)) <= _NAME_LENGTH
    )


def people_of(posts: PostSpans) -> list[list[tuple[str, int]]]:
    """Returns for each post the candidates for its author as (name, node), from the best column
    first; empty if there is none. Signs of a column of authors are links to profiles, class names
    and microdata for authors, nearness to the time, and texts that differ between posts."""
    columns: dict[str, dict[int, Named]] = defaultdict(dict)
    points: dict[str, list[float]] = defaultdict(list)
    for at, span in enumerate(posts.spans):
        for named, score in _names_in(posts, span):
            column = posts.column(span, named.node)
            if at not in columns[column]:
                columns[column][at] = named
                points[column].append(score)
    _add_loose(columns, points)
    n = len(posts.spans)
    scored = []
    for column, found in columns.items():
        plain = [named for named in found.values() if not named.is_doubted]
        if 2 * len(plain) <= len(found):
            if sum(_is_said(posts.page, named) for named in found.values()) <= 0.8 * len(found):
                continue
            plain = list(found.values())
        names = Counter(named.name for named in plain)
        share = len(plain) / n
        value = sum(points[column]) / len(points[column]) + 1.5 * share
        if n >= 2 and len(names) == 1 and share > 0.6:
            linked = {
                link.url
                for named in plain
                if (link := posts.page.link_at.get(named.node)) is not None
            }
            is_said = n < 3 or all(_is_said(posts.page, named) for named in plain)
            # All posts have the same text in this column. A text that links to several targets is
            # a button, not a name.
            value -= 2.5 if len(linked) >= 2 else 0.0 if is_said else 0.3 if linked else 0.7
        if len(names) >= 2:
            value += 0.3
        if column.endswith(LOOSE):
            value -= 0.2
        scored.append((value, column))
    scored.sort(key=lambda pair: -pair[0])
    enough = 1.6 if n >= 3 else 2.0
    best = [column for value, column in scored if value >= enough][:6]
    if best:
        tail = ORDINAL.sub("", best[0]).removesuffix(LOOSE).rsplit("/", 1)[-1].split(".")[-1]
        best += [
            c
            for value, c in scored
            if c not in best and (value >= 1.5 or (tail and tail in c.rsplit("/", 1)[-1]))
        ][:6]
    return [
        _unique(
            columns[column][at][:2]
            for column in best
            if at in columns[column] and (column == best[0] or not columns[column][at].is_doubted)
        )
        for at in range(n)
    ]


class Named(NamedTuple):
    """A text of a post that may be its author's name, and the node of its element. `is_doubted`: by
    itself it rather looks like something else, such as a number or a button."""

    name: str
    node: int
    is_doubted: bool


def _is_said(page: Page, named: Named) -> bool:
    """Tells whether a text is the name of a user by its link or, unless it is a rank, by its
    element: microdata or class names say author, and the element has no other text."""
    outline, node = page.outline, named.node
    if node in page.link_at and page.link_at[node].is_user:
        return not outline.pieces[outline.piece_from[node] - 1].text.endswith((":", "："))
    for at in (node, outline.parents[node]):
        if RANK.search(named.name) or outline.piece_to[at] - outline.piece_from[at] != 1:
            return False
        told = f"{outline.elements[at].get('itemprop', '')} {outline.elements[at].get('rel', '')}"
        if "author" in told or "author" in class_roles(outline.classes[at]):
            return True
    return False


def _unique(people: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    return list(dict.fromkeys(people))


LOOSE = " ~"
ORDINAL = re.compile(
    r"#\d+|^\d+:|(?<=/)(?:b|strong|i|em|u|font|span|big|small)/|/(?:b|strong|i|em|u|font|span|big"
    r"|small)$"
)


_LOOKS = frozenset("a b strong i em u font span big small".split())


def _without_looks(column: str) -> str:
    """Returns the key of a column (the path of an element within each post) without sibling indices
    and formatting elements, so that linked names of members and plain names of guests have the same
    key."""
    return "/".join(part for part in ORDINAL.sub("", column).split("/") if part not in _LOOKS)


def _add_loose(columns: dict[str, dict[int, Named]], points: dict[str, list[float]]) -> None:
    """Adds to both arguments a column for each group of columns whose keys differ only in sibling
    indices or formatting elements: an extra row or badge shifts positions in some posts. Its key is
    the common part plus LOOSE. It gets the group's first name in each post and all the group's
    scores. `columns`: names by key and post; `points`: scores by key.
    """
    for column, found in sorted(
        columns.items(), key=lambda item: min(named.node for named in item[1].values())
    ):
        loose = _without_looks(column) + LOOSE
        for at, value in found.items():
            known = columns[loose].get(at)
            if not value.is_doubted and (known is None or value.node < known.node):
                columns[loose][at] = value
        points[loose].extend(points[column])


_BUTTON = re.compile(
    r"\bprofile\b|\bposts by\b|^(?:find|view|show|see) |^(?:send (?:a )?(?:pm|message)|nachricht"
    r" (?:senden|schreiben)|"
    r"发消息|发短消息|发私信|私信|加好友|加为好友|查看资料|串个门|打招呼|收听)$",
    re.I,
)
NUMBERED = re.compile(
    r"^(?:(?:post|reply|message|msg|comment|nr|no|floor|beitrag|antwort|сообщение|ответ"
    r"|第)?[\s.:]*[#№]?\s*\d+\s*(?:[#楼樓F])?|no\.?|nr\.?|№|[#¶])$",
    re.I,
)
_RANKED = re.compile(r"^(?:lv|lvl|level|等级|等級|rank|ур|уровень|stufe)\s?[.:：]?\s?\d+$", re.I)
_FILE = re.compile(
    r"^[^\s@]{3,}\.(?:jpe?g|png|gif|web[pm]|mp[34]|pdf|zip|rar|7z|gz|txt|docx?|xlsx?|log|patch|diff"
    r"|torrent)$",
    re.I,
)
_PLACE = re.compile(r"^(?:#\s?)?\d{1,5}[.):：]\s+(?=\D)")  # a list number before a name: "12. anna"
_OFFER = re.compile(
    r"repl(?:y|ies)|quot|report|edit|delete|posting|respond|answer|action=|mode=|like|share|vote"
    r"|flag|login|regist",
    re.I,
)
_LABEL = re.compile(r"^([^:：]{1,24})[:：]\s*(\S.*)$")
_LABELLED = re.compile(r"[:：]\s*[\d,.]+\s*$|^\d+\s+\w+$|^(?:re|aw|antw)\s*:", re.I)


@lru_cache(maxsize=16_384)
def _read_alone(text: str, is_link: bool, is_user: bool) -> tuple[str, bool]:
    """Classifies a short text by itself. Returns the user name in it ("" if none), and whether it
    is likely to be something else (a number, a button, a rank, a word for a role), so that only its
    column can tell that it is a name. `is_link`: it is the text of a link; `is_user`: that of a
    link to a user."""
    label = _LABEL.match(text) if not is_user else None
    # A text such as "From: Leeds" is information about the user, not the user's name.
    if label and "author" not in text_roles(label[1]) or not is_user and PROFILE.match(text):
        return "", False
    name = (text if is_link else _PLACE.sub("", label[2] if label else text)).strip(" :：,，»«·•|")
    if text.endswith((":", "：")) or _BUTTON.search(name) or _FILE.search(text):
        return "", False
    if not is_user and (_LABELLED.search(text) or len(name.split()) > MOST_WORDS):
        return "", False
    signs = (
        count(name) is not None,
        NUMBERED.match(text),
        not _LETTER.search(name),
        _RANKED.match(text),
        RANK.search(name),
        not is_user and (name.lower() in NOT_NAMES or not is_name(name)),
        not is_link and len(name) < 24 and text_roles(name) & _FIELDS,
    )
    return name, any(signs)


def _names_in(posts: PostSpans, span: Span) -> Iterator[tuple[Named, float]]:
    page, outline = posts.page, posts.page.outline
    seen, pictures, titled = 0, _pictures(page, span), title_parts(page.title)
    for at in range(outline.piece_from[span.start], posts.last_piece(span)):
        text, node, line = outline.pieces[at]
        if not span.holds(node) or len(text) > 60 or at in page.date_parts:
            continue
        link = page.piece_link.get(at)
        is_user = link is not None and link.is_user
        name, is_doubted = _read_alone(text, link is not None, is_user)
        if not name or page.moment(text) is not None or name in page.own_titles or name in titled:
            continue
        seen += not is_doubted
        score = _score(page, span, at, pictures) - 0.02 * min(seen, 20)
        if heads_profile(posts, at, span):
            score += 0.7
        if _follows_by(page, at):
            score, is_doubted = score + 0.8, False
        elif _follows_last(page, at):
            score -= 0.8
        if score > 0:
            node = link.node if link and link.text == text else node
            yield Named(name, node, is_doubted), score


_FIELDS = frozenset({"created", "last", "edit", "joined", "replies", "posts", "topics", "views"})


def _follows_by(page: Page, at: int) -> bool:
    """Tells whether words such as "posted by" or "von" come right before text number `at` on its
    line."""
    pieces = page.outline.pieces
    if (
        at == 0
        or pieces[at - 1].line != pieces[at].line
        or len(pieces[at - 1].text) > 40
        or not ends_by(pieces[at - 1].text)
    ):
        return False
    return not text_roles(pieces[at - 1].text) & {"edit", "last"}


def _follows_last(page: Page, at: int) -> bool:
    """Tells whether a word for the last reply comes right before text number `at` on its line: then
    the text names the author of that reply."""
    pieces = page.outline.pieces
    before = pieces[at - 1].text if at and pieces[at - 1].line == pieces[at].line else ""
    return 0 < len(before) <= 40 and "last" in text_roles(before) and page.moment(before) is None


def heads_profile(posts: PostSpans, at: int, span: Span) -> bool:
    """Tells whether text number `at`, in the post `span`, is followed within eight texts by a line
    that describes a member (joined, posts, location), as the author's name of a post is."""
    pieces = posts.page.outline.pieces
    for after in range(at + 1, min(at + 9, posts.last_piece(span))):
        text = pieces[after].text
        if len(text) > 60:
            return False
        if is_profile_line(text):
            return True
    return False


# CSS classes of an element that names the user to whom the post replies
_ANSWERED = re.compile(
    r"repl(?:y|ied|ying)[-_]?to|in[-_]?reply|parent[-_]?(?:post|author|user|comment)", re.I
)
_NOBODYS = frozenset({"blockquote", "cite", "button", "form", "label"})


def _score(page: Page, span: Span, at: int, pictures: list[str]) -> float:
    """Returns a score of how much text number `at` looks like the name of a post's author.
    pictures: alternative texts of the post's first images."""
    text, node, line = page.outline.pieces[at]
    link = page.piece_link.get(at)
    score = 0.0 if link is None else _score_of_link(link)
    score = _with_elements(page, span, node, score)
    if line == span.anchor.line:
        score += 0.3
    start, end = page.line_range.get(line, (at, at + 1))
    if (
        start == at
        and 0 < span.anchor.piece - at <= 3
        and (line == span.anchor.line or end == at + 1)
    ):
        # The text is the first on the line of the post's time, or alone on a line just before it.
        score += 0.45
    elif link is None and start == at and end == at + 1 and 0 < at - span.anchor.piece <= 2:
        score += 0.35  # The text is alone on the line after the post's time.
    if 0 < span.anchor.piece - at <= 3:
        score += 0.4
    if len(text) > 2 and any(text.casefold() in said for said in pictures):
        score += 0.5
    if len(text) > 32 or end == at + 1 and text.endswith((",", "，")):
        score -= 0.5
    return score


def _score_of_link(link: Link) -> float:
    if link.is_user:
        return 2.0
    if not link.is_local or link.fragment or _OFFER.search(urlsplit(link.url).path):
        return -0.5
    tail = unquote(link.url.rstrip("/").rsplit("/", 1)[-1]).lower()
    return 1.0 if tail == link.text.strip().lower().replace(" ", "-") and len(tail) > 2 else -0.3


def _with_elements(page: Page, span: Span, node: int, score: float) -> float:
    """Returns the score of a short text, raised or lowered by the tags and class names of its
    element and of its three nearest ancestors."""
    outline = page.outline
    up, steps = node, 0
    while up >= span.start and steps < 4:
        element = outline.elements[up]
        roles = class_roles(outline.classes[up])
        item = f"{element.get('itemprop', '')} {element.get('rel', '')}"
        if "author" in roles and "avatar" not in roles:
            score += 1.0 / (1 + 0.3 * steps)
        if "author" in item or ("name" in item.split() and steps <= 1):
            score += 0.8
        foreign = roles & {"body", "signature", "quote", "edit", "tag", "likes"} and not roles & {
            "author"
        }
        if foreign and not outline.contains(up, span.anchor.node) and outline.text_length(up) > 80:
            score -= 1.2
        if outline.tags[up] in _NOBODYS and not outline.contains(up, span.anchor.node):
            # Forms and labels do not contain the author's name, unless they also contain the time
            # and thus are the post's header.
            score -= 1.5
        if (
            outline.classes[up]
            and _ANSWERED.search(outline.classes[up])
            and not outline.contains(up, span.anchor.node)
        ):
            score -= 1.5
        if outline.tags[up] in ("b", "strong", "h1", "h2", "h3", "h4", "h5") and steps <= 1:
            score += 0.2
        up, steps = outline.parents[up], steps + 1
    return score


def _pictures(page: Page, span: Span) -> list[str]:
    """Returns the alternative texts of a post's first images, in lower case: that of an avatar is
    often the name of its owner."""
    outline, said = page.outline, []
    for node in range(span.start, min(span.end, span.start + 40)):
        if outline.tags[node] == "img":
            name = (
                outline.elements[node].get("alt") or outline.elements[node].get("title") or ""
            ).casefold()
            if 0 < len(name) < 80:
                said.append(name)
    return said
