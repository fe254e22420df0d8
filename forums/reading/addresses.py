"""The identity of threads, posts and boards: their keys, made of the site's own ids in addresses.
Also whether an address is a user's profile, and the address of the first page of a thread or
list."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import parse_qsl, unquote, urlsplit

from crawlmgr.web.url import DEFAULT_RULES, keeps, without_session

_THREAD_PARAMETERS = (
    "tid",
    "t",
    "topic",
    "topicid",
    "topic_id",
    "thread",
    "threadid",
    "thread_id",
    "showtopic",
    "tl",
    "ptid",
)
_BOARD_PARAMETERS = (
    "fid",
    "f",
    "forum",
    "forumid",
    "forum_id",
    "board",
    "boardid",
    "board_id",
    "showforum",
    "kw",
    "category",
    "cat",
    "cid",
    "c",
    "node",
)
_POST_PARAMETERS = ("pid", "post", "postid", "post_id", "msg", "msgid", "p")
PAGE_PARAMETERS = frozenset(
    [
        "page",
        "pg",
        "p",
        "start",
        "st",
        "offset",
        "pagenumber",
        "pagenum",
        "pagenr",
        "pn",
        "o",
        "from",
        "cursor",
        "after",
        "before",
        "view",
        "goto",
        "show",
        "do",
        "highlight",
        "hl",
        "sort",
        "order",
        "sortby",
        "orderby",
        "dir",
        "desc",
        "asc",
        "prefixid",
        "daysprune",
        "sk",
        "sd",
        "action",
        "post",
        "pid",
        "extra",
        "mode",
        "print",
        "printer",
        "archive",
        "lastpage",
        "last",
        "unread",
        "new",
        "newpost",
        "lastpost",
        "ref",
        "ref_src",
        "source",
        "from",
        "share",
        "utm_source",
        "utm_medium",
        "utm_campaign",
    ]
)
THREAD_WORDS = frozenset(
    [
        "topic",
        "topics",
        "thread",
        "threads",
        "discussion",
        "discussions",
        "t",
        "d",
        "tid",
        "showthread",
        "viewtopic",
        "topicshow",
        "viewthread",
        "read",
        "question",
        "questions",
        "comments",
        "conversation",
        "conversations",
        "sujet",
        "tema",
        "temas",
        "thema",
        "post",
        "posts",
        "p",
        "m",
        "msg",
        "item",
        "s",
        "story",
        "story_show",
        "messages",
        "message",
        "tiezi",
        "tie",
        "article",
        "showtopic",
        "showflat",
        "showthreaded",
        "topicview",
        "threadview",
        "readtopic",
    ]
)
STRONG_THREAD = THREAD_WORDS - {
    "m",
    "s",
    "post",
    "posts",
    "msg",
    "message",
    "messages",
    "read",
    "article",
    "item",
}
BOARD_WORDS = frozenset(
    [
        "forum",
        "forums",
        "board",
        "boards",
        "category",
        "categories",
        "c",
        "f",
        "fid",
        "forumdisplay",
        "viewforum",
        "node",
        "nodes",
        "go",
        "bbs",
        "tag",
        "section",
        "sections",
        "room",
        "rooms",
        "subforum",
        "forumid",
        "groups",
        "group",
        "b",
        "kategorie",
        "foro",
        "foren",
        "thread-htm-fid",
        "showforum",
        "showboard",
        "viewboard",
        "boardid",
        "list",
        "postlist",
        "threadlist",
        "topiclist",
    ]
)
_USER_NAMES = (
    r"u|uid|user|users|member|members|memberlist|profile|profiles|profil|people|person|author"
    r"|authors|space|home|userinfo|useruid|membre|membres|"
    r"mitglied|benutzer|usuario|usuarios|utente|uzytkownik|viewprofile|showuser|account|accounts"
    r"|userdetails|userid|viewpro|personal|un|suid|"
    r"perfil|profilo|kullanici|poster|viewprofilepage|user-?profile|profilepage"
)
_USER_SEGMENT = re.compile(
    rf"^(?:(?:{_USER_NAMES})(?:\.(?:php|html?|aspx?|jsp|cgi|pl))?|(?:user|userinfo|member|profile?"
    rf"|membre|mitglied|space|uid|u|suid)[-_,.]?"
    r"(?:uid|username|id|name)?[-_,.]?\d[\w.-]*|[a-z]{2,12}[-_]?profile\d*\.(?:php|html?|aspx?|jsp"
    r"|cgi|pl|do)|(?:space|user)-(?:uid|username)-.*|User-.+|[~@].+)$",
    re.I,
)
_USER_QUERY = re.compile(
    rf"(?:^|[&;])(?:(?:{_USER_NAMES})(?:_?id|_?name)?=|(?:mode|action|act|mod|do|a|page|p"
    rf"|view)=(?:{_USER_NAMES}|space|getinfo)\b|t=usrinfo\b)|^/?(?:user|profile|member)s?/",
    re.I,
)
# Addresses such as /space/7/entry/400: each is one of many entries of a user, not the profile.
_BELOW_USER = re.compile(r"/[a-z]+/\d+/(?!page|p/|pg)[a-z]+/\d+(?:-[^/]*)?/?$", re.I)

# Addresses such as /accounts/login/: what a guest is offered, not the profile of a user.
_OFFERED_TO_GUESTS = re.compile(
    r"^(?:(?:log|sign)[-_]?(?:in|on|out|off|up)|regist(?:er|ration)"
    r"|(?:lost|forgot|reset)?[-_]?password(?:[-_]reset)?)(?:\.\w+)?$",
    re.I,
)


@lru_cache(maxsize=16_384)
def names_user(url: str) -> bool:
    """Tells whether an address has the form of a user's profile: a word for users in its path or
    its parameters, and no form for guests (login, registration) behind it.

    >>> names_user("https://a.org/members/anna.7/"), \
