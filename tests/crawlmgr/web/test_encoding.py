"""Decoding of pages: declared, BOM-marked, undeclared and wrongly declared charsets; never an
exception."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlmgr.web.encoding import charset_name, decode, header_charset, meta_charset

CHINESE = "论坛首页：欢迎各位网友发表新帖子，回复他人的主题，讨论技术与生活。最后回复于昨天。"
TRADITIONAL = "論壇首頁：歡迎各位網友發表新帖子，回覆他人的主題，討論技術與生活。最後回覆於昨天。"
JAPANESE = (
    "掲示板へようこそ。新しいスレッドを作成してください。返信はこちらからどうぞ。"
    "ありがとうございます。"
)
KOREAN = "게시판에 오신 것을 환영합니다. 새 글을 작성하고 다른 사람의 글에 답글을 달아 주세요. 감사합니다."
RUSSIAN = (
    "Добро пожаловать на форум. Создавайте новые темы и отвечайте на сообщения других участников."
)
FRENCH = (
    "Bienvenue à tous : créez un sujet, répondez aux autres, et n'oubliez pas les règles du forum"
    " déjà écrites."
)


def page(text: str, encoding: str, meta: str = "") -> bytes:
    declared = f'<meta charset="{meta}">' if meta else ""
    return f"<html><head>{declared}<title>t</title></head><body><p>{text}</p></body></html>".encode(
        encoding
    )


@pytest.mark.parametrize(
    ("text", "encoding", "name"),
    [
        (CHINESE, "gbk", "gb18030"),
        (CHINESE, "gb18030", "gb18030"),
        (CHINESE, "utf-8", "utf-8"),
        (TRADITIONAL, "utf-8", "utf-8"),
        (JAPANESE, "utf-8", "utf-8"),
        (JAPANESE, "shift_jis", "shift_jis"),
        (JAPANESE, "euc-jp", "euc-jp"),
        (KOREAN, "euc-kr", "euc-kr"),
        (RUSSIAN, "utf-8", "utf-8"),
        ("plain", "ascii", "utf-8"),
    ],
)
def test_undeclared(text: str, encoding: str, name: str) -> None:
    found, used = decode(page(text, encoding), "text/html")
    assert text in found and used == name


@pytest.mark.parametrize("words", ["论坛", "登录 注册", "主题：求助，在线等"])
def test_undeclared_gbk_with_few_words(words: str) -> None:
    assert words in decode(page(words, "gbk"))[0]


@pytest.mark.parametrize(
    ("text", "encoding", "label"),
    [
        (CHINESE, "gb2312", "GB2312"),
        (CHINESE, "gbk", "gbk"),
        (TRADITIONAL, "big5", "Big5"),
        (TRADITIONAL, "gb18030", "gb2312"),
        (JAPANESE, "cp932", "Shift_JIS"),
        (JAPANESE, "iso2022_jp", "ISO-2022-JP"),
        (KOREAN, "cp949", "ks_c_5601-1987"),
        (RUSSIAN, "cp1251", "windows-1251"),
        (RUSSIAN, "koi8-r", "KOI8-R"),
        (FRENCH, "cp1252", "ISO-8859-1"),
        (FRENCH, "latin-1", "latin1"),
        (FRENCH, "iso-8859-15", "iso-8859-15"),
    ],
)
def test_declared_in_the_header_or_the_page(text: str, encoding: str, label: str) -> None:
    assert text in decode(page(text, encoding), f"text/html; charset={label}")[0]
    assert text in decode(page(text, encoding), f'text/html;CHARSET="{label}"; x=y')[0]
    assert text in decode(page(text, encoding, meta=label), "text/html")[0]
    old = f'<meta http-equiv="Content-Type" content="text/html; charset={label}"><p>{text}'.encode(
        encoding
    )
    assert text in decode(old)[0]


@pytest.mark.parametrize(
    ("text", "encoding", "header", "meta"),
    [
        (CHINESE, "gbk", "utf-8", ""),
        (CHINESE, "gbk", "utf-8", "gbk"),
        (CHINESE, "gbk", "iso-8859-1", ""),
        (CHINESE, "gbk", "iso-8859-1", "gb2312"),
        (CHINESE, "gbk", "", "utf-8"),
        (CHINESE, "utf-8", "gbk", ""),
        (CHINESE, "utf-8", "gb2312", "utf-8"),
        (CHINESE, "utf-8", "", "gb2312"),
        (CHINESE, "utf-8", "iso-8859-1", ""),
        (CHINESE, "utf-8", "no-such-charset", ""),
        (CHINESE, "gbk", "no-such-charset", "neither"),
        (CHINESE, "gbk", "", "utf-16"),
        (RUSSIAN, "utf-8", "windows-1251", ""),
    ],
)
def test_wrong_declarations(text: str, encoding: str, header: str, meta: str) -> None:
    found, _ = decode(page(text, encoding, meta), f"text/html; charset={header}" if header else "")
    assert text in found


@pytest.mark.parametrize(("encoding", "name"), [("utf-8-sig", "utf-8"), ("utf-16", "utf-16le")])
def test_a_byte_order_mark_wins(encoding: str, name: str) -> None:
    text, used = decode(page(CHINESE, encoding), "text/html; charset=gbk")
    assert CHINESE in text and used == name and not text.startswith("\ufeff")
    big = b"\xfe\xff" + CHINESE.encode("utf-16-be")
    assert decode(big) == (CHINESE, "utf-16be")


def test_declarations_that_do_not_count() -> None:
    assert meta_charset(b"<!-- <meta charset=big5> --><meta charset=gbk>") == "gb18030"
    assert meta_charset(b"<?xml version='1.0' encoding='Shift_JIS'?><html>") == "shift_jis"
    assert (
        meta_charset(b"<p>charset=gbk</p>") is None
        and meta_charset(b"<meta charset=nonsense>") is None
    )
    assert meta_charset(b" " * 5000 + b"<meta charset=gbk>") is None
    assert header_charset("text/html") is None and header_charset("text/html; charset=") is None
    assert (
        charset_name(" UTF8 ") == "utf-8"
        and charset_name("x-gbk") == "gb18030"
        and charset_name("klingon") is None
    )


def test_a_few_damaged_characters_do_not_overturn_a_declaration() -> None:
    body = page(CHINESE * 20, "utf-8").replace("坛".encode(), "坛".encode()[:2], 1)
    text, used = decode(body, "text/html; charset=utf-8")
    assert used == "utf-8" and CHINESE in text and text.count("\ufffd") <= 2
    cut = page(CHINESE * 20, "gbk")[:-51]
    assert CHINESE in decode(cut, "text/html; charset=gbk")[0]


@given(
    st.binary(max_size=300),
    st.sampled_from(
        [
            "",
            "text/html; charset=gbk",
            "text/html; charset=utf-8",
            "x; charset=utf-16le",
            "; charset=big5",
            "charset=euc-kr",
        ]
    ),
)
def test_no_bytes_are_too_odd(body: bytes, content_type: str) -> None:
    text, name = decode(body, content_type)
    assert isinstance(text, str) and name == name.lower()


@given(
    st.text(
        alphabet=st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5),
        min_size=30,
        max_size=200,
    )
)
def test_declared_gbk_comes_back_whole(text: str) -> None:
    assert text in decode(page(text, "gbk", "gbk"))[0]


@pytest.mark.parametrize(
    "head",
    [
        b'<meta name="keywords" content="charset=gbk, forum">',
        b'<meta name="description" content="a page on charset=gbk">',
        b"<script>var page = '<meta charset=gbk>';</script>",
        b"<title><meta charset=gbk></title>",
        b"<noscript><meta charset=gbk></noscript>",
        b"<style>/* <meta charset=gbk> */</style>",
        b'<link title="<meta charset=gbk>">',
        b"<!-- <meta charset=gbk> -->",
        b"<metadata charset=gbk>",
        b"<script><meta charset=gbk>",
    ],
)
def test_only_a_meta_element_declares_a_charset(head: bytes) -> None:
    assert meta_charset(b"<!doctype html><html><head>" + head) is None
    declared = b'<META content="text/html;charset=big5" HTTP-EQUIV=content-type />'
    closed = head.replace(b"<script><meta charset=gbk>", b"")
    assert (
        meta_charset(closed + declared) == meta_charset(closed + b"<meta/charset='big5'>") == "big5"
    )


def test_an_unknown_charset_is_passed_over() -> None:
    assert meta_charset(b"<meta charset=nonsense><meta charset=gbk>") == "gb18030"
