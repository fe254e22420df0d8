"""How many results a page says there are."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBER = r"(\d{1,3}(?:[,.   ']\d{3})+|\d+)"
_WHAT = (
    r"(?:results?|records?|match(?:es)?|hits|items?|entries|documents?|articles?|books?|titles?|products?|packages?|rows?|found|"
    r"events?|jobs?|offers?|ads?|listings?|properties|homes?|cars?|courses?|people|persons?|members?|films?|movies?|songs?|"
    r"recipes?|publications?|papers?|posts?|threads?|photos?|images?|files?|objects?|datasets?|works?|names?|stellen|angebote|"
    r"ergebnisse?|treffer|datensätze|résultats?|notices?|resultados?|registros?|risultati|resultaten|wyników|"
    r"результат\w*|запис\w*|найден\w*|件|건|条|條|項|项|个结果|個結果|首|篇|本|册|部|笔|筆)"
)
_PATTERNS = (
    re.compile(rf"(?:\bof|\bvon|\bsur|\bde|\bdi|\bvan|\bиз|\d\s?/|共|全|计|約|约)\s*(?:about\s+|over\s+)?{_NUMBER}\b", re.I),
    re.compile(
        r"(?:found|total|zusammen|gefunden|trouvés?|encontrad[oa]s|trovat[ie]|всего|найдено|共有?|合計|总计|總計)"
        rf"\s*[:：]?\s*{_NUMBER}",
        re.I,
    ),
    re.compile(rf"{_NUMBER}\+?\s*{_WHAT}(?![a-z])", re.I),
)
_MORE = re.compile(r"\b(?:page|seite|página|pagina|страница|第)\s*\d+\s*(?:of|von|/|de|di|из)\s*\d+", re.I)
_ADDRESS = re.compile(r"https?://\S+|\b\d+(?:\.\d+){2,}\b")
_LONGEST_LINE = 160


def stated_total(lines: Iterable[str]) -> int | None:
    """The largest number of results that a short line states; None where none does. Numbers of pages do not count.

    >>> stated_total(["Showing 1 to 10 of 1,234 entries"]), stated_total(["共 56 条记录"]), stated_total(["Page 2 of 9"])
    (1234, 56, None)
    """
    best: int | None = None
    for line in lines:
        if len(line) > _LONGEST_LINE or not any(letter.isdigit() for letter in line):
            continue
        line = _MORE.sub(" ", _ADDRESS.sub(" ", line))
        for pattern in _PATTERNS:
            for match in pattern.finditer(line):
                number = int(re.sub(r"\D", "", match.group(1)))
                if number < 10**10 and (best is None or number > best):
                    best = number
    return best
