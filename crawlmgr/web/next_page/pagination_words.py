"""Recognises pagination links by words and symbols in some thirty languages, and links to
neighbouring threads that look like them."""

from __future__ import annotations

import re
from functools import lru_cache


def _words(text: str) -> frozenset[str]:
    """Returns the set of the words in a text of several lines in which they are separated by
    "|"."""
    return frozenset(" ".join(word.split()) for word in text.split("|"))


NEXT_WORDS = _words("""
    next|next page|nextpage|older|older posts|older entries|older topics|older articles|
    older threads|more|more topics|show more|load more|more posts|next posts|next entries|
    next topics|next results|go to next page|page next|下一页|下一頁|下页|下頁|后页|後頁|后一页|後一頁|向后|下一张|次へ|次のページ|
    次のページへ|次頁|次ページ|다음|다음 페이지|다음페이지|weiter|nächste|nächste seite|naechste|naechste seite|vorwärts|
    nächster|suivant|suivante|page suivante|pages suivantes|suiv|siguiente|página siguiente|
    pagina siguiente|próximo|próxima|próxima página|proxima|sig|seguinte|avançar|successivo|
    successiva|pagina successiva|avanti|prossima|prossimo|seguente|volgende|volgende pagina|
    następna|następny|następne|następna strona|dalej|след|следующая|следующая страница|далее|вперед|
    вперёд|дальше|след страница|туда|наступна|далі|наступна сторінка|sonraki|sonraki sayfa|ileri|
    nästa|nästa sida|næste|neste|neste side|seuraava|další|následující|ďalšia|következő|
    következő oldal|επόμενη|επόμενο|următoarea|următorul|pagina următoare|sljedeća|следваща|
    trang sau|tiếp|tiếp theo|sau|kế tiếp|berikutnya|selanjutnya|lanjut|ถัดไป|หน้าถัดไป|التالي|
    التالية|بعدی|הבא|अगला
""")
PREVIOUS_WORDS = _words("""
    previous|prev|previous page|newer|newer posts|newer entries|back|上一页|上一頁|上页|上頁|前页|前頁|前へ|前のページ|
    이전|zurück|vorherige|vorherige seite|précédent|précédente|page précédente|préc|anterior|
    página anterior|precedente|indietro|vorige|poprzednia|poprzedni|poprzednie|wstecz|пред|
    предыдущая|назад|önceki|geri|föregående|forrige|edellinen|předchozí|előző|προηγούμενη|
    anterioară|trang trước|trước|sebelumnya|ก่อนหน้า|السابق|قبلی|הקודם
""")
LAST_WORDS = _words("""
    last|last page|end|尾页|尾頁|末页|末頁|最后|最后一页|最後|最後一頁|最後へ|最後のページ|마지막|letzte|letzte seite|ende|dernière|
    dernier|dernière page|fin|última|último|ultima|ultima página|ultimo|fine|laatste|ostatnia|
    koniec|последняя|конец|last »|в конец|остання|son|sista|siste|sidste|viimeinen|poslední|utolsó|
    τελευταία|cuối|terakhir|শেষ
""")
FIRST_WORDS = _words("""
    first|first page|首页|首頁|第一页|第一頁|最初|最初のページ|처음|erste|erste seite|anfang|première|premier|début|
    primera|primero|primeira|prima|inizio|eerste|pierwsza|первая|начало|в начало|ilk|första|første|
    první|első|πρώτη|đầu|pertama|প্রথম
""")
# Words in the text of links to a neighbouring thread, not to a further page of the same one.
_NEIGHBOUR = re.compile(
    r"thread|topic|post\b|article|oldest|newest|unread|new"
    r" posts|discussion|主题|主題|帖|贴|篇|话题|話題|記事|トピック"
    r"|スレッド|글|thema|beitrag|ungelesen|sujet|message|tema|hilo|mensaje|argomento|tópico|temat|wątek"
    r"|onderwerp"
    r"|тем[аыу]|сообщени|konu|tråd|emne|aihe|téma",
    re.I,
)
_OLDER_ARE_PAGES = re.compile(
    r"^(older|next|more) (posts|topics|threads|articles|entries|discussions)$"
)
_NEIGHBOUR_LINK = re.compile(
    r"(?:prev_next|goto|view|action|do)=(?:next|prev|nextnewest|nextoldest|previous|newpost)|gonext"
    r"|#new",
    re.I,
)
_NUMBER = re.compile(
    r"(?:page|p\.|pg\.?|seite|página|pagina|strona|страница|стр\.?|sayfa|sida|side|trang|第|go to"
    r" page)?\s*"
    r"(\d{1,3}(?:[,.  ]\d{3})+|\d{1,6})\s*(?:页|頁|ページ|페이지)?",
    re.I,
)
_EDGES = " \t\r\n\xa0[](){}|·•.:,;…-–—_"
_ARROWS = "»›>→▶►⟩❯⇒➡»⟶❱▸⏵⟫≫"
_BACK_ARROWS = "«‹<←◀◄⟨❮⇐⬅⟵❰◂⟪≪"
NEXT_NAME = re.compile(
    r"(?:^|[\s_-])(?:next|nxt|nextpage|pagenext|nextlink|older|arrow-?right|chevron-?right"
    r"|angle-?right)(?:$|[\s_-])",
    re.I,
)
NEXT_NAME_JOINED = re.compile(r"next(?:page|link|btn|button)?$|^page-?next|pagi?nav?-?next", re.I)
PAGER_NAME = re.compile(
    r"pag(?:e|er|ing|ination|inator|enav|enum|ework|elist|e-?numbers?)?(?![a-z])|pagi|pager"
    r"|wp-pagenavi|页码",
    re.I,
)
CURRENT_NAME = re.compile(
    r"(?:^|[\s_-])(?:current|currentpage|cur|curpage|active|selected|highlight|on|this|actual"
    r"|pagecurrent|thispage"
    r"|iscurrent)(?:$|[\s_-])",
    re.I,
)


