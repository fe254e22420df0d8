"""The records of the local web of search forms: invented texts over a vocabulary with Zipf
frequencies, with authors, genres, places, dates and prices.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np

_ONSETS = (
    "b",
    "br",
    "c",
    "ch",
    "d",
    "dr",
    "f",
    "g",
    "gr",
    "h",
    "k",
    "l",
    "m",
    "n",
    "p",
    "pl",
    "r",
    "s",
    "st",
    "t",
    "tr",
    "v",
    "w",
)
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
_ENDS = ("", "n", "r", "l", "st", "nd", "m", "ck", "sh", "t")
_HAN = (
    "山水风云春秋花月日夜江河湖海天地人心书画诗歌历史文化城市道路桥梁森林田野农村工业科学技术语言教育音乐舞蹈建筑园林动物植物"
    "医药健康经济贸易法律社会家庭儿童青年老年军事航空船舶铁道汽车电力通信网络数据图像声音材料金属石油煤炭水利气象地震环境"
)
_REAL = (
    "time world water house history book light city music art work library garden river stone"
    " winter market bridge summer castle road school church island mountain forest family letter"
    " journey war peace king queen ship harbour village valley field farm iron gold silver paper"
    " glass wood wool cotton bread wine salt fish horse bird tree flower rain snow wind fire night"
    " morning spring autumn north voyage trade money law state people child woman master servant"
    " doctor engine wheel machine power science nature earth star moon sun sea coast desert lake"
    " hill tower wall gate street square station railway theatre dance song voice image colour"
    " black white green red blue small great old young early modern ancient common public private"
    " new first last"
).split()
_GENRES = ("novel", "atlas", "diary", "manual", "poems", "letters", "catalogue", "report")
_PLACES = ("north", "south", "east", "west", "coast", "hills")
_FIRST = (
    "Anna",
    "Bertold",
    "Chen",
    "Dmitri",
    "Elif",
    "Farid",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Keiko",
    "Lars",
    "Mina",
    "Nadia",
)
_LAST = (
    "Berg",
    "Huang",
    "Wei",
    "Orlov",
    "Kaya",
    "Haddad",
    "Lind",
    "Moreau",
    "Silva",
    "Novak",
    "Tanaka",
    "Weber",
    "Rossi",
    "Okafor",
)
VOCABULARY = 4_000
TOPICS = 8


@dataclass(frozen=True, slots=True)
class Record:
    """One record; `fields` are all fields shown on its detail page, `number` is its position from
    1."""

    number: int
    fields: dict[str, Any]

    @property
    def title(self) -> str:
        return str(self.fields["title"])

    def searched(self, title_only: bool = False) -> str:
        """Returns the text that words in the search box are matched against, in lower case: title
        and text, or the title only."""
        return (self.title if title_only else f"{self.title} {self.fields['text']}").lower()


def records_of(count: int, seed: int, language: str = "en") -> list[Record]:
    """Generates `count` random records, which are determined by count, seed and language."""
    rng = np.random.default_rng([seed, count])
    words = _chinese(rng) if language == "zh" else _words(rng)
    common = 1.0 / (np.arange(len(words)) + 2.7)
    orders = [rng.permutation(len(words)) for _ in range(TOPICS)]
    authors = [
        f"{_FIRST[a]} {_LAST[b]}"
        for a, b in zip(
            rng.integers(len(_FIRST), size=120), rng.integers(len(_LAST), size=120), strict=True
        )
    ]
    genres = rng.choice(len(_GENRES), size=count, p=_uneven(len(_GENRES)))
    places = rng.choice(len(_PLACES), size=count, p=_uneven(len(_PLACES)))
    joint = " " if language != "zh" else ""
    found = []
    for number in range(1, count + 1):
        topic = orders[int(rng.integers(TOPICS))]
        size = int(rng.integers(3, 6)), int(rng.integers(10, 30))
        drawn = rng.choice(len(words), size=sum(size), p=common / common.sum())
        own = rng.random(len(drawn)) < 0.4
        said = [
            words[int(topic[place])] if mine else words[int(place)]
            for place, mine in zip(drawn, own, strict=True)
        ]
        day = date(2024, 12, 31) - timedelta(days=int(min(3600, rng.exponential(700))))
        found.append(
            Record(
                number,
                {
                    "title": joint.join(said[: size[0]]).capitalize(),
                    "author": authors[int(min(len(authors) - 1, rng.exponential(30)))],
                    "genre": _GENRES[int(genres[number - 1])],
                    "place": _PLACES[int(places[number - 1])],
                    "year": int(2024 - min(120, rng.exponential(18))),
                    "date": day.isoformat(),
                    "price": int(np.exp(rng.normal(4.5, 1.0))) + 1,
                    "text": joint.join(said[size[0] :]),
                },
            )
        )
    return found


def _uneven(count: int) -> np.ndarray:
    weights = 1.0 / (np.arange(count) + 1.5)
    return weights / weights.sum()


def _words(rng: np.random.Generator) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < VOCABULARY - len(_REAL):
        parts = int(rng.integers(1, 4))
        word = "".join(
            str(rng.choice(_ONSETS)) + str(rng.choice(_VOWELS)) for _ in range(parts)
        ) + str(rng.choice(_ENDS))
        if len(word) > 2:
            found[word] = None
    invented = [word for word in found if word not in _REAL]
    # The most frequent words are a random mixture of the real words and three times as many
    # invented ones.
    early = rng.permutation([*_REAL, *invented[: 3 * len(_REAL)]]).tolist()
    return [*early, *invented[3 * len(_REAL) :]]


def _chinese(rng: np.random.Generator) -> list[str]:
    pairs = {a + b for a in _HAN for b in _HAN[::7] if a != b}
    return [str(word) for word in rng.permutation(sorted(pairs))[: VOCABULARY // 2]]
