"""Decoding of pages to text: by byte order mark, declared charset (HTTP header, then `<meta>`), or
detection if the declaration is missing or wrong."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

_HEADER_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"';,]+)", re.IGNORECASE)
_INSIDE = rb"(?:[^>\"']|\"[^\"]*\"|'[^']*')*+"
# The parts of a page's head as the prescan of the HTML standard passes over them: comments;
# elements whose content is text (the standard's parser discards what its prescan finds there);
# tags.
_PART = re.compile(
    rb"<!--.*?-->"
    rb"|<(script|style|title|noscript|textarea|xmp|iframe|noframes|noembed|template)(?=[\s/>])"
    + _INSIDE
    + rb">.*?(?:</\1|\Z)"
    rb"|<meta(?=[\s/])(?P<meta>" + _INSIDE + rb")>"
    rb"|<[/a-z!?]" + _INSIDE + rb">",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE = re.compile(rb"([^\s=>/\"']+)(?:\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s>\"']+))?")
_XML_CHARSET = re.compile(
    rb"^\s*<\?xml\b[^>]{0,200}?\bencoding\s*=\s*[\"']([a-zA-Z0-9_.:-]+)", re.IGNORECASE
)
_HIGH_RUN = re.compile(rb"[\x80-\xff]+")
_HANZI_PAIRS = re.compile(rb"(?:[\xb0-\xd7][\xa1-\xfe]|[\xa1\xa3][\xa1-\xfe])+")

_WIDE = re.compile("[\u0800-\U0010ffff]")  # any character that takes three or more bytes in UTF-8

# bytes in which `<meta charset>` is searched for; the HTML standard says 1,024, but real pages put
# scripts in front
_META_WINDOW = 4096
_SAMPLE = 65536  # bytes that are examined to detect an encoding
_DAMAGE = 0.02  # share of undecodable characters up to which a declared charset is accepted

# Charset name -> the Python codec used for it. As in browsers, this is the codec of a superset of
# the named charset.
_CODECS = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "windows-1252": "cp1252",
}
# Name that resiliparse's map_encoding_to_html5 returns -> name in the WHATWG encoding standard,
# where they differ.
_NAMES = {
    "gbk": "gb18030",
    "gb2312": "gb18030",
    "euc_kr": "euc-kr",
    "euc_jp": "euc-jp",
    "utf-16-le": "utf-16le",
    "utf-16-be": "utf-16be",
    "iso8859-1": "windows-1252",
    "iso8859-9": "windows-1254",
    "iso2022_jp": "iso-2022-jp",
}
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16le"),
    (codecs.BOM_UTF16_BE, "utf-16be"),
)
_CANDIDATES = ("gb18030", "big5", "shift_jis", "euc-jp", "euc-kr")


def charset_name(label: str) -> str | None:
    """Returns the standard (WHATWG) name of a charset label ("GB2312" -> "gb18030"); None for an
    unknown label."""
    found = map_encoding_to_html5(label.strip().lower(), fallback_utf8=False)
    if found is None:
        return None
    name = _NAMES.get(found, found)
    if name.startswith("cp125"):
        name = "windows-" + name[2:]
    return name.replace("iso8859-", "iso-8859-")


def output_codec(name: str) -> str:
    """Returns the Python codec in which the forms of a page with this encoding are sent: as in
    browsers, UTF-8 instead of UTF-16 and of an unknown encoding, and GBK for what is called so."""
    if name.startswith("utf-16"):
        return "utf-8"
    found = {**_CODECS, "gb18030": "gbk", "big5": "big5"}.get(name, name)
    try:
        return codecs.lookup(found).name
    except LookupError:
        return "utf-8"


def header_charset(content_type: str) -> str | None:
    """Returns the standard name of the charset in a Content-Type header; None if it is missing or
    unknown."""
    found = _HEADER_CHARSET.search(content_type)
    return charset_name(found.group(1)) if found else None


def meta_charset(body: bytes) -> str | None:
    """Returns the standard name of the charset that the page declares in an XML declaration, or in
    a `<meta>` element with the attribute `charset` or with `http-equiv="Content-Type"`; None if it
    is missing or unknown."""
    head = body[:_META_WINDOW]
    found = _XML_CHARSET.search(head)
    labels = [found.group(1).decode("ascii")] if found is not None else _labels(head)
    name = next((name for label in labels if (name := charset_name(label))), None)
    # The declaration was found in ASCII, so the page cannot be in UTF-16.
    return "utf-8" if name in ("utf-16le", "utf-16be") else name


def _labels(head: bytes) -> Iterator[str]:
    """Yields the labels of charsets in the `<meta>` elements of a page's beginning, in order."""
    if b"charset" not in head.lower():
        return
    for part in _PART.finditer(head):
        if part["meta"] is None:
            continue
        values: dict[str, str] = {}
        for name, value in _ATTRIBUTE.findall(part["meta"]):
            text = value.strip(b"\"'").decode("ascii", "replace").strip()
            values.setdefault(name.decode("ascii", "replace").lower(), text)
        if "charset" in values:
            yield values["charset"]
        elif values.get("http-equiv", "").lower() == "content-type":
            yield from _HEADER_CHARSET.findall(values.get("content", ""))[:1]