names_user("https://a.org/my-new-profile-picture/")
    (True, False)
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    segments = [segment for segment in parts.path.split("/") if segment]
    if segments and _OFFERED_TO_GUESTS.match(segments[-1]):
        return False
    if any(_USER_SEGMENT.match(segment) and segment != "home" for segment in segments):
        return not _BELOW_USER.search(parts.path)
    return bool(_USER_QUERY.search(parts.query)) and " t:" not in thread_key(url)


TAIL = re.compile(
    r"^(?:page[-_]?\d+|p\d+|pg\d+|page|latest|unread|last|lastpost|newpost|new|print|post-\d+|reply"
    r"|\d+|"
    r"oldest|first|newest|getnewpost|getlastpost|view|find-new|preview)$",
    re.I,
)
_NAMED_ID = re.compile(
    r"(?:^|[-_/,.])(?:t|tid|topic|thread|sujet|tema|thema|showthread|showtopic|viewthread|viewtopic"
    r"|read|htm-tid|topicid)[-_,/=]?(\d+)",
    re.I,
)
_DISCUZ = re.compile(r"(?:^|/)(thread|topic|forum|viewthread)-(\d+)-(\d+)(-\d+)?(?=\.|$)", re.I)
LEADING_ID = re.compile(r"^(\d+)(?=[-_.,]|$)")
_TRAILING_ID = re.compile(r"(?:^|[-_.,])(\d+)(?:\.[a-z]{2,5})?$", re.I)
_ID_FILE = re.compile(r"(\d+)(?:\.[a-z]{2,5})?", re.I)
_PLACE_IN_THREAD = re.compile(r"(?:(?:last|new|first)(?:_?post)?|newest|latest|unread)", re.I)
_NUMBERED_FILE = re.compile(r"(\d+)\.html?", re.I)
HAS_DIGIT = re.compile(r"\d")


def _query(query: str) -> list[tuple[str, str]]:
    return [
        (name, value)
        for name, value in parse_qsl(query.replace(";", "&"), keep_blank_values=True)
        if keeps(f"{name}={value}", DEFAULT_RULES)
    ]


