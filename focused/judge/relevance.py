"""The definition of a topic as a value (seeds, samples, keywords, lexicons), parsed from text and
plain files; and the relevance of text to it: cosine of TF-IDF weights with the topic's vector, and
scores of links and URLs."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cache
from html import unescape
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from crawlmgr.text.similarity import DocumentFrequencies, Idf, heaviest, mean_vector, norm
from crawlmgr.text.tokens import Tokenizer, tokenize
from crawlmgr.web.encoding import decode
from crawlmgr.web.sitemap import parse_sitemap
from crawlmgr.web.url import canonical
from focused.judge.ontology import Ontology, OntologySimilarity, read_csv, read_turtle
from focused.pages import LazyList


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as every strategy sees it, without relevance labels for evaluation.

    `documents` are the texts of samples. `keywords` map words to weights in (0, 1], and so does
    `near` for words on pages that lead to relevant ones. `negative` words lower a page's score,
    `url_words` are searched for in URLs, tokenisation keeps `user_words` whole. A page is relevant
    from the similarity `threshold`; None: computed from the samples. `ontology` is as from
    `Ontology.as_json`, {} for none. `ontology_weight`, in [0, 1], is the weight of words that it
    relates to the topic's words. `marked` are pages that the operator marked in earlier runs:
    (words separated by spaces, whether on topic).
    """

    name: str
    seeds: tuple[str, ...]
    documents: tuple[str, ...] = ()
    keywords: Mapping[str, float] = field(default_factory=dict)
    near: Mapping[str, float] = field(default_factory=dict)
    negative: tuple[str, ...] = ()
    url_words: tuple[str, ...] = ()
    user_words: tuple[str, ...] = ()
    threshold: float | None = None
    ontology: Mapping[str, Any] = field(default_factory=dict)
    ontology_weight: float = 0.0
    marked: tuple[tuple[str, bool], ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Returns the topic as plain values, from which `from_json` restores it."""
        return {one.name: _plain(getattr(self, one.name)) for one in fields(self)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Topic:
        """Makes a topic from the values that `as_json` returned."""
        known: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.items()
        }
        return cls(**known)


def _plain(value: Any) -> Any:
    return (
        list(value)
        if isinstance(value, tuple)
        else dict(value)
        if isinstance(value, Mapping)
        else value
    )


class BadLine(NamedTuple):
    """A line of a list of seeds that cannot be taken: its number, from 1, its text, and why."""

    number: int
    text: str
    reason: str = "no URL"


_HEADS = frozenset("url urls address link href website site seed loc 网址 链接 地址 連結".split())
_OUTLINE = re.compile(r"<opml[\s>]", re.I)
_OUTLINES = re.compile(r"\b(?:htmlUrl|xmlUrl)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.I)
# what separates an address from something else, and no address of a browser contains as it is
_JOINED = re.compile(r"\s|;\s|,(?=https?://)|/[,;]|[,;]$|[|\"<>\\^`{}，。；、]", re.I)
_IN_BRACKETS = re.compile(r"<\s*(?=https?://)", re.I)
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff"


def read_seeds(lines: Iterable[str]) -> tuple[list[str], list[BadLine]]:
    """Reads seed URLs from the lines of a list, with `#` for comments. Returns the distinct
    canonical URLs in order, and the lines that cannot be taken.

    The list may also be a table (CSV, or separated by tabs or semicolons) with a column headed
    "url" or the like, an OPML file of feeds, or a sitemap. A line with several addresses gives all
    of them; a line that has something else beside an address is not taken, because a part of a note
    or name would become part of the address.
    """
    texts = list(lines)
    begin = next((text for text in texts if text.strip()), "").lstrip("\ufeff").lstrip()
    if begin.startswith("<") and not _IN_BRACKETS.match(begin):
        return _from_markup("\n".join(texts), begin)
    delimiter, column = _table(begin)
    found = _cells(texts, delimiter, column) if delimiter else enumerate(texts, start=1)
    seeds: dict[str, None] = {}
    bad: list[BadLine] = []
    for number, line in found:
        text = line.strip(_INVISIBLE).partition(" #")[0].strip().strip(_INVISIBLE)
        if not text or text.startswith("#"):
            continue
        try:
            seeds.update(dict.fromkeys(_addresses(text)))
        except ValueError:
            lacking = "://" not in text and "." in text and _is_address(f"http://{text}")
            bad.append(BadLine(number, text, *(["no http:// before it"] if lacking else [])))
    return list(seeds), bad


def _is_address(text: str) -> bool:
    try:
        return bool(_addresses(text))
    except ValueError:
        return False


def _addresses(text: str) -> list[str]:
    """Returns the canonical addresses of a line. Raises ValueError if it has anything else."""
    plain = text[1:-1].strip() if text[:1] + text[-1:] in ('""', "<>") else text
    parts = plain.split()
    if len(parts) > 1 and any("://" not in part for part in parts):
        raise ValueError("text beside an address")
    if any(_JOINED.search(part) for part in parts):
        raise ValueError("several things in one word")
    return [canonical(part) for part in parts]


def _table(head: str) -> tuple[str, int]:
    """Returns the delimiter of a table and the number of its column of addresses, from its first
    line; ("", 0) if that line is not the head of such a table."""
    for delimiter in "\t;,":
        names = [name.strip().strip('"').lower() for name in head.split(delimiter)]
        if len(names) > 1 and (wanted := [at for at, name in enumerate(names) if name in _HEADS]):
            return delimiter, wanted[0]
    return "", 0


def _cells(lines: list[str], delimiter: str, column: int) -> Iterator[tuple[int, str]]:
    """Yields number and cell of the column of each line after the head of a table; the whole line,
    which is no address, if it has no such cell."""
    rows = csv.reader(lines, delimiter=delimiter)
    for row in rows:
        if rows.line_num > 1 and any(row):
            cell = row[column] if column < len(row) else ""
            yield rows.line_num, cell if cell.strip() else delimiter.join(row)


def _from_markup(text: str, begin: str) -> tuple[list[str], list[BadLine]]:
    """Returns the addresses in an OPML file or a sitemap; its first line as one that cannot be
    taken if it is neither, or has none."""
    if _OUTLINE.search(text):
        found = [unescape(one or other) for one, other in _OUTLINES.findall(text)]
    else:
        sitemap = parse_sitemap(text.encode(), "http://list.invalid/")
        found = [entry.url for entry in sitemap.entries if "//list.invalid/" not in entry.url]
    seeds: dict[str, None] = {}
    for address in found:
        with suppress(ValueError):
            seeds[canonical(address)] = None
    return list(seeds), [] if seeds else [BadLine(1, begin.strip()[:80])]


def read_keywords(text: str) -> dict[str, float]:
    """Reads keywords separated by commas or lines, each with an optional weight in (0, 1], as in
    "网页, crawler=0.5". Returns the weights by word, 1 by default. Raises ValueError if a weight is
    invalid.
    """
    found: dict[str, float] = {}
    for entry in text.replace("，", ",").replace("\n", ",").split(","):
        word, _, weight = entry.partition("=")
        if word.strip():
            value = float(weight) if weight.strip() else 1.0
            if not 0 < value <= 1:
                raise ValueError(f"weight of {word.strip()} is {value:g}, not in (0, 1]")
            found[word.strip()] = value
    return found


DOCUMENT_SUFFIXES = frozenset((".txt", ".md", ""))
ONTOLOGY_SUFFIXES = frozenset((".ttl", ".csv"))


def read_text(path: Path) -> str:
    """Returns the text of a file in any character encoding that web pages use, with NUL characters
    removed."""
    return decode(path.read_bytes())[0].replace("\0", "")


def read_named_documents(path: Path) -> list[tuple[str, str]]:
    """Reads samples from a file, or from each text file in a folder, sorted by name. Returns pairs
    of file name and text; empty files are left out.
    """
    if path.is_dir():
        files = sorted(
            file
            for file in path.iterdir()
            if file.is_file() and file.suffix.lower() in DOCUMENT_SUFFIXES
        )
    else:
        files = [path]
    return [(file.name, text) for file in files if (text := read_text(file)).strip()]


def read_documents(path: Path) -> list[str]:
    """Returns the texts of the samples in a file or folder."""
    return [text for _, text in read_named_documents(path)]


def read_ontology(path: Path) -> Ontology:
    """Reads an ontology from a Turtle (.ttl) or CSV file, by its file extension. Raises ValueError
    with a one-line message."""
    try:
        return (
            read_turtle(path.read_bytes())
            if path.suffix.lower() == ".ttl"
            else read_csv(read_text(path))
        )
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None


def topic_from_files(
    name: str,
    seeds: Path,
    documents: Sequence[Path] = (),
    keywords: str = "",
    keywords_file: Path | None = None,
) -> tuple[Topic, list[BadLine]]:
    """Makes a topic from files: seeds, samples (`documents`: files or folders of text files), and
    keywords given as text and in a file. Returns the topic, and the lines of the seeds file that
    are not URLs. Raises ValueError if there is no seed.
    """
    urls, bad = read_seeds(read_text(seeds).splitlines())
    if not urls:
        raise ValueError(f"{seeds.name} has no URL to start from")
    words = read_keywords(keywords)
    if keywords_file is not None:
        words = {**read_keywords(read_text(keywords_file)), **words}
    texts = tuple(text for path in documents for text in read_documents(path))
    return Topic(name, tuple(urls), texts, words), bad


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


TOPIC_WORDS = 200


"""Number of words kept in the topic's vector."""


FREQUENT_WORDS = 150


"""Number of the samples' most frequent words with which the strategy `dolphin` compares anchor
texts: the size of f_kt of the Dolphin patent, which keeps 100 to 200."""


NEAR_SHARE = 0.6


"""Default weight of a word of the near-topic lexicon relative to a word of the topic, in the scores
of links by the strategy `dynamic_tunnel`."""


KNOWN_WORDS = 30


"""Number of the topic's heaviest words to which other words are compared through the ontology."""


FALLBACK_THRESHOLD = 0.1


"""The similarity from which a page counts as relevant before the pages of the run can be compared,
if the topic has no threshold of its own."""


_URL_TOKEN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")


class Contribution(NamedTuple):
    """A word and its contribution to the score; the contributions of all words sum to the score
    (before clipping at 0)."""

    word: str
    share: float


def url_tokens(url: str) -> list[str]:
    """Returns the words of a URL's host, path and query, split at anything but letters and at
    camelCase; lower case, in order."""
    parts = urlsplit(url)
    return words_in(f"{parts.hostname or ''} {parts.path} {parts.query}")


def words_in(part: str) -> list[str]:
    """Returns the words of a part of a URL, such as its file name or query, split like those of
    `url_tokens`."""
    return [token.lower() for token in _URL_TOKEN.findall(unquote(part))]


class Relevance:
    """Scores text against one topic, with document frequencies that grow with the crawl.

    The topic's vector is the mean of the TF-IDF vectors of its samples (each scaled to length 1),
    of which the 200 heaviest words are kept, without general ones. A keyword gets its own weight
    times the weight of the heaviest word; negative words get weights below zero. `learn` collects
    document frequencies; from time to time the collected ones replace those in use, and all
    weights are computed again. Scores computed before do not change."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.tokenizer = Tokenizer(topic.user_words)
        self._samples = [
            counts for text in topic.documents if (counts := Counter(self.tokenizer(text)))
        ]
        self._general = general().difference(self.tokenizer(" ".join(topic.keywords)))
        self._keywords = self._as_tokens(topic.keywords)
        self._near = self._as_tokens(topic.near)
        self._negative = set(self._as_tokens(dict.fromkeys(topic.negative, 1.0)))
        self._url_words = frozenset(word.lower() for word in topic.url_words)
        self._measure: OntologySimilarity | None = None
        if topic.ontology and topic.ontology_weight > 0:
            self._measure = OntologySimilarity(Ontology.from_json(topic.ontology), self.tokenizer)
        self._frequencies = DocumentFrequencies()
        for counts in self._samples:
            self._frequencies.add(counts)
        self._frequencies.update_idf()
        self.counts: Mapping[str, float] = self._topic_counts()
        self._weigh()

    @property
    def idf(self) -> Idf:
        """The inverse document frequencies that scores are computed with at present."""
        return self._frequencies.idf

    @property
    def samples(self) -> Sequence[Mapping[str, float]]:
        """The topic's sample texts as word counts; for a topic without samples, one text made of
        its keywords."""
        return self._samples or [self.counts]

    @property
    def marked(self) -> Sequence[tuple[Mapping[str, float], bool]]:
        """The pages that the operator marked in earlier runs: pairs of word counts and whether the
        page is relevant."""
        return [(Counter(words.split(" ")), on_topic) for words, on_topic in self.topic.marked]

    @property
    def vector(self) -> Mapping[str, float]:
        """The topic's words with their weights; weights of negative words are below zero."""
        return self._vector

    @property
    def threshold(self) -> float:
        """The threshold tau: a page is relevant if its similarity is at least this. It is the
        topic's own; without one it only serves until enough pages are known (see `judge.Judge`).
        """
        return FALLBACK_THRESHOLD if self.topic.threshold is None else self.topic.threshold

    @property
    def words(self) -> frozenset[str]:
        """The words of the topic's vector, without negative ones."""
        return frozenset(word for word, weight in self._vector.items() if weight > 0)

    def learn(self, words: Iterable[str]) -> bool:
        """Adds a fetched page's words to the document counts. Returns True if they changed enough
        since the last update that the document frequencies and all weights were computed again."""
        if not self._frequencies.add(words):
            return False
        self._weigh()
        return True

    def settle(self) -> None:
        """Renews the document frequencies immediately, from all pages learned so far, and computes
        all weights again."""
        self._frequencies.update_idf()
        self._weigh()

    def restore(self, frozen: Idf) -> None:
        """Sets the document frequencies to `frozen`, as they were stored after a renewal, and
        computes all weights from them."""
        self._frequencies.restore(frozen)
        self._weigh()

    def page(self, counts: Mapping[str, float]) -> float:
        """Returns Sim(P, T), the similarity in [0, 1] of a text, given as word counts, to the
        topic: eq. (1) and (2) of the tunnelling paper. With an ontology, words similar to the
        topic's words count as well (see `alike`).
        """
        if self._measure is not None:
            return self._softly(counts)
        if self._vector.keys().isdisjoint(counts):
            return 0.0
        return self._against(self._vector, self._norm, counts)

    def text(self, words: Sequence[str]) -> float:
        """Returns the similarity in [0, 1] of a list of words, such as an anchor's, to the topic
        (see `page`)."""
        words = words.words if isinstance(words, LazyList) else tuple(words)
        if self._measure is None and self._vector.keys().isdisjoint(words):
            return 0.0
        counts: dict[str, float] = {}
        for word in words:
            counts[word] = counts.get(word, 0) + 1
        return (
            self._softly(counts)
            if self._measure is not None
            else self._against(self._vector, self._norm, counts)
        )

    def alike(self, word: str) -> float:
        """Returns the weight of a word that is not among the topic's words; 0 without an ontology
        or if it does not contain the word. The weight is ontology_weight times the greatest s(word,
        t) * weight(t), where t are the KNOWN_WORDS heaviest topic words in the ontology and s is
        that of eq. (10) of the ant colony paper."""
        if self._measure is None or word not in self._measure.words:
            return 0.0
        found = self._alike.get(word)
        if found is None:
            best = max(
                (self._measure(word, known) * self._vector[known] for known in self._known),
                default=0.0,
            )
            found = self._alike[word] = self.topic.ontology_weight * best
        return found

    def near(self, counts: Mapping[str, float]) -> float:
        """Returns the similarity of a text, given as word counts, to the near-topic lexicon, in [0,
        1]; 0 if the topic has none.
        """
        return self._against(self._near_vector, self._near_norm, counts) if counts else 0.0

    def url(self, url: str) -> float:
        """Returns R_url of eq. (3) of the tunnelling paper: 1 if the URL contains one of the
        topic's URL words, else 0."""
        return 1.0 if self._url_words and not self._url_words.isdisjoint(url_tokens(url)) else 0.0

    def explain(self, counts: Mapping[str, float], top: int = 20) -> list[Contribution]:
        """Returns up to `top` words with their contributions to `page(counts)`, those with the
        largest absolute values first; contributions may be negative."""
        weights = self.idf.weigh(counts)
        length = self._norm * norm(weights)
        values = {word: self._vector.get(word) or self.alike(word) for word in weights}
        shares = [
            Contribution(word, w * values[word] / length)
            for word, w in weights.items()
            if values[word]
        ]
        return sorted(shares, key=lambda c: (-abs(c.share), c.word))[:top]

    def _softly(self, counts: Mapping[str, float]) -> float:
        product = squares = 0.0
        for word, count in counts.items():
            weight = self._weights.get(word)
            if weight is None:
                weight = self._weights[word] = self.idf(word)
            weight *= count
            squares += weight * weight
            product += weight * (self._vector.get(word) or self.alike(word))
        return min(1.0, product / (self._norm * sqrt(squares))) if product > 0 else 0.0

    def _against(
        self, vector: Mapping[str, float], length: float, counts: Mapping[str, float]
    ) -> float:
        weights, idf = self._weights, self.idf
        product = 0.0
        squares = 0.0
        for word, count in counts.items():
            weight = weights.get(word)
            if weight is None:
                weight = weights[word] = idf(word)
            weight *= count
            squares += weight * weight
            if word in vector:
                product += weight * vector[word]
        return min(1.0, product / (length * sqrt(squares))) if product > 0 else 0.0

    def _as_tokens(self, weights: Mapping[str, float]) -> dict[str, float]:
        found: dict[str, float] = {}
        for phrase, weight in weights.items():
            for word in self.tokenizer(phrase):
                found[word] = max(weight, found.get(word, 0.0))
        return found

    def _topic_counts(self) -> Mapping[str, float]:
        total: Counter[str] = Counter()
        for counts in self._samples:
            total.update(counts)
        return heaviest(total, FREQUENT_WORDS) if total else dict(self._keywords)

    def _weigh(self) -> None:
        self._weights: dict[
            str, float
        ] = {}  # idf of words, cached until all weights are computed again
        samples = [_unit(self.idf.weigh(counts)) for counts in self._samples]
        mean = mean_vector(samples)
        special = {word: weight for word, weight in mean.items() if word not in self._general}
        vector = heaviest(special or mean, TOPIC_WORDS)
        self.top = top = max(vector.values(), default=0.0) or 1.0
        for word, weight in self._keywords.items():
            vector[word] = weight * top
        for word in self._negative:
            vector[word] = -top
        self._vector = vector
        self._alike: dict[str, float] = {}
        if self._measure is not None:
            own = heaviest(
                {word: weight for word, weight in vector.items() if weight > 0}, len(vector)
            )
            self._known = [word for word in own if word in self._measure.words][:KNOWN_WORDS]
        self._norm = norm(vector)
        self._near_vector = self.idf.weigh(self._near)
        self._near_norm = norm(self._near_vector)


def _unit(vector: Mapping[str, float]) -> dict[str, float]:
    length = norm(vector)
    return {word: weight / length for word, weight in vector.items()}
