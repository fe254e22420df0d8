"""Pages to words and links: link contexts from both parsers, main text, canonical and merged
links."""

import pytest

from crawlmgr.text.tokens import Tokenizer
from focused.run.parse import CONTEXTS, Parser, plain_context, weighted_context

TOKENIZER = Tokenizer()
PAGE = """<html><head><title>主題爬蟲</title><base href="/docs/"></head><body>
<nav>menu entries everywhere</nav>
<p>garden words before <a href="a.html#part">crawler guide</a> tomato words after</p>
<p><a href="../docs/a.html">second anchor</a> <a href="a.html">crawler guide</a> \
<a href="http://H.example:80/self">self</a></p>
<p><a href="mailto:x@example.org">mail</a> <a href="a.html?utm_source=x&amp;id=7">tracked</a> \
<a href="http://[bad/">bad</a></p>
</body></html>"""


def parse(html=PAGE, content_type="text/html", charset="utf-8", **options):
    return Parser(TOKENIZER, **options)(html.encode(charset), content_type, "http://h.example/self")


def test_links_are_canonical_joined_and_not_to_the_page_itself():
    page = parse()
    assert [link.url for link in page.links] == [
        "http://h.example/docs/a.html",
        "http://h.example/docs/a.html?id=7",
    ]
    first = page.links[0]
    assert first.anchor == "crawler guide second anchor"
    assert tuple(first.anchor_words) == ("crawler", "guid", "anchor")


def test_words_are_of_title_and_text_in_one_script():
    page = parse()
    assert page.title == "主題爬蟲"
    assert page.words["主题"] == page.words["爬虫"] == 1
    assert page.words["tomato"] == 1
    assert page.words["menu"] == 1


def test_undeclared_gbk_reads_like_utf8():
    html = (
        "<title>主题爬虫</title><body>主题爬虫采集与主题相关的网页内容，"
        "网页之间有隧道连接主题孤岛。</body>"
    )
    assert parse(html, charset="gbk").words == parse(html).words


def test_plain_context_counts_words_near_the_anchor_once_each():
    before = " ".join(f"before{i}x" for i in range(25))
    after = " ".join(f"after{i}x" for i in range(25))
    context = plain_context(f"{before} the anchor {after}", "the anchor", TOKENIZER)
    assert len(context) == 40
    assert set(context.values()) == {1}
    assert "before4x" not in context
    assert {"before5x", "before24x", "after0x", "after19x"} <= set(context)
    assert "after20x" not in context


def test_weighted_context_falls_with_distance():
    context = weighted_context("garden basil anchor tomato soup tomato", "anchor", TOKENIZER)
    assert context == pytest.approx(
        {"basil": 1.0, "garden": 0.95, "tomato": 1.0 + 0.9, "soup": 0.95}
    )


def test_context_without_the_anchor_in_it():
    for weigh in CONTEXTS.values():
        assert set(weigh("tomato soup", "missing", TOKENIZER)) == {"tomato", "soup"}
        assert set(weigh("tomato soup", "", TOKENIZER)) == {"tomato", "soup"}
        assert weigh("", "anchor", TOKENIZER) == {}


def test_the_parser_is_told_which_context():
    plain, weighted = parse().links[0].context, parse(context=weighted_context).links[0].context
    assert set(plain) == set(weighted)
    assert plain["tomato"] == 1
    assert plain != weighted


def test_main_text_leaves_menus_out_but_never_all():
    menu = "".join(f"<li><a href='/m{i}'>menuword{i}x</a></li>" for i in range(30))
    article = "".join(
        f"<p>The crawler follows links of pages number{i}x and weighs what it finds there with"
        " care.</p>"
        for i in range(12)
    )
    html = (
        f"<body><nav><ul>{menu}</ul></nav><main><article><h1>Crawlers</h1>{article}</article>"
        f"</main></body>"
    )
    whole, main = parse(html), parse(html, main=True)
    assert "menuword3x" in whole.words
    assert "menuword3x" not in main.words
    assert main.words["crawler"] == whole.words["crawler"]
    assert [link.url for link in main.links] == [link.url for link in whole.links]
    only_menu = f"<body><nav><ul>{menu}</ul></nav></body>"
    assert parse(only_menu, main=True).words == parse(only_menu).words


def test_an_empty_page():
    page = parse("")
    assert (dict(page.words), page.links, page.fingerprint) == ({}, (), 0)
