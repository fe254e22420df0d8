"""TextRank on normalised text in both languages, and the merged list of several pages."""

import pytest

from crawlmgr.text.tokens import keywords, merge

TRADITIONAL = (
    "主題爬蟲依據主題團的聚集特性對網頁進行採集。主題爬蟲採集主題相關網頁，網頁之間有隧道，"
    "隧道連接主題孤島。"
)
SIMPLIFIED = (
    "主题爬虫依据主题团的聚集特性对网页进行采集。主题爬虫采集主题相关网页，网页之间有隧道，"
    "隧道连接主题孤岛。"
)


def test_chinese_keywords_lead_with_the_subject_in_either_script():
    words = keywords(SIMPLIFIED, top=5)
    assert next(iter(words)) == "主题"
    assert words["主题"] == 1.0
    assert "网页" in words
    assert keywords(TRADITIONAL, top=5) == words


def test_english_keywords_are_whole_words_without_stop_words():
    text = (
        "A focused crawler fetches pages on a topic. The crawlers follow links; crawlers rank the"
        " links of pages."
    )
    words = keywords(text, top=4)
    assert {"crawlers", "pages", "links"} <= set(
        words
    )  # crawler and crawlers are one entry, in the more frequent form
    assert "crawler" not in words
    assert "the" not in words
    assert list(words.values()) == sorted(words.values(), reverse=True)


def test_parts_of_speech_can_be_chosen():
    assert "crawler" not in keywords("crawler crawler page", parts_of_speech=("n",))
    assert keywords("") == {}


def test_merge_adds_the_shares_of_each_page():
    merged = merge([{"a": 1.0, "b": 1.0}, {"a": 0.2, "c": 0.6}])
    # a: 1/2 + 1/4, b: 1/2, c: 3/4; the highest is scaled to 1, ties are in alphabetical order
    assert list(merged) == ["a", "c", "b"]
    assert merged == pytest.approx({"a": 1.0, "c": 1.0, "b": 2 / 3})
    assert list(merge([{"a": 1.0, "b": 0.5}], top=1)) == ["a"]
    assert merge([]) == {}


def test_merge_takes_forms_of_one_word_together():
    merged = merge([{"crawlers": 1.0}, {"crawler": 1.0, "page": 1.0}])
    assert merged == pytest.approx({"crawlers": 1.0, "page": 1 / 3})


def test_studies_and_relevance_are_shown_as_they_are_written():
    words = keywords(
        "Studies of relevance. Relevance of studies; many studies rank relevance.", top=2
    )
    assert set(words) == {"studies", "relevance"}
