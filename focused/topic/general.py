"""General words: they occur in texts on any subject, so that they are no words of a topic. Stop
words are left out before."""

from __future__ import annotations

from functools import cache

from crawlmgr.text.tokens import tokenize

_ENGLISH = """
accept achieve add affect agree aim allow answer appear apply ask avoid bad based become begin
believe best better big bring build buy call care carry case cause certain change check choose
choice clear close common complete consider contain continue correct cover create day deal decide
decision depend describe detail determine develop difference different difficult discuss easy
effect end ensure example exist expect explain fact fail feel find fit follow form full general
good great group grow handle happen hard hear help high hold idea important improve include
increase interest involve issue job kind know large lead learn leave left level life like line
list little live long look lose lot low main manage matter mean meet mention mind move name
necessary need new note number occur offer old open order part particular pass pay people perhaps
person place plan play point possible prefer prepare present prevent problem produce prove provide
purpose question quick reach read ready real reason receive recent reduce refer remain remember
remove require rest result right run see select sense separate serve set short show side similar
simple single small special stand start state stay step stop strong suggest support sure tell term
thing think time tool top try turn type understand use useful user usual value various view wait
walk want way week whole wide win wish work world write wrong year
"""
_CHINESE = """
需要 决定 看 看到 看见 认为 知道 觉得 使用 进行 成为 作为 表示 显示 提供 包括 包含 考虑 选择
要求 帮助 帮 了解 发现 开始 结束 继续 得到 出现 发生 产生 存在 属于 想 想要 希望 喜欢 说明
介绍 问题 情况 方法 方式 方面 东西 事情 时间 时候 地方 部分 结果 原因 例子 内容 工作 生活 今天
明天 现在 以后 以前 重要 主要 一般 简单 复杂 容易 困难 不同 相同 新 旧 大 小 好 坏 高 低 长
短 快 慢 找 找到 用 做 写 读 走 来 去 放 拿 给 告诉 回答 保持 增加 减少 提高
"""


@cache
def general() -> frozenset[str]:
    """Returns the general words as `tokens.tokenize` returns them."""
    return frozenset(tokenize(f"{_ENGLISH} {_CHINESE}"))


def is_general(word: str) -> bool:
    """Tells whether a word as it is written, in any inflected form, is a general one.

    >>> is_general("decides"), is_general("needed"), is_general("apiary")
    (True, True, False)
    """
    words = tokenize(word)
    return bool(words) and general().issuperset(words)