def page_number(text: str) -> int | None:
    """Returns the page number in a link's text ("2", "[2]", "Page 2", "1,390", "第2页"); None if
    there is other text.

    >>> page_number("[ 2 ]"), page_number("1,390"), page_number("第 3 页"), page_number("2 replies")
    (2, 1390, 3, None)
    """
    text = text.strip(_EDGES)
    if not text or len(text) > 24 or not any(map(str.isdigit, text)):
        return None
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    digits = re.sub(r"\D", "", found[1])
    return int(digits) or None


@lru_cache(maxsize=8_192)
def page_direction(text: str) -> str | None:
    """Returns which page a link's text names: "next", "previous", "last" or "first"; None for
    anything else.

    "Next thread" leads to another thread, not to another page, so it gives None. A lone arrow
    counts as a word; if a page has two kinds of arrows, the caller decides by the addresses which
    one leads to the next page.

    >>> [page_direction(text) for text in ("Next »", "下一页", "Next Thread", "‹ Prev", ">")]
    ['next', 'next', None, 'previous', 'next']
    """
    if len(text) > 40:
        return None
    folded = " ".join(text.split()).casefold()
    bare = folded.strip(_EDGES + _ARROWS + _BACK_ARROWS).strip("|")
    if not bare:
        return _arrow(folded)
    for words, meaning in (
        (NEXT_WORDS, "next"),
        (PREVIOUS_WORDS, "previous"),
        (LAST_WORDS, "last"),
        (FIRST_WORDS, "first"),
    ):
        if bare in words:
            return meaning
    if _NEIGHBOUR.search(bare) and not _OLDER_ARE_PAGES.match(bare):
        return None
    first, *rest = bare.split()
    if rest and len(bare) <= 24:
        if first in (
            "next",
            "older",
            "more",
            "weiter",
            "suivante",
            "siguiente",
            "следующие",
            "volgende",
            "nästa",
        ):
            return "next"
        if first in ("previous", "prev", "newer"):
            return "previous"
    return None


def _arrow(text: str) -> str | None:
    """Returns "next" or "previous" for a text of one to four arrows; None for anything else."""
    marks = text.strip(" \xa0|[]().…-")
    if not marks or len(marks) > 4:
        return None
    if any(mark in _BACK_ARROWS for mark in marks):
        return "previous"
    return "next" if any(mark in _ARROWS for mark in marks) else None


def leads_to_neighbour(href: str) -> bool:
    """Tells whether an address requests the previous or next thread of a board (prev_next=next,
    goto=nextnewest)."""
    return _NEIGHBOUR_LINK.search(href) is not None
