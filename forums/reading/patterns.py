"""Patterns of addresses: the forms that the addresses of one site have in common, learned from all
of them together; and the kinds of pages that the words in a pattern suggest."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache

from forums.reading.addresses import (
    BOARD_WORDS,
    HAS_DIGIT,
    LEADING_ID,
    PAGE_PARAMETERS,
    STRONG_THREAD,
    TAIL,
    split_address,
)

# largest numbers of characters (MAX_ADDRESS) and path segments (MAX_STEPS) that are read; longer
# addresses do not occur in forums
MAX_ADDRESS = 2_048
MAX_STEPS = 32
_KINDS = frozenset(
    "thread topic forum board category user member profile announcement blog group tag".split()
)
_ID_MARKS = frozenset("t f p u tid fid topic forum thread".split())


_HASH = re.compile(
    r"(?=(?:[^\d]*\d){2})(?=.*[A-Za-z])(?:[A-Z0-9]{16,}|[a-f0-9]{16,}"
    r"|(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9]{16,})$"
)


_PLAIN = re.compile(
    r"[A-Za-z]+(?:\.(?:php|p?html?|shtml|xhtml|aspx?|jspa?|do|cgi|pl|py|cfm|dll|action|xml|json))?",
    re.I,
)


@lru_cache(maxsize=8_192)
def _mask(segment: str) -> str:
    """Returns a path segment with numbers written as # and the words of a slug as *; a single word
    stays."""
    if segment.isdigit():
        return "#"
    if _HASH.match(segment):
        return "*"
    if not HAS_DIGIT.search(segment):
        if _PLAIN.fullmatch(segment) and len(segment) <= 24:
            return segment.lower()
        return "*"
    tokens = re.split(r"([-_.,])", segment)
    if (
        len(tokens) <= 3
        and re.fullmatch(r"[A-Za-z]{0,16}\d+", tokens[0])
        and (len(tokens) == 1 or tokens[1] == ".")
    ):
        return re.sub(r"\d+", "#", tokens[0].lower()) + "".join(tokens[1:])
    extension = (
        "".join(tokens[-2:])
        if len(tokens) > 2 and tokens[-2] == "." and tokens[-1].isalpha()
        else ""
    )
    body = tokens[:-2] if extension else tokens
    last = re.fullmatch(r"([A-Za-z]{0,8})(\d+)", body[-1])
    marked = last is not None and last.group(1).lower() in _ID_MARKS and len(body) > 2
    named = re.match(r"[A-Za-z]+(?=-)", segment)
    if named and named.group().lower() in _KINDS and not extension and not last:
        return f"{named.group().lower()}-*"
    if (
        LEADING_ID.match(segment)
        and not marked
        and not (last and body[-2] == "." and len(body) > 3)
    ):
        return "#" + (body[1] if len(body) > 1 else "") + ("*" if len(body) > 2 else "") + extension
    if last:
        if len(body) == 3 and re.fullmatch(r"[A-Za-z]{1,10}", body[0]) and not last.group(1):
            return f"{body[0].lower()}{body[1]}#{extension}"
        if re.fullmatch(r"[A-Za-z]{1,12}", body[0]) and all(
            part.isdigit() or len(part) == 1 for part in body[1:]
        ):
            return body[0].lower() + "-#" * sum(1 for part in body if part.isdigit()) + extension
        separator = body[-2] if len(body) > 1 else ""
        return f"*{separator}{last.group(1)}#{extension}"
    return "*" + extension


def _query_mask(query: list[tuple[str, str]]) -> str:
    masked = []
    for name, value in sorted(query):
        if name.lower() in PAGE_PARAMETERS and name.lower() not in ("mode", "action", "do", "p"):
            continue
        if re.fullmatch(r"\d+(?:\.(?:\d+|msg\d+|new))?", value):
            value = "#"
        elif name.lower() in BOARD_WORDS or not re.fullmatch(r"[A-Za-z_]{1,16}", value):
            value = "*"
        name = re.sub(r"\d+", "#", name.lower())
        masked.append(f"{name}={value}" if value else name)
    return "&".join(masked)


def patterns(urls: Iterable[str]) -> dict[str, str]:
    """Returns the pattern of each of the addresses `urls`, by address, learned from all of them
    together: # for numbers, * for varying words. Words that several addresses share in the same
    position stay, and page parameters are left out. The first 2,048 characters and 32 path segments
    of each address are used. `/topic/84-my-notes` and `/topic/9-hello` both give `host/topic/#-*`.
    """
    forms: dict[str, tuple[str, list[str], str]] = {}
    company: dict[tuple[str, int, int], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    kinds: dict[str, list[str]] = {}
    named: dict[tuple[str, int, str], set[str]] = defaultdict(set)
    for url in urls:
        if url in forms:
            continue
        host, segments, query = split_address(url[:MAX_ADDRESS])
        segments = segments[:MAX_STEPS]
        kinds[url] = [
            found.group(1).lower() if (found := _KIND_NAME.match(segment)) else ""
            for segment in segments
        ]
        for at, segment in enumerate(segments):
            named[host, at, kinds[url][at]].add(segment)
        masks = [_mask(segment) for segment in segments]
        forms[url] = host, masks, _query_mask(query)
        while len(segments) > 1 and TAIL.match(segments[-1]) and not segments[-1].isdigit():
            segments = segments[:-1]
        for at, mask in enumerate(masks):
            others = "/".join((*segments[:at], "|", *segments[at + 1 :]))
            company[host, len(masks), at][mask].add(f"{others}?{_query_values(query)}")
    crowded = {place: _crowded(found) for place, found in company.items()}
    result = {}
    for url, (host, masks, query_mask) in forms.items():
        kept = []
        for at, mask in enumerate(masks):
            place = host, len(masks), at
            if at and crowded[place] and mask.isalpha() and len(company[place][mask]) < 2:
                mask = "*"
            elif crowded[place] and _WORD_ID.match(mask):
                mask = _WORD_ID.sub(r"*\1#", mask)
            before, after = (
                masks[at - 1] if at else "",
                (masks[at + 1] if at + 1 < len(masks) else ""),
            )
            if (
                "*" in mask and any("#" in other and "*" not in other for other in (before, after))
            ) or (before == "#" and mask.isalpha() and mask not in _ACTIONS):
                # a slug (words of a title) beside an id says nothing about the kind of page: any
                # text matches
                mask = "*"
            elif mask[0] == "*" and kinds[url][at] and len(named[host, at, kinds[url][at]]) > 1:
                # If slugs in this position begin with words for different kinds of pages, as in
                # forum-my-cars and thread-their-boats, the word is part of the pattern.
                mask = f"{kinds[url][at]}-{mask}"
            kept.append(mask)
        result[url] = f"{host}/{'/'.join(kept)}" + (f"?{query_mask}" if query_mask else "")
    return result


_KIND_NAME = re.compile(r"(forum|board|thread|topic)[-_](?=[^\W\d])", re.I)
_ACTIONS = frozenset(
    [
        "reply",
        "edit",
        "delete",
        "quote",
        "report",
        "like",
        "vote",
        "flag",
        "share",
        "print",
        "unread",
        "latest",
        "last",
        "new",
        "newpost",
        "lastpost",
        "history",
        "watch",
        "follow",
        "bookmark",
        "preview",
        "replies",
        "comment",
        "comments",
        "permalink",
        "find",
        "move",
    ]
)
_WORD_ID = re.compile(r"^[a-z]+([-._])#(?=\.[a-z]|$)")


def _query_values(query: list[tuple[str, str]]) -> str:
    return "&".join(
        f"{name}={value}" for name, value in query if name.lower() not in PAGE_PARAMETERS
    )


def _crowded(company: dict[str, set[str]]) -> bool:
    """Tells whether the words at one position of addresses vary so much that they are names, not
    part of the pattern: at least three of them occur in only one address each, or one is a slug.
    company: for each word, the rest of the addresses that have it in this position."""
    alone = sum(
        1
        for mask, others in company.items()
        if len(others) == 1 and (mask.isalpha() or _WORD_ID.match(mask))
    )
    return alone >= 3 or any(mask.startswith("*") for mask in company)


_SCRIPT = re.compile(r"\.(?:php|cgi|pl|asp|aspx|jsp|cfm|dll)$")
_READ = frozenset("read msg message post article entry item no num number".split())
_TELLING = STRONG_THREAD - {"story", "p"}
_BOARD_NUMBERS = frozenset(
    {"f", "fid", "forum", "forumid", "forum_id", "frm_id", "board", "boardid", "board_id"}
)


@lru_cache(maxsize=16_384)
def leads_to(pattern: str) -> str:
    """Returns the kind of page that the words of an address pattern suggest: "thread", "board",
    "post" or "" for none.

    The last word that suggests a kind decides; a word for boards followed by two ids suggests
    nothing.

    >>> leads_to("a.org/viewtopic.php?f=#&t=#"), leads_to("a.org/forum/#-*"), \
