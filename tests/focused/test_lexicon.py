"""Tests the rules by which a page counts as a host page, and the extraction of lexicons from host
pages."""

from collections import Counter

import pytest

from focused.pages import Content, Link, Page
from focused.topic.lexicon import host_page_refusal, host_pages, near_lexicon, topic_lexicon


@pytest.mark.parametrize(
    ("url", "anchor", "in_links", "refusal"),
    [
        ("http://h.example/", "体育", 3, None),
        ("http://h.example/sports/", "Sports", 3, None),
        ("http://h.example/sports/index.html", "Sports", 5, None),
        ("http://h.example/Default.aspx", "Home", 3, None),
        ("http://h.example/sports/news.html", "Sports", 9, "path"),
        ("http://h.example/indexes.html", "Sports", 9, "path"),
        ("http://h.example/", "体育", 2, "in_links"),
        ("http://h.example/", "一二三四五六七八九十一二", 3, None),
        ("http://h.example/", "一二三四五六七八九十一二三", 3, "anchor_length"),
        ("http://h.example/", "x" * 30, 3, None),
        ("http://h.example/", "x" * 31, 3, "anchor_length"),
        ("http://h.example/p2/", "下一页", 3, "paging"),
        ("http://h.example/p2/", "更多新闻", 3, "paging"),
        ("http://h.example/p2/", "Read more", 3, "paging"),
        ("http://h.example/p2/", "Furthermore", 3, None),
        ("http://h.example/" + "a" * 62 + "/", "a", 3, None),
        ("http://h.example/" + "a" * 63 + "/", "a", 3, "url_length"),
        ("http://h.example/a/b/c/d/", "a", 3, None),
        ("http://h.example/a/b/c/d/e/", "a", 3, "depth"),
    ],
)
def test_host_page_rules(url, anchor, in_links, refusal):
    assert host_page_refusal(url, anchor, in_links) == refusal


def page(name, words="", links=(), relevant=False):
    found = tuple(Link(f"http://h.example/{target}", anchor, (), {}) for target, anchor in links)
    return Page(
        f"http://h.example/{name}",
        0,
        Content(f"http://h.example/{name}", name, Counter(words.split()), found, 0),
        0.0,
        relevant,
    )


def test_host_pages_of_a_run_by_their_in_links():
    pages = [page("", links=[])] + [
        page(f"p{i}.html", links=[("", "Home" * (i + 1)), ("x/", "x")]) for i in range(3)
    ]
    (found,) = host_pages(pages)
    assert (found.url, found.anchor, found.in_links) == ("http://h.example/", "Home", 3)


def test_topic_lexicon_merges_pages():
    words = topic_lexicon(
        ["主题爬虫采集主题网页，主题网页聚集", "爬虫采集网页，网页之间有隧道"], top=5
    )
    assert len(words) == 5
    assert max(words.values()) == 1.0
    assert {"网页", "主题"} <= set(words)


def test_near_lexicon_by_hand():
    pages = [
        page("hit", "crawler", relevant=True),
        page("parent", "college news menu crawler", [("hit", "")]),
        page("grandparent", "college menu", [("parent", "")]),
        page("elsewhere", "menu soup", [("soup", "")]),
        page("soup", "soup"),
    ]
    words = near_lexicon(pages, {"crawler": 1.0})
    # weight: share of the pages leading to "hit" (parent, grandparent) with the word, minus that of
    # the others
    assert words == {"college": 1.0, "menu": 0.5, "news": 0.5}
    assert near_lexicon([page("soup", "soup")], {}) == {}
