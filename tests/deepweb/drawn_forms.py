"""Forms of well-known software and of made-up sites as labelled forms for `deepweb train --more`,
in twelve languages: `python -m tests.deepweb.drawn_forms FILE.jsonl`."""

from __future__ import annotations

import functools
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).with_name("drawn")
FILES = ("accounts", "searches", "shops", "letters", "contacts", "others")
LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "ja", "zh", "tr")
SEED = 88_000
WEIGHT = 0.1
"""Weight of a drawn form beside forms of real pages: best of .05 to 1 on one half of the shared
domains, judged on the other."""
TURNS = 3
"""How often each form is drawn, each time in another language where it has several."""

_CHOICE = re.compile(r"\[\[((?:(?!\[\[|\]\]).)*)\]\]", re.S)
_KEY = re.compile(r"\{([a-z_]+)\}")
_TITLES = {
    "search": ("welcome", "results", "category", "advanced"),
    "login": ("login", "my_account", "welcome"),
    "registration": ("register", "my_account"),
    "newsletter": ("welcome", "newsletter", "category"),
    "contact": ("contact", "leave_comment", "welcome"),
    "password_recovery": ("recover", "my_account"),
    "order": ("add_cart", "cart", "category"),
    "other": ("welcome", "category", "settings", "results"),
}
_SITES = (
    "acme",
    "nordwind",
    "casabella",
    "bluebird",
    "opendata",
    "gardenia",
    "velotech",
    "stadtbote",
    "musica",
    "parkside",
    "linden",
    "artisan",
    "skyline",
    "vinyl",
    "fotolux",
    "medicus",
    "kidsworld",
    "fishing",
    "autohaus",
    "bookworm",
    "sportime",
    "wanderer",
)
_WORDS = (
    "news",
    "products",
    "about",
    "garden",
    "music",
    "travel",
    "cameras",
    "books",
    "shoes",
    "health",
    "football",
    "recipes",
    "software",
    "events",
    "history",
    "cars",
    "games",
    "art",
    "fashion",
    "science",
)
_PRODUCTS = (
    "Trail Shoe 7",
    "Oak Table Lund",
    "Canvas Bag",
    "USB Hub 4",
    "Green Tea 100 g",
    "Wool Scarf",
    "Desk Lamp Arc",
    "Blue Mug",
)
_LANGUAGE_NAMES = (
    "English",
    "Deutsch",
    "Français",
    "Español",
    "Italiano",
    "Русский",
    "中文",
    "Polski",
)
_COUNTRIES = (
    "Germany",
    "France",
    "Spain",
    "Italy",
    "United Kingdom",
    "United States",
    "Poland",
    "Japan",
)


class Pattern(NamedTuple):
    """Template of a form as a software writes it: form type, path of its page, classes around it,
    languages, and HTML with placeholders."""

    type: str
    software: str
    path: str
    around: str
    languages: tuple[str, ...]
    html: str


