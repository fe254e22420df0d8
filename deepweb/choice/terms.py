"""The terms that can be queried in a form: words for its text box, values of record fields for its
other inputs, choices of its selects; the first query words; and how texts are split into words."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from crawlmgr.text.stopwords import STOP_WORDS
from crawlmgr.text.tokens import HAN, normalise, segment
from deepweb.answers.result_list import is_passing
from deepweb.answers.retrieved import Query, Term
from deepweb.forms.templates import inputs_of, query_input
from deepweb.search_forms import Form

_WORD = re.compile(rf"[{HAN}]+|[^\W_{HAN}]+(?:['’-][^\W_{HAN}]+)*")


MAX_LENGTH = 40


def query_words(text: str) -> list[str]:
    """Returns the content words of `text` in order, lower case but never stemmed and never changed
    to another script.

    Chinese is segmented in its simplified form, and the words are then taken from the original
    text, because a site that writes traditional characters finds nothing for simplified ones. Left
    out: stop words, bare numbers, single Latin letters, words longer than 40 characters.

    >>> query_words("Running the crawlers 網頁")
    ['running', 'crawlers', '網頁']
    """
    plain = unicodedata.normalize("NFKC", text).lower()
    if not _HAS_HAN.search(plain):
        return [word for word in _WORD.findall(plain) if _tells(word, word)]
    simple = normalise(plain)
    if len(simple) != len(
        plain
    ):  # The conversion changed the number of characters, so that positions no longer correspond.
        plain = simple
    found = []
    start = 0
    for piece in segment(simple):
        for match in _WORD.finditer(piece):
            word = plain[start + match.start() : start + match.end()]
            if _tells(word, match.group()):
                found.append(word)
        start += len(piece)
    return found


def _tells(word: str, simplified: str) -> bool:
    if simplified in STOP_WORDS or len(word) > MAX_LENGTH or word.isdecimal():
        return False
    return len(word) > 1 or bool(_HAS_HAN.match(word))


def substring_words(text: str) -> list[str]:
    """Returns the single Chinese characters of a text, the pairs of neighbouring ones, and the
    words of `query_words` that are not Chinese; each once, in order.

    For sites with substring search (SQL's LIKE), where a pair of characters is found even across
    the boundaries of dictionary words.

    >>> substring_words("春江水 flows")
    ['春', '江', '水', '春江', '江水', 'flows']
    """
    plain = unicodedata.normalize("NFKC", text).lower()
    runs = _HAN_RUN.findall(plain)
    single = [character for run in runs for character in run]
    pairs = [run[place : place + 2] for run in runs for place in range(len(run) - 1)]
    others = [word for word in query_words(_HAN_RUN.sub(" ", plain)) if word]
    return list(dict.fromkeys(single + pairs + others))


MAX_TERMS = 400


MAX_VALUE = 60


_HAS_HAN = re.compile(f"[{HAN}]")


_HAN_RUN = re.compile(f"[{HAN}]+")


_NOT_LETTERS = re.compile(r"[\W_]+")


_COMMON = {
    "zh": (
        "人 山 水 图书馆 风 天 中国 历史 计算机 春 花 学 文 大 生活 城市 技术 研究 书 时间 世界"
        " 国家 博物馆 中国人 大学生"
    ),
    "ja": "日本 人 年 東京 大学 歴史 本 新 会社 研究 世界 音楽 文化 水 山",
    "ko": "한국 사람 대학 연구 역사 서울 문화 세계 시간 책",
    "ru": "человек время год жизнь мир история город книга вода работа дом наука",
    "de": "haus leben zeit stadt geschichte buch deutsch wasser jahr mensch arbeit welt neue",
    "fr": "vie temps maison histoire ville livre monde eau homme femme travail guerre nouveau",
    "es": "vida tiempo casa historia ciudad libro mundo agua hombre mujer trabajo guerra nuevo",
    "it": "vita tempo casa storia libro mondo acqua uomo donna lavoro guerra nuovo",
    "pt": "vida tempo casa história cidade livro mundo água homem mulher trabalho guerra novo",
    "nl": "leven tijd huis geschiedenis stad boek wereld water man vrouw werk oorlog nieuw",
    "pl": "życie czas dom historia miasto książka świat woda człowiek praca wojna",
    "en": (
        "time life world water house history book new data light man city music art work library"
        " system blue family love"
    ),
}


_ELSEWHERE = {
    "zh": "人 中国 历史 大",
    "ru": "год человек",
    "ja": "の 日本",
    "ko": "한국 사람",
    **{"de": "haus", "fr": "vie", "es": "vida", "it": "tempo", "pt": "livro", "nl": "tijd"},
    "pl": "czas",
}
"""Words by which a database is asked whether it has records in another language, too."""


_LAST_RESORT = ("the", "a", "1", "2020", "*")


class WordMode(StrEnum):
    """How a site matches records to a query word: the word must be a whole word of the record
    (WORDS), any part of its text (PARTS), or a whole run of text between punctuation (RUNS)."""

    WORDS = "words"
    PARTS = "parts"
    RUNS = "runs"


@dataclass(frozen=True, slots=True)
class Asking:
    """How the inputs of a form are filled in. `box` is the input for words ("" if there is none),
    `mode` how it matches them; `columns` names, for each other free input, the record fields whose
    values it takes; `choices` holds, for each select or group of radio buttons, the label of each
    value. `unsearched` are record fields in which the box was found not to search.
    """

    box: str
    mode: WordMode = WordMode.WORDS
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    choices: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    unsearched: frozenset[str] = frozenset()
    least: int = 1
    together: int = 1

    def words(self, text: str) -> list[str]:
        """Returns the words of a text by which the box should find it, none shorter than the site
        allows; if it wants several, each with those that follow it."""
        found = words_of(text, self.mode)
        if self.least > 2:
            runs = [run for run in _HAN_RUN.findall(text) if len(run) >= self.least]
            found += [
                run[at : at + self.least] for run in runs for at in range(len(run) - self.least + 1)
            ]
        if self.together > 1:
            return [" ".join(pair) for pair in itertools.pairwise(found)]
        return [word for word in found if len(word) >= self.least]

    def terms(
        self, fields: Mapping[str, Any], most: int = MAX_TERMS, where: dict[Term, str] | None = None
    ) -> list[Term]:
        """Returns up to `most` distinct terms by which the form should find a record with the
        fields `fields`. If `where` is given, each of these terms that is not in it yet is added,
        with the name of the record field that contains the term.
        """
        found: dict[Term, str] = {}
        for column, value in fields.items() if self.box else ():
            text = str(value)
            if self._is_searched(column, text):
                for word in self.words(text):
                    found.setdefault(Term(self.box, word), column)
        for name, columns in self.columns.items():
            for column in columns:
                if 0 < len(str(fields.get(column, ""))) <= MAX_VALUE:
                    found.setdefault(Term(name, str(fields[column]).strip()), column)
        for name, values in self.choices.items():
            said = {bare(str(value)) for value in fields.values() if len(str(value)) <= MAX_VALUE}
            found.update(
                (Term(name, value), name)
                for value, label in values.items()
                if said & {bare(value), bare(label)}
            )
        kept = list(found)[:most]
        if where is not None:
            for term in kept:
                where.setdefault(term, found[term])
        return kept

    def _is_searched(self, column: str, text: str) -> bool:
        return not (
            column in self.unsearched
            or text.startswith(("http://", "https://"))
            or is_passing(column, text)
        )

    def weights(self, fields: Mapping[str, Any], in_title: float) -> dict[Term, float]:
        """Returns for each word of a record (only of fields that the search input searches) its
        number of occurrences, those in the field "title" multiplied by `in_title`: the sums of K in
        eq. (1) of the deep-web paper.
        """
        found: dict[Term, float] = {}
        for column, value in fields.items():
            text = str(value)
            if not self._is_searched(column, text):
                continue
            for word in self.words(text):
                term = Term(self.box, word)
                found[term] = found.get(term, 0.0) + (in_title if column == "title" else 1.0)
        return found


def words_of(text: str, mode: WordMode) -> list[str]:
    """Returns the words by which a site with this matching mode should find a record that contains
    the text.

    >>> words_of("Red house", WordMode.WORDS)
    ['red', 'house']
    """
    if mode is WordMode.PARTS:
        return substring_words(text)
    if mode is WordMode.RUNS:
        return [run for run in _HAN_RUN.findall(text) if len(run) <= 20] + query_words(
            _HAN_RUN.sub(" ", text)
        )
    return query_words(text)


def has_han(text: str) -> bool:
    """Tells whether a text contains Chinese characters, for which the matching mode matters."""
    return bool(_HAS_HAN.search(text))


def asking_of(
    form: Form,
    columns: Sequence[str] = (),
    mode: WordMode = WordMode.WORDS,
    barred: frozenset[str] = frozenset(),
    unsearched: frozenset[str] = frozenset(),
    box: str = "",
    least: int = 1,
    together: int = 1,
) -> Asking:
    """Returns how to query a form of a site whose records have the fields `columns`. Inputs in
    `barred` are left out, because queries with them returned nothing. `box` names the text box for
    words if it is not the most likely one.

    `mode` is how the site matches words; `unsearched` are record fields that the text box does not
    search; `least` is the least length of a word, `together` the least number of words of a query.
    """
    inputs = [each for each in inputs_of(form) if each.name not in barred]
    words = next((each for each in inputs if each.name == box), None) or query_input(inputs)
    labels = {each.name: each for each in form.fields}
    free = {
        each.name: tuple(
            column
            for column in columns
            if bare(column) in {bare(each.name), bare(labels[each.name].label)}
        )
        for each in inputs
        if each.free and (words is None or each.name != words.name)
    }
    chosen = {
        each.name: {
            option.value: option.label
            for option in labels[each.name].options
            if option.value in each.values
        }
        for each in inputs
        if not each.free
    }
    return Asking(
        words.name if words else "",
        mode,
        {name: fits for name, fits in free.items() if fits},
        chosen,
        unsearched,
        least,
        together,
    )


def bare(text: str) -> str:
    """Returns a name without its case, spaces and punctuation, for comparison: "Year of issue" and
    "year_of_issue" become equal."""
    return _NOT_LETTERS.sub("", text.casefold())


def says(text: str, word: str, mode: WordMode) -> bool:
    """Tells whether a site with this matching mode would find a record that contains the text
    `text` by the query word `word`.

    >>> says("a party", "art", WordMode.WORDS), says("a party", "art", WordMode.PARTS)
    (False, True)
    """
    low, place = text.casefold(), -1
    if mode is WordMode.PARTS or has_han(word):
        return word in low
    while (place := low.find(word, place + 1)) >= 0:
        if (
            not low[place - 1 : place].isalnum()
            and not low[place + len(word) : place + len(word) + 1].isalnum()
        ):
            return True
    return False


def bindings(query: Query) -> dict[str, str]:
    """Returns the form inputs that a query sets, with their values; several words for one input are
    joined by spaces."""
    bound: dict[str, str] = {}
    for term in query:
        bound[term.input] = (
            f"{bound[term.input]} {term.value}" if term.input in bound else term.value
        )
    return bound


def language_of(text: str, declared: str = "") -> str:
    """Returns the two-letter code of the language whose words are queried first: the language of a
    script in which at least 2 % of the text's letters (or, if the page declares no language, at
    least four letters) are written; otherwise the declared language (`declared`), or English.

    >>> language_of("全文检索 select id from ci"), language_of("Suche", "de-DE")
    ('zh', 'de')
    >>> language_of("Search")
    'en'
    """
    letters = sum(letter.isalpha() for letter in text)
    for name, script in _SCRIPTS.items():
        count = len(script.findall(text))
        if count >= 0.02 * letters and count or count >= 4 and not declared:
            return name
    return declared[:2].lower() or "en"


_LATIN = re.compile("[A-Za-z]{3}")


_SCRIPTS = {
    "ja": re.compile("[\u3040-\u30ff]"),
    "ko": re.compile("[\uac00-\ud7af]"),
    "zh": re.compile(f"[{HAN}]"),
    "ru": re.compile("[\u0400-\u04ff]"),
}


def words_elsewhere(texts: Iterable[str], language: str) -> list[str]:
    """Returns words of other scripts and languages than those of the `texts` of known records and
    of the page's `language`, for records that no word of theirs finds."""
    whole = "\n".join(texts)
    found = [
        word
        for name, words in _ELSEWHERE.items()
        if name != language and not (name in _SCRIPTS and _SCRIPTS[name].search(whole))
        for word in words.split()
    ]
    return found if _LATIN.search(whole) else [*_COMMON["en"].split()[:3], *found]


def first_words(
    language: str, given: Sequence[str], of_cluster: Sequence[str], of_page: Sequence[str]
) -> list[str]:
    """Returns the first query words: the words `given` by the user; without these, common words of
    the language, alternating with words of the form's cluster (`of_cluster`) and of its page
    (`of_page`), then common English words and a few others ("the", "1", "*").

    For a language that is not written in Latin letters, only words in its own script are taken from
    the cluster and the page.
    """
    if given:
        return list(dict.fromkeys(word.strip() for word in given if word.strip()))
    common = _COMMON.get(language, _COMMON["en"]).split()
    own = [
        word
        for word in dict.fromkeys([*of_cluster, *of_page])
        if 1 < len(word) <= 12 or not word.isascii()
    ]
    if language in _SCRIPTS:
        own = [word for word in own if not word.isascii()]
    mixed = [word for pair in zip(common, own, strict=False) for word in pair]
    return list(
        dict.fromkeys([*mixed, *common, *own[:20], *_COMMON["en"].split()[:12], *_LAST_RESORT])
    )