@lru_cache(maxsize=8_192)
def split_address(url: str) -> tuple[str, list[str], list[tuple[str, str]]]:
    """Returns host (without "www."), unquoted path segments and query parameters of an address,
    without session ids; a path written in the query (`index.php?/topic/5`) is part of the path. The
    result is cached, so callers must not change its lists.
    """
    try:
        parts = urlsplit(without_session(url))
    except ValueError:
        return "", [url], []
    host = (parts.hostname or "").removeprefix("www.")
    path, query = parts.path, parts.query
    if query.startswith("/"):
        inner, _, rest = query.partition("&")
        path, query = path + inner, rest
    elif (
        query
        and "=" not in query.split("&")[0]
        and re.match(r"^\d+[-_]|^(?:topic|thread|forum|board)s?[-_/]", query)
    ):
        inner, _, rest = query.partition("&")
        path, query = path + "/" + inner, rest
    segments = [unquote(segment) for segment in path.split("/") if segment]
    return host, segments, _query(query)


_NO_IDS = frozenset(
    """
        publish new create add reply edit search active latest popular unread unanswered top hot
        recent mine my all feed rss delete move lock mark-read markread moderate
    """.split()
)


def _id_after(segments: list[str], words: frozenset[str]) -> str | None:
    """Returns the id in the path that follows the last of the `words` in it: 12 in `/topic/12-x`
    and `/threads/x.12/`, also in `/t/slug/12/3`; a slug if there is no number. None if no such word
    is followed by an id."""
    for at in range(len(segments) - 2, -1, -1):
        bare = segments[at].lower().rsplit(".", 1)[0]
        if bare not in words:
            continue
        rest = segments[at + 1 :]
        if rest[0].lower() in _NO_IDS:
            return None
        if bare == "p" and not (rest[0].isdigit() and len(rest) == 1):
            continue
        if bare in ("discussion", "p", "post", "posts") and rest[0] in ("comment", "embed"):
            return None
        found = re.search(r"^.*[^\W\d].*\.(\d+)$", rest[0]) or LEADING_ID.match(rest[0])
        if found:
            return found.group(1)
        numbered = _ID_FILE.fullmatch(rest[1]) if len(rest) > 1 else None
        if numbered:
            return numbered.group(1)
        found = _TRAILING_ID.search(rest[0])
        if found:
            return found.group(1)
        return rest[0].lower() if rest[0] else None
    return None


def _id_in_board(segments: list[str]) -> str | None:
    """Returns the thread's id in an address such as `/thread/10/18064.html`, where the id of the
    board precedes it: the second number, if it is larger than the first (a smaller one may be a
    page number). None for other forms.
    """
    if len(segments) < 3 or segments[-3].lower() not in STRONG_THREAD or not segments[-2].isdigit():
        return None
    number = _NUMBERED_FILE.fullmatch(segments[-1])
    return number.group(1) if number and int(number.group(1)) > int(segments[-2]) else None


def _parameter(query: list[tuple[str, str]], names: tuple[str, ...], digits: bool) -> str | None:
    values = {name.lower(): value for name, value in reversed(query)}
    for name in names:
        value = values.get(name, "")
        found = re.match(r"\d+", value)
        if found:
            return found.group()
        if value and not digits and name in ("kw", "board", "forum", "category", "node"):
            return value.lower()
    return None


def _plain(
    host: str, segments: list[str], query: list[tuple[str, str]], keep_page: bool = False
) -> str:
    while len(segments) > 1 and TAIL.match(segments[-1]) and not segments[-1].isdigit():
        segments = segments[:-1]
    script = bool(segments) and re.search(
        r"\.(?:php|cgi|asp|aspx|jsp|pl|cfm|do)$", segments[-1], re.I
    )
    left = [
        (name, value)
        for name, value in query
        if keep_page
        or name.lower() not in PAGE_PARAMETERS
        or (script and name.lower() in ("p", "pid", "post", "mode", "action"))
    ]
    if any(name.lower() == "id" and value.isdigit() for name, value in left):
        left = [
            (name, value)
            for name, value in left
            if name.lower() not in _POST_PARAMETERS
            and not (name.lower() in ("action", "mode") and _PLACE_IN_THREAD.fullmatch(value))
        ]
    text = "&".join(f"{name}={value}" for name, value in sorted(left))
    return f"{host}/{'/'.join(segments)}" + (f"?{text}" if text else "")