leads_to("a.org/boards/#-*/#")
    ('thread', 'board', '')
    """
    _, _, path = pattern.lower().partition("/")
    path, _, query = path.partition("?")
    mode = re.search(r"(?:^|&)mod=([a-z]+)", query)
    if mode:
        return {"viewthread": "thread", "forumdisplay": "board", "redirect": "post"}.get(
            mode.group(1), ""
        )
    segments = path.split("/")
    by_query = _query_leads_to(path, query)
    if by_query or segments[0] == "p" and segments[1:2] == ["#"]:
        return by_query or "thread"
    by_script = _script_leads_to(segments[-1], query)
    return by_script if by_script is not None else _path_leads_to(segments)


def _query_leads_to(path: str, query: str) -> str:
    """Returns the kind of page that the words in a pattern's query suggest: "thread", "board" or ""
    for none."""
    if path.endswith("thread.php") and set(re.findall(r"(?:^|&)([a-z]+)=", query)) <= {
        "fid",
        "page",
        "type",
        "digest",
    }:
        # thread.php?fid=7 lists the threads of a board, although its address says "thread"
        return "board"
    numbers, modes = (
        set(re.findall(form, query)) for form in (r"(?:^|&)([a-z_]+)=#", r"=([a-z]+)")
    )
    if (
        numbers
        and numbers <= _BOARD_NUMBERS
        and modes & _TELLING
        and not set(re.findall(r"(?:^|&)([a-z]+)=[#*]", query)) & _TELLING
    ):
        return (  # In ?t=thread&frm_id=3 the number identifies the board whose threads are listed.
            "board"
        )
    return "thread" if any(word in _TELLING for word in re.findall(r"[a-z]+", query)) else ""


def _script_leads_to(name: str, query: str) -> str | None:
    """Returns the kind of page that the last part of a pattern's path and its query suggest:
    "thread" or "board", "" if the two contradict each other, None if they suggest nothing."""
    script = [
        word
        for word in re.findall(r"[a-z]+", name)
        if word not in ("php", "html", "htm", "asp", "aspx")
    ]
    if any(word in _TELLING and word not in ("d",) for word in script):
        return "thread"
    if (
        script[:1] in (["read"], ["readmsg"], ["viewmsg"])
        and _SCRIPT.search(name)
        and "=#" in query
    ):
        return "thread"
    if any(word in BOARD_WORDS for word in re.findall(r"[a-z]+", query)):
        return (
            "" if re.search(r"(?:^|&)(?:msg|message|read|post|article|entry)=#", query) else "board"
        )
    if _SCRIPT.search(name) and any(word in BOARD_WORDS for word in script):
        numbered = re.findall(r"(?:^|&)([a-z]+)=#", query)
        if numbered and (
            re.search(r"=[a-z]+(?:&|$)", query) or not set(numbered).isdisjoint(_READ)
        ):
            # The number identifies a thread, as in board.php?name=free&entry=# and board.pl?read=#.
            return ""
        return "board"
    return None


def _path_leads_to(segments: list[str]) -> str:
    """Returns the kind of page that the words of the path suggest, the last word first: "thread",
    "post", "board" or "" for none."""
    after, was_slug, literal = 0, False, False
    for segment in reversed(segments):
        words = [
            word for word in re.findall(r"[a-z]+", segment) if len(word) > 1 or word == segment
        ]
        if any(word in _TELLING for word in words):
            return "thread"
        if any(word in ("post", "posts", "comment", "message", "msg") for word in words):
            return "post"
        if words == ["bbs"] and literal:
            # a folder such as /bbs/ that contains the whole forum says nothing about the page
            continue
        if any(word in BOARD_WORDS for word in words):
            return (
                "board"
                if after <= 1 or (after == 2 and segments[-2:] == ["*", "#"] and len(words[0]) <= 8)
                else ""
            )
        literal = "#" not in segment and "*" not in segment
        if not literal:
            after += 0 if was_slug and segment == "#" else 1
        was_slug = segment == "*"
    return ""