def decode(body: bytes, content_type: str = "") -> tuple[str, str]:
    """Returns the text of a page, and the standard name of the encoding it was decoded with. Never
    raises; bytes that cannot be decoded become U+FFFD.

    Tried in order: byte order mark, HTTP header, `<meta>`, detection; `<meta>` comes before a
    header that says windows-1252. A declaration is accepted unless the bytes contradict it: more
    than 2 % of the characters beyond ASCII cannot be decoded, the bytes are valid UTF-8 although
    something else is declared, or a Western charset is declared for what is plainly double-byte
    text.

    >>> decode("中文论坛，欢迎".encode("gbk"))
    ('中文论坛，欢迎', 'gb18030')
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace"), name
    declared = header_charset(content_type) if content_type else None
    if declared == "utf-8" or declared is None:
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            pass
        else:
            if declared or _is_utf8(text, body):
                return text, "utf-8"
    return _decode_declared(body, declared)


def _is_utf8(text: str, body: bytes) -> bool:
    """Tells whether bytes that decode as UTF-8 really are UTF-8, for a page whose charset is given
    neither by a byte order mark nor by the header. `text` is the decoded `body`.

    Two cases are excluded: ISO-2022-JP, which is ASCII with escape sequences, and declared East
    Asian encodings without any three-byte character, since a few Chinese words in GBK ("联通", for
    example) are also valid two-byte UTF-8.
    """
    if text.isascii():
        return b"\x1b" not in body
    return _WIDE.search(text) is not None or meta_charset(body) not in _CANDIDATES


def _decode_declared(body: bytes, declared: str | None) -> tuple[str, str]:
    """Returns text and encoding name from the first of these that fits the bytes: the header's
    charset (`declared`; None without one), the page's own declaration, detection. A header that
    says windows-1252 comes after the page's own declaration.
    """
    in_page = meta_charset(body)
    if declared in ("windows-1252", None) and in_page:
        # a header with windows-1252 is often just Apache's default, so the page's own declaration
        # comes first
        names = [in_page] if declared is None else [in_page, declared]
    else:
        names = [name for name in (declared, in_page) if name]
    for name in dict.fromkeys(names):
        text = _decode_if_consistent(body, name)
        if text is not None:
            return text, name
    return _detect(body)


def _decode_if_consistent(body: bytes, name: str) -> str | None:
    """Returns the text decoded with the declared charset `name`; None if the bytes contradict the
    declaration."""
    if name == "windows-1252" and _is_double_byte(body):
        return None
    if name not in ("utf-8", "utf-16le", "utf-16be", "iso-2022-jp"):
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            pass
        else:
            if text.isascii():
                return text
            if name not in _CANDIDATES or _WIDE.search(text):
                return None
    try:
        return body.decode(_CODECS.get(name, name))
    except LookupError:
        return None
    except UnicodeDecodeError:
        text = body.decode(_CODECS.get(name, name), "replace")
        beyond = sum(1 for char in text if char > "\x7f")
        return text if text.count("\ufffd") <= max(1, beyond * _DAMAGE) else None


def _is_double_byte(body: bytes) -> bool:
    """Tells whether most non-ASCII bytes come in runs of four or more, as in double-byte text, and
    not singly as in Western words."""
    runs = [len(run) for run in _HIGH_RUN.findall(body[:_SAMPLE])]
    return sum(length for length in runs if length >= 4) > 0.7 * sum(runs) if runs else False


def _detect(body: bytes) -> tuple[str, str]:
    """Returns text and encoding name, determined from the bytes alone: UTF-8 if they are valid
    UTF-8, resiliparse's guess if it fits, otherwise the encoding that leaves the fewest undecodable
    characters."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        if b"\x1b" not in body:
            return text, "utf-8"
    guess = charset_name(detect_encoding(body, max_len=_SAMPLE) or "") or "utf-8"
    if guess not in _CANDIDATES and _is_hanzi(
        body
    ):  # for texts too short for resiliparse's detector
        guess = "euc-kr" if _is_hangul(body) else "gb18030"
    best_text, best_name, fewest = "", guess, None
    for name in dict.fromkeys((guess, *_CANDIDATES, "windows-1252")):
        codec = _CODECS.get(name, name)
        try:
            return body.decode(codec), name
        except UnicodeDecodeError:
            text = body.decode(codec, "replace")
            errors = text.count("\ufffd")
            if name == guess and errors <= max(1, len(text) * _DAMAGE / 4):
                return text, name
            if fewest is None or errors < fewest:
                best_text, best_name, fewest = text, name, errors
    return best_text, best_name


def _is_hanzi(body: bytes) -> bool:
    """Tells whether all non-ASCII bytes form pairs that are frequent Chinese characters (level 1)
    or punctuation of GB 2312."""
    runs = _HIGH_RUN.findall(body[:_SAMPLE])
    return bool(runs) and all(_HANZI_PAIRS.fullmatch(run) for run in runs)


def _is_hangul(body: bytes) -> bool:
    """Tells whether all byte pairs, at least 16, are in the range of EUC-KR's syllables; of the
    frequent Chinese characters only about half are in that range."""
    pairs = [
        run[at : at + 2]
        for run in _HIGH_RUN.findall(body[:_SAMPLE])
        for at in range(0, len(run) - 1, 2)
    ]
    signs = [pair for pair in pairs if pair[0] > 0xA3]
    return len(signs) >= 16 and all(pair[0] <= 0xC8 for pair in signs)