@lru_cache(maxsize=16_384)
def thread_key(url: str) -> str:
    """Returns the key of the thread that `url` leads to: "host t:ID" with the site's own id if the
    address names one as that of a thread; "host #NUMBER" if the last part of the path only begins
    with a number (`/12-some-title`); otherwise the address without page, session and anchor. All
    addresses of one thread (further pages, last post, print version, another board's slug) have the
    same key, as far as the address alone shows it; an address with only a post's id has a key of
    its own.

    >>> thread_key("https://a.org/viewtopic.php?f=2&t=31&start=25") == \
thread_key("https://a.org/viewtopic.php?t=31#p9")
    True
    """
    host, segments, query = split_address(url)
    found = _parameter(query, _THREAD_PARAMETERS, digits=True)
    if not found:
        discuz = _DISCUZ.search("/".join(segments[-1:]))
        if discuz and discuz.group(1).lower() != "forum":
            found = discuz.group(2)
    found = found or _id_in_board(segments) or _id_after(segments, frozenset(STRONG_THREAD))
    if not found and segments:
        named = _NAMED_ID.search(segments[-1]) or (
            len(segments) > 1 and _NAMED_ID.search("/".join(segments[-2:]))
        )
        found = named.group(1) if named else None
    if not found and segments:
        leading = re.match(r"^(\d{2,})-[^\d]", segments[-1])
        if leading and not any(_USER_SEGMENT.match(segment) for segment in segments):
            return f"{host} #{leading.group(1)}"
    return f"{host} t:{found}" if found else _plain(host, segments, query)


_POST_ANCHOR = re.compile(r"(?:p|pid|post|msg|message|comment|reply)[-_]?(\d+)", re.I)
_POST_IN_TOPIC = re.compile(r"\d+\.msg(\d+)", re.I)


def _post_id(url: str) -> str | None:
    """Returns the id of the only post that an address without its thread names, as
    `viewtopic.php?p=7` or `/posts/7/`; None for all others."""
    _host, segments, query = split_address(url)
    if len(segments) > 1 and segments[-2].lower() in ("post", "posts") and segments[-1].isdigit():
        return segments[-1]
    numbers = {name.lower(): value for name, value in query if value.isdigit()}
    others = numbers.keys() - {*_POST_PARAMETERS, *_BOARD_PARAMETERS}
    named = [name for name in _POST_PARAMETERS if name in numbers]
    return numbers[named[0]] if len(named) == 1 and not others else None


@lru_cache(maxsize=16_384)
def post_key(url: str) -> str:
    """Returns the key of the post that `url` leads to: "host p:ID" with the site's own id of the
    post if the address names one, otherwise the address without session. The key of a key is
    itself.

    >>> post_key("https://a.org/viewtopic.php?f=2&t=31&p=9#p9") == \
post_key("https://a.org/viewtopic.php?p=9&sid=0123456789abcdef0123456789abcdef#p9")
    True
    """
    if " p:" in url:
        return url
    plain, _, fragment = url.partition("#")
    host, segments, query = split_address(plain)
    told = " ".join([*segments[-1:], *(value for _name, value in query)])
    found = _POST_ANCHOR.fullmatch(fragment) or _POST_IN_TOPIC.search(told)
    number = found.group(1) if found else _post_id(plain)
    return f"{host} p:{number}" if number else without_session(url)


def names_post(url: str) -> bool:
    """Tells whether an address names a post and not its thread, so that only its page shows to
    which thread it leads."""
    plain = url.partition("#")[0]
    return _post_id(plain) is not None and not re.search(r" (?:t:|#)", thread_key(plain))


_BOARD_SORTS = {
    "category": "c",
    "categories": "c",
    "cat": "c",
    "c": "c",
    "cid": "c",
    "kategorie": "c",
    "group": "g",
    "groups": "g",
    "node": "n",
    "nodes": "n",
    "go": "n",
    "tag": "t",
    "section": "s",
    "sections": "s",
}
_BOARD_ID = re.compile(r" [a-z]:.")


