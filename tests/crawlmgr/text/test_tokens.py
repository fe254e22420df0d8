"""Tokenisation: order of normalisation steps, which words are kept or left out, both segmenters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlmgr.text.tokens import _WORD, Tokenizer, _ascii_words, jieba_with, normalise, tokenize


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("ＡＢＣ　１２３", "abc 123"),
        ("主題爬蟲", "主题爬虫"),
        ("萬維網(wǎng)爬蟲", "万维网爬虫"),
        ("萬維網（wǎng）", "万维网"),
        ("函数(int)返回", "函数(int)返回"),
        ("爬\u200b虫\ufeff", "爬虫"),
        ("ﬁle Ⅳ", "file iv"),
        ("", ""),
    ],
)
def test_normalise(raw, plain):
    assert normalise(raw) == plain


def test_traditional_and_simplified_give_the_same_words():
    traditional = "互聯網網頁的聚集特性表明主題頁面容易聚集出現"
    simplified = "互联网网页的聚集特性表明主题页面容易聚集出现"
    assert tokenize(traditional) == tokenize(simplified)
    assert "主题" in tokenize(traditional)


def test_english_stems_and_stop_words():
    assert tokenize("The crawlers were crawling the crawled pages") == [
        "crawler",
        "crawl",
        "crawl",
        "page",
    ]


def test_contractions_numbers_and_single_letters():
    text = "Don't use x or 1996: the teacher's C++ and C# notes, cs611"
    assert tokenize(text) == ["use", "teacher", "c++", "c#", "note", "cs611"]
    assert Tokenizer(numbers=True)("room 4105") == ["room", "4105"]


def test_compounds_are_split_alike_whatever_the_segmenter_keeps():
    assert tokenize("TF-IDF 权重") == ["tf", "idf", "权重"]
    assert tokenize("index.html user_name") == ["index", "user", "name"]


def test_single_chinese_characters_stay_unless_they_are_stop_words():
    assert tokenize("运行宏") == ["运行", "宏"]
    assert tokenize("我的书") == ["书"]


def test_user_words_are_kept_whole():
    text = "这台云计算机使用孤岛爬虫算法和 node.js"
    assert "孤岛爬虫算法" not in tokenize(text)
    words = Tokenizer(["孤島爬蟲算法", "Node.js"])(text)
    assert "孤岛爬虫算法" in words
    assert "node.js" in words


def test_user_words_may_be_stop_words_or_single_letters():
    assert Tokenizer(["r", "the"])("the r language") == ["the", "r", "languag"]


def test_stop_words_and_stems_can_be_turned_off():
    assert Tokenizer(stop_words=(), stem=False)("the crawlers") == ["the", "crawlers"]


def test_rjieba_agrees_with_jieba_on_plain_text():
    text = normalise(
        "主题爬虫的目标是获取与体育主题相关的网页内容，那么一些体育高校的主页可能是很有价值的。"
        "您可以在变量声明的右边或其他通常需要使用数值的位置处使用函数，模块中通常包含过程和函数。"
        "TF-IDF 与 3.14 不同。"
    )
    reference = Tokenizer(
        ["从不出现的词语组合"]
    )  # with user words, the tokenizer uses jieba instead of rjieba
    assert tokenize(text) == reference(text)


def test_a_tokenizer_of_ones_own_leaves_the_others_alone():
    assert "甲乙丙丁戊己" in jieba_with(["甲乙丙丁戊己"]).lcut("这是甲乙丙丁戊己")
    assert "甲乙丙丁戊己" not in jieba_with([]).lcut("这是甲乙丙丁戊己")


@given(st.text())
def test_any_text_gives_clean_words_and_normalising_is_stable(text):
    words = tokenize(text)
    assert all(word and not any(c.isspace() for c in word) for word in words)
    assert tokenize(text) == words


@given(st.text(alphabet="网页爬虫的了我們電腦abc ，。", max_size=60))
def test_normalising_twice_changes_nothing(text):
    once = normalise(text)
    assert normalise(once) == once


@given(st.text(st.sampled_from("abz09 _'+#-.\n\t!"), max_size=30))
def test_plain_ascii_is_split_as_everything_else(text):
    assert _ascii_words(text) == _WORD.findall(text)
