"""Relevance to a topic: scores equal values computed by hand;
growing document frequencies; simplified and traditional Chinese; explanations of scores."""

from collections import Counter
from math import log, sqrt

import pytest

from crawlmgr.text.tokens import tokenize
from focused.judge.relevance import (
    FALLBACK_THRESHOLD,
    Relevance,
    Topic,
    read_keywords,
    read_seeds,
    url_tokens,
)

CHINESE = (
    "主题爬虫依据主题团的聚集特性对网页进行采集",
    "爬虫策略决定网页采集的次序，主题相关的网页优先",
)


def relevance(*documents, **changes):
    return Relevance(Topic("t", (), documents, **changes))


def test_similarity_by_hand():
    fit = relevance("crawler crawler page")
    # one sample: N = 1, df = 1 for its words: idf = ln(2/2) + 1 = 1; unseen words have ln 2 + 1
    unseen = log(2) + 1
    expected = 2 / (sqrt(5) * sqrt(1 + unseen**2))
    assert fit.page({"crawler": 1, "soup": 1}) == pytest.approx(expected)
    assert fit.text(["crawler", "soup"]) == pytest.approx(expected)
    assert fit.page({"soup": 3}) == 0
    assert fit.page({}) == fit.text([]) == 0
    assert fit.page({"crawler": 2, "page": 1}) == pytest.approx(1)


def test_keywords_weigh_against_the_heaviest_word_and_negative_words_pull_down():
    fit = relevance(
        "crawler crawler page", keywords={"harvest": 0.5, "page": 1.0}, negative=("soup",)
    )
    heaviest = 2 / sqrt(5)
    assert fit.vector == pytest.approx(
        {"crawler": heaviest, "page": heaviest, "harvest": heaviest / 2, "soup": -heaviest}
    )
    assert "soup" not in fit.words
    assert fit.page({"crawler": 1, "soup": 1}) < fit.page({"crawler": 1, "tomato": 1})
    assert fit.page({"soup": 1}) == 0


def test_a_topic_of_keywords_only():
    fit = relevance(keywords={"主題": 1.0, "crawlers": 0.5})
    assert fit.counts == {"主题": 1.0, "crawler": 0.5}
    assert fit.page({"主题": 1}) == pytest.approx(1 / sqrt(1.25))
    assert fit.threshold == FALLBACK_THRESHOLD
    assert relevance("crawler page", "crawler", threshold=0.42).threshold == 0.42


def test_learning_changes_weights_only_now_and_then():
    fit = relevance("crawler page")
    before = fit.page({"crawler": 1, "page": 1, "site": 1})
    learned = [fit.learn(["site", "crawler"]) for _ in range(25)]
    assert learned == [False] * 24 + [True]
    assert fit.page({"crawler": 1, "page": 1, "site": 1}) != before
    assert fit.idf("site") < fit.idf("page")
    fit.learn(["page"])
    assert fit.idf.documents == 26
    fit.settle()
    assert fit.idf.documents == 27


def test_traditional_pages_score_like_simplified_ones():
    fit = relevance(*CHINESE)
    simplified = "主题爬虫采集网页的策略"
    traditional = "主題爬蟲採集網頁的策略"
    assert fit.text(tokenize(traditional)) == fit.text(tokenize(simplified)) > 0.2


def test_user_words_stay_whole():
    fit = relevance("孤岛爬虫算法穿过隧道", user_words=("孤岛爬虫算法",))
    assert "孤岛爬虫算法" in fit.vector


def test_the_reason_adds_up_to_the_score():
    fit = relevance("crawler page topic", "crawler link", negative=("soup",))
    counts = Counter(["crawler", "crawler", "page", "page", "soup", "garden"])
    parts = fit.explain(counts)
    assert sum(part.share for part in parts) == pytest.approx(fit.page(counts))
    assert {part.word for part in parts} == {"crawler", "page", "soup"}
    assert next(part for part in parts if part.word == "soup").share < 0
    assert abs(parts[0].share) >= abs(parts[-1].share)
    assert len(fit.explain(counts, top=1)) == 1


def test_urls_are_read_as_words():
    assert url_tokens("https://sports.ifeng.com/newsItem/2020/nba-final_HTML5?teamId=3") == [
        "sports",
        "ifeng",
        "com",
        "news",
        "item",
        "nba",
        "final",
        "html",
        "team",
        "id",
    ]
    assert url_tokens("http://h.example/%E4%BD%93%E8%82%B2/") == ["h", "example", "体育"]
    fit = relevance("x", url_words=("Sports", "体育"))
    assert fit.url("https://sports.example/") == 1.0
    assert fit.url("http://h.example/%E4%BD%93%E8%82%B2/") == 1.0
    assert fit.url("https://sportswear.example/") == 0.0


