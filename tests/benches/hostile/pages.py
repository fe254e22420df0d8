"""Pages, files and texts that make a badly written parser slow, generated in any size. Does not use
Django."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

LONGEST_ADDRESS = 65_536  # maximum number of characters of a link in this benchmark


class Case(NamedTuple):
    """A hostile input: a name that says what is hostile about it, the kind of parsers that it is
    for ("html", "json", "text", "robots" or "sitemap"), and the function that makes it in a given
    size."""

    name: str
    kind: str
    make: Callable[[int], str]


def _repeated(piece: Callable[[int], str], size: int) -> str:
    """Returns `piece(0)`, `piece(1)` … joined, until the text has at least `size` characters."""
    parts: list[str] = []
    length = number = 0
    while length < size:
        parts.append(piece(number))
        length += len(parts[-1])
        number += 1
    return "".join(parts)


def _page(body: str) -> str:
    return (
        f"<!DOCTYPE html><html lang=en><head><title>A page</title></head><body>{body}</body></html>"
    )


def _body(piece: Callable[[int], str], before: str = "", after: str = "") -> Callable[[int], str]:
    return lambda size: _page(before + _repeated(piece, size - len(before) - len(after)) + after)


def _addresses(step: str, start: str = "/t/") -> Callable[[int], str]:
    """Returns a function that makes a page with long links, whose paths repeat the segment `step`
    up to LONGEST_ADDRESS characters."""

    def make(size: int) -> str:
        length = min(size, LONGEST_ADDRESS)
        address = start + step * (length // len(step))
        return _page(
            _repeated(lambda n: f"<p><a href='{address}{n}'>thread {n}</a> 3 replies</p>", size)
        )

    return make


def _endless(tag: str) -> Callable[[int], str]:
    return lambda size: _page(tag * (size // len(tag)))


def _attributes(size: int) -> str:
    return _page(f"<div {_repeated(lambda n: f'a{n}=v{n} ', size)}>text</div>")


def _classes(size: int) -> str:
    return _page(f"<div class='{_repeated(lambda n: f'post-{n} ', size)}'><p>text</p></div>")


def _row(number: int) -> str:
    day = f"{1 + number % 28:02d}"
    return (
        f"<tr class=row><td><a href='/viewtopic.php?t={number}'>What about number"
        f" {number}?</a></td><td><a"
        f" href='/memberlist.php?u={number % 97}'>user{number % 97}</a></td><td>{number % 50}</td>"
        f"<td>2026-03-{day}"
        f" 10:{number % 60:02d}</td></tr>"
    )


def _other_row(number: int) -> str:
    word = "".join(chr(97 + (number * 7 + k * (number % 11 + 1)) % 26) for k in range(6))
    return (
        f"<tr class={word}><td><a href='/{word}/{number % 13}-{word}/{number}'>{word}"
        f" {number}</a></td><td>{number}</td></tr>"
    )


def _post(number: int) -> str:
    return (
        f"<div class=post id=p{number}><a"
        f" href='/memberlist.php?u={number % 9}'>user{number % 9}</a>"
        f" <span>2026-03-{1 + number % 28:02d} 10:{number % 60:02d}</span><div class=content>Post"
        f" number {number} says a few words.</div></div>"
    )


def _numbered_pages(number: int) -> str:
    return f"<a href='/viewforum.php?f=2&start={number * 25}'>{number + 1}</a> "


def _form(number: int) -> str:
    return (
        f"<form action=/s{number}><label for=q{number}>Search</label><input id=q{number}"
        f" name=q{number}><input type=submit></form>"
    )


def _field(number: int) -> str:
    return (
        f"<label for=f{number}>Field {number}</label><input id=f{number} name=f{number}><input"
        f" type=radio name=r value={number}>"
    )


def _option(number: int) -> str:
    return f"<option value={number}>choice {number}</option>"


def _records(number: int) -> str:
    return ("," if number else "") + json.dumps(
        {"id": number, "title": f"record {number}", "url": f"/r/{number}", "none": None}
    )


def _script_of(text: str) -> str:
    return _page(
        f"<form action=/s><input name=q></form><script type='application/json'>{text}</script>"
    )


def _script(start: str, piece: Callable[[int], str], end: str) -> Callable[[int], str]:
    return lambda size: _script_of(start + _repeated(piece, size) + end)


def _deep_json(size: int) -> str:
    return _script_of('{"a":' * (size // 6) + "1" + "}" * (size // 6))


def _word_with(mark: str) -> Callable[[int], str]:
    return lambda size: mark * (size // len(mark))


def _topics(number: int) -> str:
    moment = f"2026-03-{1 + number % 28:02d}T10:00:00Z"
    row = {
        "id": number,
        "title": f"topic {number}",
        "slug": f"t-{number}",
        "posts_count": 3,
        "created_at": moment,
        "last_posted_at": moment,
    }
    return ("," if number else "") + json.dumps(row)


def _feed_item(number: int) -> str:
    return (
        f"<item><title>t {number}</title><link>http://f.example/t/{number}</link><pubDate>Mon, 02"
        " Mar 2026 10:00:00 GMT</pubDate></item>"
    )


def _located(number: int) -> str:
    return f"<url><loc>http://f.example/{number}</loc><lastmod>2026-03-02</lastmod></url>"


CASES = (
    Case("links", "html", _body(lambda n: f"<a href='/t/{n}-some-words'>thread {n}</a> ")),
    Case(
        "links of many hosts",
        "html",
        _body(lambda n: f"<a href='http://h{n}.example/a/b{n}?c={n}'>page {n}</a> "),
    ),
    Case("long paths", "html", _addresses("a/")),
    Case("long paths of words", "html", _addresses("forum-x.topic-1/")),
    Case("long queries", "html", _addresses("a=1&", "/viewtopic.php?")),
    Case("long slugs", "html", _addresses("word-1.", "/topic/")),
    Case("rows", "html", _body(_row, "<table>", "</table>")),
    Case("rows all different", "html", _body(_other_row, "<table>", "</table>")),
    Case("posts", "html", _body(_post)),
    Case("page numbers", "html", _body(_numbered_pages)),
    Case("nesting", "html", _endless("<div>")),
    Case("nesting of quotes", "html", _endless("<blockquote>said:<br>")),
    Case("nesting of lists", "html", _endless("<ul><li>")),
    Case("nesting crossed", "html", _endless("<b><i>x</b>")),
    Case("nesting of tables", "html", _endless("<table><tr><td>")),
    Case("attributes", "html", _attributes),
    Case(
        "attributes on many",
        "html",
        _body(lambda n: "<p " + " ".join(f"a{k}={n}" for k in range(40)) + ">x</p>"),
    ),
    Case("class names", "html", _classes),
    Case("one word", "html", lambda size: _page(f"<p>{'a' * size}</p>")),
    Case("words", "html", _body(lambda n: f"word{n % 5000} of {n} ")),
    Case(
        "Chinese words",
        "html",
        _body(lambda n: "网页爬虫抓取主题相关的论坛帖子" + chr(0x4E00 + n % 5000)),
    ),
    Case("lines", "html", _body(lambda n: f"line {n}<br>")),
    Case("forms", "html", _body(_form)),
    Case("fields", "html", _body(_field, "<form action=/s>", "</form>")),
    Case(
        "options",
        "html",
        _body(_option, "<form action=/s><input name=q><select name=s>", "</select></form>"),
    ),
    Case(
        "lists of options",
        "html",
        _body(
            lambda n: f"<select name=s{n}>{_option(n)}</select>",
            "<form action=/s><input name=q>",
            "</form>",
        ),
    ),
    Case(
        "dates",
        "html",
        _body(
            lambda n: f"<p>2026-03-{1 + n % 28:02d} 10:{n % 60:02d} and {n % 28 + 1} March 2026</p>"
        ),
    ),
    Case(
        "dates in one text",
        "html",
        _body(lambda n: f"{n % 28 + 1}/{n % 12 + 1}/2026 {n % 24}:{n % 60:02d} "),
    ),
    Case("digits", "html", _body(lambda n: f"{n % 60}:{n % 7}.{n % 31}-")),
    Case("JSON in a script", "html", _script("[", _records, "]")),
    Case(
        "JSON of nothing",
        "html",
        _script('{"a":[', lambda n: ("," if n else "") + f'{{"b{n}":null}}', "]}"),
    ),
    Case(
        "JSON of one object",
        "html",
        _script("{", lambda n: ("," if n else "") + f'"k{n}":null', "}"),
    ),
    Case("JSON without end", "html", _deep_json),
    Case("scripts without end", "html", _endless("<script>x=[")),
    Case("comments without end", "html", _endless("<!-- x <!")),
    Case("brackets", "html", _endless("<")),
    Case("entities", "html", _endless("&amp;&#x41;&lt;")),
    Case(
        "topics",
        "json",
        lambda size: '{"topic_list":{"topics":[' + _repeated(_topics, size) + "]}}",
    ),
    Case(
        "feed",
        "json",
        lambda size: "<rss><channel>" + _repeated(_feed_item, size) + "</channel></rss>",
    ),
    Case("nested", "json", lambda size: '{"a":' * (size // 6) + "1" + "}" * (size // 6)),
    Case("one word", "text", _word_with("a")),
    Case("words", "text", lambda size: _repeated(lambda n: f"word{n % 5000} of {n} ", size)),
    Case("apostrophes", "text", _word_with("a'")),
    Case("hyphens", "text", _word_with("a-")),
    Case("Chinese words", "text", _word_with("网页爬虫抓取主题相关的论坛帖子")),
    Case("one Chinese character", "text", _word_with("的")),
    Case("digits", "text", _word_with("1234567890")),
    Case(
        "rules",
        "robots",
        lambda size: "User-agent: *\n" + _repeated(lambda n: f"Disallow: /a{n}/*.html$\n", size),
    ),
    Case("stars", "robots", lambda size: "User-agent: *\nDisallow: /" + "*a" * (size // 2) + "\n"),
    Case(
        "groups",
        "robots",
        lambda size: _repeated(lambda n: f"User-agent: bot{n}\nDisallow: /\n", size),
    ),
    Case("addresses", "sitemap", lambda size: "<urlset>" + _repeated(_located, size) + "</urlset>"),
    Case("nested", "sitemap", lambda size: "<urlset>" + "<url>" * (size // 5)),
    Case(
        "dates",
        "sitemap",
        lambda size: (
            "<urlset>"
            + "<url><loc>http://f.example/</loc>"
            + "<lastmod>2026</lastmod>" * (size // 23)
        ),
    ),
    Case("lines", "sitemap", lambda size: _repeated(lambda n: f"http://f.example/{n}\n", size)),
)