@lru_cache(maxsize=4_096)
def board_key(url: str) -> str:
    """Returns the key of the board that `url` leads to: "host b:ID" with the site's own id if the
    address contains one, otherwise the address without page and session. The letter is "b" for a
    forum or board; it is "c" if the address calls the board a category, "g" a group, "n" a node,
    "s" a section and "t" a tag, since a site may number each of these separately.

    >>> board_key("https://a.org/forum-12-1.html") == \
board_key("https://a.org/forum.php?mod=forumdisplay&fid=12&page=2")
    True
    """
    host, segments, query = split_address(url)
    names = {name.lower() for name, _ in query}
    for name in _BOARD_PARAMETERS:
        found = _parameter(query, (name,), digits=False) if name in names else None
        if found:
            return f"{host} {_BOARD_SORTS.get(name, 'b')}:{found}"
    if segments:
        inner = re.search(r"(?:^|[-_])(?:forum|fid|board|f|b)[-_,]?(\d+)", segments[-1], re.I)
        if inner:
            return f"{host} b:{inner.group(1)}"
    for at in range(len(segments) - 2, -1, -1):
        word = segments[at].lower().rsplit(".", 1)[0]
        if word in BOARD_WORDS:
            found = _id_after(segments[at:], frozenset({word}))
            if found and HAS_DIGIT.search(found):
                return f"{host} {_BOARD_SORTS.get(word, 'b')}:{found}"
            break
    return _plain(host, segments, query)


def names_board(key: str) -> bool:
    """Tells whether a key made by `board_key` contains the id that the site gives the board, as in
    "host b:12"."""
    return bool(_BOARD_ID.search(key))


_FIRST_PAGE = (
    (re.compile(r"(/(?:thread|forum|viewthread)-\d+-)\d+(-\d+)?(?=\.html?)", re.I), r"\g<1>1\2"),
    (re.compile(r"/(?:page[-_]?\d+|p\d+)(?:\.html?)?/?(?=$|[?#])", re.I), "/"),
    (re.compile(r"/page/\d+/?(?=$|[?#])", re.I), "/"),
    (re.compile(r"/(?:latest|unread|last|lastpost|newpost|post-\d+)/?(?=$|[?#])", re.I), "/"),
    (re.compile(r"([?&;]topic=\d+)\.(?:\d+|msg\d+|new)"), r"\1.0"),
    (re.compile(r"(/topic,\d+)\.(?:\d+|msg\d+|new)"), r"\1.0"),
    (re.compile(r"(/t\d+)p\d+(?=-)"), r"\1"),
    (re.compile(r"(-(?:t|f)\d+)-\d+(?=\.html?)"), r"\1"),
)
_PAGE_PARAMETER = re.compile(
    r"(?:(?<=\?)|[&;])(?:page|start|st|offset|pg|pn|pagenumber|goto|view|action|do|pid|post|sid|s"
    r"|highlight|extra)="
    r"[^&;#]*"
)
_KEEP = re.compile(
    r"[?&;](?:action|do|view|mod)=(?:viewthread|display|show|thread|topic|forumdisplay"
    r"|viewtopic)\b",
    re.I,
)


def first_page(url: str) -> str:
    """Returns the address of the first page of the thread or list to which `url` belongs: without
    page number, post and anchor. One that names only a post keeps it.

    >>> first_page("https://a.org/topic/7-x?page=3#p9")
    'https://a.org/topic/7-x'
    """
    url = url.split("#", 1)[0]
    if names_post(url):
        return url
    head, mark, query = url.partition("?")
    if mark and not _KEEP.search("?" + query):
        query = _PAGE_PARAMETER.sub("", "?" + query)[1:].lstrip("&;")
        query = re.sub(r"(?:(?<=^)|[&;])p=\d+(?=[&;]|$)", "", query).lstrip("&;")
    elif mark:
        query = re.sub(
            r"(?:(?<=^)|[&;])(?:page|start|st|offset|goto|pid|extra|highlight)=[^&;#]*", "", query
        ).lstrip("&;")
    url = f"{head}?{query}" if query else head
    for pattern, replacement in _FIRST_PAGE:
        shorter = pattern.sub(replacement, url)
        if shorter != url:
            url = shorter.rstrip("/") if not head.endswith("/") and replacement == "/" else shorter
    return url