def test_seeds_files_report_bad_lines_and_go_on():
    lines = [
        "# my seeds",
        "",
        "HTTP://Site.example:80/a/../b#top  # the entrance",
        "http://site.example/b",
        "ftp://x/",
        "nonsense",
        "c.example/board",
    ]
    seeds, bad = read_seeds(lines)
    assert seeds == ["http://site.example/b"]
    assert bad == [
        (5, "ftp://x/", "no URL"),
        (6, "nonsense", "no URL"),
        (7, "c.example/board", "no http:// before it"),
    ]


@pytest.mark.parametrize(
    ("lines", "seeds", "bad"),
    [
        (["http://h.example/ ; note", "http://a.example/,Lamps"], [], [1, 2]),
        (["Lamps http://l.example/", "http://l.example/\tLamps"], [], [1, 2]),
        (["http://j.example/\thttp://k.example/"], ["http://j.example/", "http://k.example/"], []),
        (["http://j.example/,http://k.example/"], [], [1]),
        (
            ['"http://e.example/q,r"', "http://s.example/a-1,00.html"],
            ["http://e.example/q,r", "http://s.example/a-1,00.html"],
            [],
        ),
        (
            ["name,url", "Lamps,http://l.example/", '"a, b",http://m.example/'],
            ["http://l.example/", "http://m.example/"],
            [],
        ),
        (["网址;说明", "http://l.example/;灯", "ftp://x/;y"], ["http://l.example/"], [3]),
        (["url\tnote", "\tLamps", ""], [], [2]),
        (["\ufeffhttp://a.example/"], ["http://a.example/"], []),
        (
            ['<opml><body><outline xmlUrl="http://n.example/f?a=1&amp;b=2"/></body></opml>'],
            ["http://n.example/f?a=1&b=2"],
            [],
        ),
        (
            ["<?xml version='1.0'?>", "<urlset><url><loc>http://p.example/1</loc></url></urlset>"],
            ["http://p.example/1"],
            [],
        ),
        (["<html><body>http://p.example/1</body></html>"], [], [1]),
        (["http://a.example/|Lamps", "http://a.example/|http://b.example/"], [], [1, 2]),
        (
            ["http://a.example/，灯", "http://a.example/。", "http://a.example/{page}"],
            [],
            [1, 2, 3],
        ),
        (
            ["<http://a.example/>", "< http://b.example/x >"],
            ["http://a.example/", "http://b.example/x"],
            [],
        ),
        (
            ["http://a.example/\u200b", "\u2060http://b.example/ # x"],
            ["http://a.example/", "http://b.example/"],
            [],
        ),
        (
            ["http://zh.example/水星（星球）"],
            ["http://zh.example/%E6%B0%B4%E6%98%9F%EF%BC%88%E6%98%9F%E7%90%83%EF%BC%89"],
            [],
        ),
    ],
)
def test_lists_of_other_forms_are_read_or_refused_line_by_line(lines, seeds, bad):
    found, wrong = read_seeds(lines)
    assert found == seeds and [line.number for line in wrong] == bad


def test_keywords_with_weights():
    assert read_keywords("网页， crawler=0.5\n office hours,") == {
        "网页": 1.0,
        "crawler": 0.5,
        "office hours": 1.0,
    }
    for wrong in ("a=2", "a=0", "a=nan"):
        with pytest.raises(ValueError, match="not in"):
            read_keywords(wrong)


@pytest.mark.parametrize("general", ["needs", "decides", "see", "决定", "问题"])
def test_general_words_are_no_words_of_a_topic_unless_it_names_them(general: str) -> None:
    text = f"crawler {general} crawler {general} {general} frontier"
    stem = tokenize(general)[0]
    assert stem not in relevance(text).words and "crawler" in relevance(text).words
    assert stem in relevance(text, keywords={general: 0.5}).words
    assert stem in relevance(f"{general} {general}").words, "a sample of nothing else has them"


def test_a_keyword_has_the_weight_that_the_operator_gave() -> None:
    fit = relevance("crawler crawler frontier", keywords={"crawler": 0.25, "queue": 0.75})
    found = {word: weight / fit.top for word, weight in fit.vector.items()}
    assert found["crawler"] == 0.25 and found["queue"] == 0.75