@functools.cache
def wordings() -> dict[str, dict[str, tuple[str, ...]]]:
    """Alternative wordings of the texts in words.txt: by key of the text, then by language."""
    found = {}
    for line in (FOLDER / "words.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            key, said = line.split(":", 1)
            columns = [
                tuple(text.strip() for text in column.split(";")) for column in said.split(" | ")
            ]
            found[key] = dict(zip(LANGUAGES, columns, strict=True))
    return found


def patterns() -> Iterator[Pattern]:
    """All patterns, in the order of their files."""
    for name in FILES:
        lines = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        for part in (
            "\n".join(line for line in lines if not line.startswith("#"))
            .removeprefix("== ")
            .split("\n== ")
        ):
            head, html = part.split("\n", 1)
            kind, software, path, around, *said = (column.strip() for column in head.split(" | "))
            yield Pattern(
                kind,
                software,
                path,
                around,
                tuple(said[0].split(",")) if said else LANGUAGES,
                html.strip(),
            )


class Drawer:
    """Replaces the placeholders in text patterns by random words and numbers, for one site in one
    language."""

    def __init__(self, seed: int, language: str) -> None:
        self._random = random.Random(seed)
        self._language = language
        self.host = (
            f"{'www.' if self._random.random() < 0.7 else ''}{self._random.choice(_SITES)}.example"
        )

    def fill(self, text: str) -> str:
        while (
            chosen := _CHOICE.sub(lambda found: self._random.choice(found[1].split("||")), text)
        ) != text:
            text = chosen
        return _KEY.sub(lambda found: self._said(found[1]), text)

    def _said(self, key: str) -> str:
        draw = self._random
        if key in wordings():
            return draw.choice(wordings()[key][self._language])
        made = {
            "host": lambda: self.host,
            "hex": lambda: f"{draw.getrandbits(128):032x}",
            "n": lambda: str(draw.randrange(1, 1_000)),
            "nn": lambda: str(draw.randrange(10_000, 1_000_000)),
            "word": lambda: draw.choice(_WORDS),
            "prod": lambda: draw.choice(_PRODUCTS),
            "money": self._money,
            "nums": lambda: _options(map(str, range(1, 8))),
            "years": lambda: _options(map(str, range(2008, 2016))),
            "months_": lambda: _options(map(str, range(1, 13))),
            "langs": lambda: _options(draw.sample(_LANGUAGE_NAMES, 4)),
            "countries": lambda: _options(draw.sample(_COUNTRIES, 5)),
            "opts": lambda: _options(word.title() for word in draw.sample(_WORDS, 4)),
        }
        return made[key]()

    def _money(self) -> str:
        amount = self._random.randrange(300, 20_000) / 100
        said = {"ru": "{:.0f} руб.", "ja": "{:.0f}円", "zh": "¥{:.2f}", "en": "${:.2f}"}.get(
            self._language, "{:.2f} €"
        ).format(amount)
        return (
            said.replace(".", ",")
            if self._language in ("de", "fr", "es", "it", "pt", "nl", "pl", "tr")
            else said
        )

    def page(self, pattern: Pattern) -> dict[str, Any]:
        """A labelled form with its page, as a line of the training data."""
        html = self.fill(pattern.html)
        title = self.fill("{" + self._random.choice(_TITLES[pattern.type]) + "}")
        above = (
            f"<h2>{title if self._random.random() < 0.5 else self.fill('{prod}')}</h2>"
            if self._random.random() < 0.5
            else ""
        )
        around = self.fill(pattern.around)
        page = (
            f"<html lang={self._language}><head><title>{title} -"
            f" {self.host}</title></head><body><div class=page>{above}"
            f'<div class="{around}">{html}</div></div></body></html>'
        )
        return {
            "html": html,
            "url": f"http://{self.host}{self.fill(pattern.path)}",
            "type": pattern.type,
            "domain": f"{pattern.software}-{self._language}.example",
            "lang": self._language,
            "page_html": page,
            "form_index": 0,
            "weight": WEIGHT,
        }


def _options(labels: Any) -> str:
    return "".join(
        f'<option value="{place}">{label}</option>' for place, label in enumerate(labels, 1)
    )


def drawn(turns: int = TURNS, seed: int = SEED) -> Iterator[dict[str, Any]]:
    """Yields generated, labelled forms: each pattern in up to `turns` of its languages, chosen at
    random."""
    chance = random.Random(seed)
    for number, pattern in enumerate(patterns()):
        languages = chance.sample(pattern.languages, min(turns, len(pattern.languages)))
        for turn, language in enumerate(languages):
            row = Drawer(seed + 100 * number + turn, language).page(pattern)
            yield row | {"id": f"{number}-{turn}", "page_id": f"{number}-{turn}"}


def main(file: str) -> None:
    """Writes the forms to a file of JSON lines."""
    with Path(file).open("w", encoding="utf-8") as out:
        for row in drawn():
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
