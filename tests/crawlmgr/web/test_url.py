"""Addresses: one canonical form, links made absolute as browsers do, and hash keys."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlmgr.web.url import (
    UrlError,
    UrlRules,
    absolute,
    canonical,
    fetchable,
    host_key,
    origin,
    parse,
    registered_domain,
    url_hash,
)

SESSION = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("HTTP://Forum.Example", "http://forum.example/"),
        ("http://forum.example:80/", "http://forum.example/"),
        ("https://forum.example:443/a", "https://forum.example/a"),
        ("https://forum.example:80/a", "https://forum.example:80/a"),
        ("http://forum.example/a/./b/../c", "http://forum.example/a/c"),
        ("http://forum.example/../../a", "http://forum.example/a"),
        ("http://forum.example/a/%2e%2E/b", "http://forum.example/b"),
        ("http://forum.example/a/..", "http://forum.example/"),
        ("http://forum.example/%7Euser/%e8%ae%ba", "http://forum.example/~user/%E8%AE%BA"),
        (
            "http://forum.example/论坛?q=主题",
            "http://forum.example/%E8%AE%BA%E5%9D%9B?q=%E4%B8%BB%E9%A2%98",
        ),
        ("http://forum.example/a b", "http://forum.example/a%20b"),
        ("http://forum.example/a%2Fb", "http://forum.example/a%2Fb"),
        ("http://forum.example/t#p7", "http://forum.example/t"),
        ("http://forum.example/t?", "http://forum.example/t"),
        ("http://forum.example/t?b=2&a=1", "http://forum.example/t?a=1&b=2"),
        ("http://forum.example/t?x=2&x=1&a=", "http://forum.example/t?a=&x=2&x=1"),
        (
            "http://forum.example/?threads/name.12/&page=2",
            "http://forum.example/?threads/name.12/&page=2",
        ),
        (
            "http://forum.example/index.php?topic=5.0;wap2",
            "http://forum.example/index.php?topic=5.0;wap2",
        ),
        ("http://user:pw@forum.example/", "http://forum.example/"),
        ("http://论坛.example/", "http://xn--kfsr23j.example/"),
        ("http://BÜCHER.example/", "http://xn--bcher-kva.example/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[2001:DB8:0:0::1]:8080/", "http://[2001:db8::1]:8080/"),
        ("http:\\\\forum.example\\a", "http://forum.example/a"),
        (" http://forum.example/a\n", "http://forum.example/a"),
        ("http://forum.example/a\tb", "http://forum.example/ab"),
        ("http:////forum.example/a", "http://forum.example/a"),
        (f"http://forum.example/t.php?t=1&PHPSESSID={SESSION}", "http://forum.example/t.php?t=1"),
        (f"http://forum.example/t.php?s={SESSION}&t=1", "http://forum.example/t.php?t=1"),
        (f"http://forum.example/t.php?t=1&sid={SESSION}", "http://forum.example/t.php?t=1"),
        ("http://forum.example/t.php?s=&t=1", "http://forum.example/t.php?t=1"),
        ("http://forum.example/t.php?sid=12", "http://forum.example/t.php?sid=12"),
        ("http://forum.example/t;jsessionid=1A2B?x=1", "http://forum.example/t?x=1"),
        ("http://forum.example/(S(abcdefgh12345678))/t.aspx", "http://forum.example/t.aspx"),
        (
            "http://forum.example/t?utm_source=x&id=1&fbclid=y&gclid=z",
            "http://forum.example/t?id=1",
        ),
        ("http://forum.example/t?a=1&&b=2", "http://forum.example/t?a=1&b=2"),
        ("http://forum.example/a//b", "http://forum.example/a//b"),
        ("http://forum.example/t?f[]=1|2", "http://forum.example/t?f%5B%5D=1%7C2"),
        ("http://forum.example/t?f%5b%5D=1%7c2", "http://forum.example/t?f%5B%5D=1%7C2"),
        ("http://forum.example/\ud800?q=\udce8", "http://forum.example/??q=?"),
    ],
)
def test_canonical(url: str, expected: str) -> None:
    assert canonical(url) == expected and canonical(expected) == expected


@pytest.mark.parametrize(
    "url",
    [
        "",
        "forum.example/a",
        "//forum.example/",
        "ftp://forum.example/",
        "mailto:a@b",
        "javascript:x",
        "http://",
        "http:///",
        "http://a b/",
        "http://a:99999/",
        "http://a:0/",
        "http://a:x/",
        "http://[::1/",
        "http://1.2.3.4.5/",
        "http://a..b/",
        "data:text/html,x",
        "about:blank",
        "http://%00/",
    ],
)
def test_what_is_no_address(url: str) -> None:
    for function in (canonical, fetchable, parse, host_key, origin):
        with pytest.raises(UrlError):
            function(url)


def test_rules_that_keep_everything() -> None:
    url = f"http://f.example/t?b=2&a=1&order=x&ref_id=3&utm_source=s&sid={SESSION}#p5"
    kept = UrlRules(
        sort_query=False, keep_fragment=True, strip_sessions=False, strip_tracking=False
    )
    assert canonical(url, kept) == url


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("t.php", "http://f.example/a/t.php"),
        ("/t", "http://f.example/t"),
        ("?p=2", "http://f.example/a/list.php?p=2"),
        ("#x", "http://f.example/a/list.php?f=1#x"),
        ("", "http://f.example/a/list.php?f=1"),
        ("..", "http://f.example/"),
        ("../../../x", "http://f.example/x"),
        ("./", "http://f.example/a/"),
        ("//g.example/x", "http://g.example/x"),
        ("https://G.Example:443/x", "https://g.example/x"),
        ("http:t.php", "http://f.example/a/t.php"),
        (" t.php\n", "http://f.example/a/t.php"),
        ("t\n.php", "http://f.example/a/t.php"),
        ("\\t", "http://f.example/t"),
        ("a b?c d", "http://f.example/a/a%20b?c%20d"),
        ("a:b", None),
        ("./a:b", "http://f.example/a/a:b"),
        ("javascript:void(0)", None),
        ("JavaScript:x", None),
        ("mailto:a@b", None),
        ("tel:1", None),
        ("data:,x", None),
        ("http://[::", None),
        ("http://a:b/", None),
        ("//", None),
    ],
)
def test_absolute(href: str, expected: str | None) -> None:
    assert absolute(href, "http://f.example/a/list.php?f=1") == expected


def test_a_base_that_is_no_address() -> None:
    with pytest.raises(UrlError):
        absolute("x", "about:blank")


def test_fetchable_leaves_parameters_alone() -> None:
    url = f"http://F.example:80/a%2f/../论?b=2&a=1&sid={SESSION}&utm_x=1&q=%e8#frag"
    assert fetchable(url) == f"http://f.example/%E8%AE%BA?b=2&a=1&sid={SESSION}&utm_x=1&q=%e8"


def test_keys() -> None:
    assert (
        host_key("http://F.example:80/x") == "f.example"
        and host_key("http://f.example:8080/") == "f.example:8080"
    )
    assert (
        origin("https://f.example:444/x?y") == "https://f.example:444"
        and origin("http://[::1]/") == "http://[::1]"
    )
    assert (
        registered_domain("a.b.example.co.uk") == "example.co.uk"
        and registered_domain("localhost:8000") == "localhost"
    )
    assert registered_domain("127.0.0.1:80") == "127.0.0.1"
    assert (
        url_hash("http://f.example/")
        == url_hash("http://f.example/")
        != url_hash("http://f.example/a")
    )


@given(st.text(max_size=60))
def test_keys_are_64_bit_and_signed(url: str) -> None:
    assert -(2**63) <= url_hash(url) < 2**63


@settings(max_examples=300)
@given(st.text(alphabet="abAB09./?&=#%;:@~[]()\\ '\"<>|+-_论é\t", max_size=40))
def test_canonical_is_idempotent_and_plain(rest: str) -> None:
    try:
        first = canonical("http://f.example/" + rest)
    except UrlError:
        return
    assert (
        canonical(first) == first
        and first.isascii()
        and not {" ", "\t", "#", '"', "<"} & set(first)
    )
    assert fetchable(first) == first
    assert absolute(first, "http://other.example/") == first


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("0=&|", "%7C&0="),
        ("b=1&%61=2", "a=2&b=1"),
        ("%73%69%64=0123456789abcdef0123456789abcdef&t=1", "t=1"),
        ("utm%5Fsource=x&t=1", "t=1"),
        ("%%34%31", "%%341"),
        ("%2%35", "%2%35"),
        ("%25%35", "%255"),
    ],
)
def test_rules_see_a_query_as_it_is_stored(query: str, expected: str) -> None:
    first = canonical(f"http://f.example/?{query}")
    assert first == f"http://f.example/?{expected}" == canonical(first)


ODD = (
    "a b 0 = & ; | ? / % %7 %34 %31 %73 %2e %26 %3D sid s session utm_ %5f x ' [ é (S(abcdefgh))"
    " ;jsessionid= ;sid= 0123456789abcdef0123456789abcdef".split(" ")
)


@given(
    st.lists(st.sampled_from(ODD), max_size=12),
    st.sampled_from(["http://f.example/", "http://f.example/t?", "http://f.example/t;"]),
)
def test_addresses_of_odd_pieces_have_one_form(pieces: list[str], start: str) -> None:
    first = canonical(start + "".join(pieces))
    assert canonical(first) == first == fetchable(first)


PIECES = (
    "http:// https:// // / a B 9 .. . ./ %2e %2E %20 ? # = & : @ ; \\ é h.com x-y.z1 0x1 1 ~ - ( ["
    " | ^ < javascript: HTTP:// www.A.com :80 :80/ :443/ :8080/ :0/ :65536/ :54321/ +".split()
)


@given(
    st.lists(st.sampled_from(PIECES), max_size=8),
    st.sampled_from(["http://h.com/", "https://h.com:8443/a/b/c.php?x=1#f"]),
)
def test_plain_links_are_resolved_like_all_others(pieces: list[str], base: str) -> None:
    href = "".join(pieces)
    assert absolute(href, base) == absolute(f" {href} ", base), "the spaces lead past the short way"
