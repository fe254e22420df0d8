"""Words used in times, each with the code that `dates_codes.canonical` replaces it with: in a dozen
languages by hand, in about 200 from the data files of the library dateparser."""

from __future__ import annotations

import re
import runpy
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

DAY = 86400  # seconds of a day
WEEK = 7 * DAY
MONTH = 30 * DAY
YEAR = 365 * DAY

# The codes that replace words; `dates_parsing` recognises times by sequences of numbers and codes.
#   "M05": name of a month (here May).
#   "W2": name of a weekday (here Tuesday; 1 is Monday).
#   "R-1;": day relative to today (here yesterday).
#   "U60;": unit of time, with its seconds (here a minute).
#   "K12": time of day named by a word, as its hour (here noon).
#   "Z60;": name of a time zone, as its offset from UTC in minutes.
#   "A": before noon. "P": after noon. "G": the word "ago". "J": the words "just now". "V": the word
#   "last".
#   "E": an article that can mean "one". "B": half. "F": a few.
#   "Y", "O", "D", "H", "I", "S": mark after a number that makes it a year, month, day, hour,
#   minute, second.
#   "X": the word "o'clock". "L": label of a time, such as "Posted". "?": unknown word. Ambiguous
#   words, which `dates_codes` resolves by the codes beside them:
#   "Q": "ago" or August. "N": March or Tuesday. "a": "one" or "year".
_MONTHS = (
    (
        "january jan januar janvier janv jänner jän januari enero ene января январь янв gennaio gen"
        " janeiro stycznia styczeń sty ocak"
    ),
    (
        "february feb febr februar février fév févr februari febrero февраля февраль фев февр"
        " febbraio fevereiro fev lutego luty lut şubat"
    ),
    "march mars märz mär mrz marzo марта март мар maart mrt março marca marzec mart",
    "april apr avril avr abril abr апреля апрель апр aprile kwietnia kwiecień kwi nisan",
    "may mai mayo мая май maggio mag maio mei maja maj mayıs",
    "june jun juni juin junio июня июнь июн giugno giu junho czerwca czerwiec cze haziran",
    "july jul juli juillet juil julio июля июль июл luglio lug julho lipca lipiec lip temmuz",
    "august aug août aoû agosto августа август авг augustus augusti sierpnia sierpień sie ağustos",
    (
        "september sep sept septembre septiembre сентября сентябрь сен сент settembre set setembro"
        " września wrzesień wrz eylül"
    ),
    (
        "october oct oktober okt octobre octubre октября октябрь окт ottobre ott outubro out"
        " października październik paź ekim"
    ),
    "november nov novembre noviembre ноября ноябрь ноя нояб novembro listopada listopad lis kasım",
    (
        "december dec dezember dez décembre déc diciembre dic декабря декабрь дек dicembre dezembro"
        " grudnia grudzień gru desember aralık"
    ),
)
_WEEKDAYS = (
    (
        "monday mon montag lundi lun lunes понедельник пн lunedì segunda seg maandag poniedziałek"
        " pon pn pazartesi måndag 星期一 周一 週一 礼拜一 禮拜一 月曜日 월요일"
    ),
    (
        "tuesday tue tues dienstag mardi martes вторник вт martedì terça ter dinsdag din wtorek wto"
        " wt salı tisdag 星期二 周二 週二 礼拜二 禮拜二 火曜日 화요일"
    ),
    (
        "wednesday wed mittwoch mercredi mer miércoles mié среда ср mercoledì quarta qua woensdag"
        " woe środa śro śr çarşamba onsdag 星期三 周三 週三 礼拜三 禮拜三 水曜日 수요일"
    ),
    (
        "thursday thu thur thurs donnerstag jeudi jeu jueves jue четверг чт giovedì gio quinta qui"
        " donderdag don czwartek czw perşembe torsdag 星期四 周四 週四 礼拜四 禮拜四 木曜日 목요일"
    ),
    (
        "friday fri freitag vendredi ven viernes vie пятница пт venerdì sexta sex vrijdag vri"
        " piątek pią pt cuma fredag 星期五 周五 週五 礼拜五 禮拜五 金曜日 금요일"
    ),
    (
        "saturday sat samstag sonnabend samedi sam sábado sáb суббота сб sabato sab zaterdag zat"
        " sobota sob cumartesi lördag 星期六 周六 週六 礼拜六 禮拜六 土曜日 토요일"
    ),
    (
        "sunday sun sonntag dimanche dim domingo dom воскресенье вс domenica zondag zon niedziela"
        " nie pazar söndag 星期日 星期天 周日 週日 礼拜天 禮拜天 日曜日 일요일"
    ),
)
# Two-letter abbreviations of weekdays. Some are other words in other languages: a word with another
# code keeps that code.
_SHORT_WEEKDAYS = ("mo ma", "di", "mi wo", "do", "fr vr", "sa za", "so zo")
_DAYS = {
    0: (
        "today heute hoy сегодня oggi hoje vandaag dzisiaj dziś bugün idag dnes 今天 今日 本日"
        " きょう 오늘"
    ),
    -1: (
        "yesterday gestern ayer вчера ieri ontem gisteren wczoraj dün igår včera 昨天 昨日 きのう 어제"
    ),
    -2: (
        "vorgestern anteayer позавчера anteontem eergisteren przedwczoraj 前天 一昨日 おととい 그저께"
    ),
    -3: "大前天",
}
_UNITS = {
    1: (
        "second seconds sec secs sekunde sekunden sek segundo segundos seg seconde secondes секунда"
        " секунд секунду секунды сек secondo secondi seconden sekund sekundy sekundę saniye moment"
        " moments instant 秒钟 秒鐘"
    ),
    60: (
        "minute minutes min mins minuten minuto minutos минута минут минуту минуты мин minuti minut"
        " minuta minuty minutę dakika 分钟 分鐘"
    ),
    3600: (
        "hour hours hr hrs stunde stunden std hora horas heure heures час часа часов ora ore uur"
        " uren godzina godziny godzin godzinę saat timme timmar 小时 小時 个小时 個小時 钟头 鐘頭"
        " 時間 시간"
    ),
    DAY: (
        "day days d tag tage tagen día días jour jours день дня дней giorno giorni dia dias dag"
        " dagen dzień dni дн сут j tg dgn gg gün dagar 天 日間"
    ),
    WEEK: (
        "week weeks wk wks w woche wochen semana semanas semaine semaines неделя неделю недели"
        " недель нед sem tyg settimana settimane weken tydzień tygodnie tygodni hafta 周 週 个星期"
        " 個星期 星期 週間 주"
    ),
    MONTH: (
        "month months mth mths mo mos monat monate monaten mes meses mois месяц месяца месяцев мес"
        " mies mnd mese mesi mês maand maanden miesiąc miesiące miesięcy ay 个月 個月 か月 ヶ月"
        " カ月 ケ月 ヵ月 개월 달"
    ),
    YEAR: (
        "year years yr yrs jahr jahre jahren año años ano anos ans année années год года лет г anno"
        " anni jaar rok lata lat yıl"
    ),
}
_OTHERS = {
    "A": "am vorm 上午 早上 凌晨 清晨 早晨 午前 오전",
    "P": "pm nachm 下午 晚上 傍晚 夜里 午後 오후",
    "K12": "noon mittag midi mediodía полдень mezzogiorno 中午 正午 정오",
    "K00": "midnight mitternacht minuit medianoche полночь mezzanotte 午夜 零时 자정",
    "G": "vor hace назад fa há atrás geleden temu önce sedan sitten əvvəl 前 以前 之前 전",
    "Q": "ago",
    "N": "mar",
    "J": (
        "now gerade eben jetzt soeben только что adesso agora teraz şimdi 刚刚 剛剛 刚才"
        " 剛才 たった今"
        " 방금"
    ),
    "V": "last letzte letzten letzter letztes pasado pasada dernier dernière vorige",
    "E": (
        "a one ein eine einer einem eines un une una uno uma um один одну одна een één jeden jedną"
        " bir le la el les las los il o os ao às as à"
    ),
    "B": "half halbe halben halbes demi media 半 半个 半個",
    "F": (
        "few several einige einigen wenigen quelques unos unas несколько alcuni alguns kilka 几 幾"
        " 数 數 好几"
    ),
    "Y": "年 년",
    "O": "月 월",
    "D": "日 号 號 일",
    "H": "h ч 时 時 点 點 点钟 시",
    "I": "分 m 분",
    "S": "秒 s 초",
    "X": "uhr klo",
    "": (
        "at um on of the de del di du da den dem der et и в om op alle alla kl dnia o godz about"
        " almost over around than less more ca circa etwa ungefähr environ plus około около 约 約"
        " 大约 大約 的 于 於 在 th st nd rd er ten eme ème и"
    ),
    "L": (
        "posted post posts last lastpost date time written sent joined since started created"
        " updated edited modified reply replied geschrieben verfasst erstellt beitrag am posté"
        " publié dernier message publicado publicada último ultimo mensaje enviado опубликовано"
        " написано добавлено последнее сообщение сообщения отправлено inviato scritto napisane"
        " wysłany geplaatst 发表于 發表於 发表 發表 最后发表 最後發表 发布于 發布於 发布 發布"
        " 发帖时间 发布时间 发表时间 發表時間 最后回复 最後回覆 最后回复于 回复于 回覆於 编辑于"
        " 更新于 更新 创建于 注册于 时间 投稿 投稿日 投稿日時 作成日 更新日 日時 最終更新"
        " 작성 작성일"
    ),
}
# seconds of the unit -> single words that mean "last week", "last month" or "last year"
_LAST_UNITS = {
    WEEK: "上周 上週 上星期 先週",
    MONTH: "上月 上个月 上個月 先月",
    YEAR: "去年 昨年",
}
_OFFSET_HOURS = {
    "z": 0,
    "utc": 0,
    "gmt": 0,
    "est": -5,
    "edt": -4,
    "cdt": -5,
    "mst": -7,
    "mdt": -6,
    "pst": -8,
    "pdt": -7,
    "cet": 1,
    "cest": 2,
    "mez": 1,
    "mesz": 2,
    "bst": 1,
    "eet": 2,
    "eest": 3,
    "msk": 3,
    "мск": 3,
    "jst": 9,
    "kst": 9,
    "hkt": 8,
    "aest": 10,
    "aedt": 11,
}
_ONE_FORM = str.maketrans(
    "–—‐‑−〜～、،၊يك’ʼ׳\u00a0\u202f\u2009\u3000",
    "------ ,,,یک'''    ",
    "\u200b\u200c\u200d\u200e\u200f\ufeff\u00ad",
)
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
_CHINESE_DIGITS = {c: i for i, c in enumerate("〇一二三四五六七八九")} | {
    "零": 0,
    "两": 2,
    "兩": 2,
    "十": 10,
}


def plain(word: str) -> str:
    """Returns the word without accents: `fév` becomes `fev`."""
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))


def fold(text: str) -> str:
    """Returns a text in lower case, with one form for each dash, space, comma, digit and Arabic
    letter, and without invisible marks.

    >>> fold("٩:٠٥ م"), fold("Tue\u00a04\u200f")
    ('9:05 م', 'tue 4')
    """
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", text).translate(_ONE_FORM)
    return _OTHER_DIGIT.sub(lambda m: str(int(m.group())), text).lower()


def _codes() -> Iterator[tuple[str, str]]:
    """Yields pairs of a code (such as M03 for March) and its words, separated by spaces. Of several
    codes of a word, the first applies."""
    yield (
        "N",
        _OTHERS["N"],
        # before the months: "mär" (March) becomes "mar" without its accent and must not replace the
        # "mar" of N
    )
    yield from ((f"M{number:02d}", text) for number, text in enumerate(_MONTHS, 1))
    yield from ((f"W{number}", text) for number, text in enumerate(_WEEKDAYS, 1))
    yield from ((f"R{number};", text) for number, text in _DAYS.items())
    yield from (
        (code, _OTHERS[code]) for code in ("A", "P", "K12", "K00", "G", "Q", "J", "V", "B", "F")
    )
    yield from ((f"U{seconds};", text) for seconds, text in _UNITS.items())
    yield from ((f"1U{seconds};G", text) for seconds, text in _LAST_UNITS.items())
    yield from ((f"Z{hours * 60};", word) for word, hours in _OFFSET_HOURS.items())
    yield from ((code, _OTHERS[code]) for code in ("E", "Y", "O", "D", "H", "I", "S", "X", "", "L"))
    yield from ((f"W{number}", text) for number, text in enumerate(_SHORT_WEEKDAYS, 1))
    yield from ((f"M{number:02d}", f"{chinese(number)}月") for number in range(1, 13))


def _vocabulary() -> dict[str, str]:
    """Returns a dictionary that maps every word, with and without its accents, to the code of its
    meaning, such as "M03" for March."""
    words: dict[str, str] = {}
    for code, text in _codes():
        for word in text.split():
            words.setdefault(word, code)
            words.setdefault(plain(word), code)
    return words


def chinese(number: int) -> str:
    """Returns a number of 0 to 99 in Chinese numerals.

    >>> chinese(6), chinese(11), chinese(25)
    ('六', '十一', '二十五')
    """
    digits = "〇一二三四五六七八九"
    if number < 10:
        return digits[number]
    tens, ones = divmod(number, 10)
    return (digits[tens] if tens > 1 else "") + "十" + (digits[ones] if ones else "")


def chinese_value(text: str) -> int:
    """Returns the value of Chinese numerals, positional (二〇〇九) or with tens (二十五).

    >>> chinese_value("二十五"), chinese_value("十一"), chinese_value("二〇〇九")
    (25, 11, 2009)
    """
    if "十" in text:
        tens, _, ones = text.partition("十")
        return (_CHINESE_DIGITS[tens] if tens else 1) * 10 + (_CHINESE_DIGITS[ones] if ones else 0)
    value = 0
    for character in text:
        value = value * 10 + _CHINESE_DIGITS[character]
    return value


VOCABULARY = _vocabulary() | {"an": "a", "полчаса": "BU3600;"}
# phrases of several words or with a punctuation mark inside, with their codes
PHRASES = {
    "il y a": "G",
    "aujourd'hui": "R0;",
    "avant-hier": "R-2;",
    "day before yesterday": "R-2;",
    "à l'instant": "J",
    "just now": "J",
    "right now": "J",
    "a few": "F",
    "hier à": "R-1;",
    "meio-dia": "K12",
}
EAST_ASIAN = frozenset(
    word for word in VOCABULARY if word and not word.isascii() and max(word) >= "ぁ"
)
LONGEST_EAST_ASIAN = max(map(len, EAST_ASIAN))
UNIT_SECONDS = {
    "second": 1,
    "minute": 60,
    "hour": 3600,
    "day": DAY,
    "week": WEEK,
    "month": MONTH,
    "year": YEAR,
}
SHORT_UNITS = {"s": 1, "m": 60, "h": 3600, "d": DAY, "w": WEEK, "mo": MONTH, "y": YEAR}


_MONTH_KEYS = tuple(
    "january february march april may june july august september october november december".split()
)
_WEEKDAY_KEYS = tuple("monday tuesday wednesday thursday friday saturday sunday".split())
_NUMBER = r"(\d++[.,]?\d*+)"  # how the data files write a number
_AGO = re.compile(r"(?:\\1|(\d+)) (\w+) ago")
_OLD_NAMES = {"no": "nb", "iw": "he", "in": "id"}
# The lists of `dates_words` are made for these; the data files take their single characters
# (day, month, year) for whole words.
_OURS = frozenset(("en", "zh", "ja", "ko", "yue"))
WORD = re.compile(r"[^\W\d_]+")
_STEM, _ENDING = 4, 4  # letters: the shortest stem and the longest ending of an inflected word
_WITHIN = "ב"  # Hebrew "in", written as one word with the month
_MONTH_OR_UNIT = re.compile(r"M\d\d|U\d+;")
# languages written without spaces between words: Thai, Lao, Khmer, Burmese
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
# languages suggested by letters, for pages that do not declare theirs: by ranges of letters, or by
# Latin letters that no other language of the kind has
_BY_LETTERS = tuple(
    (re.compile(f"[{letters}]"), tuple(names.split()))
    for letters, names in (
        ("\u0370-\u03ff", "el"),
        ("\u0400-\u052f", "uk bg be mk sr kk"),
        ("\u0530-\u058f", "hy"),
        ("\u0590-\u05ff", "he"),
        ("\u0600-\u06ff", "ar fa ur"),
        ("\u0900-\u097f", "hi mr ne"),
        ("\u0980-\u09ff", "bn"),
        ("\u0a00-\u0a7f", "pa"),
        ("\u0a80-\u0aff", "gu"),
        ("\u0b80-\u0bff", "ta"),
        ("\u0c00-\u0c7f", "te"),
        ("\u0c80-\u0cff", "kn"),
        ("\u0d00-\u0d7f", "ml"),
        ("\u0d80-\u0dff", "si"),
        ("\u0e00-\u0e7f", "th"),
        ("\u0e80-\u0eff", "lo"),
        ("\u1000-\u109f", "my"),
        ("\u10a0-\u10ff", "ka"),
        ("\u1200-\u139f", "am"),
        ("\u1780-\u17ff", "km"),
        ("ėįų", "lt"),
        ("āēģķļņ", "lv"),
        ("əƏ", "az"),
        ("ğıİ", "tr"),
        ("þð", "is"),
        ("ľĺŕ", "sk"),
        ("áéíóúőűěřžýů", "hu cs"),
    )
)


class Words(NamedTuple):
    """The words of one language and their codes. `units` holds the words that are a unit of time
    only after a number; `pattern` finds words and phrases of several words; `changes` are pairs of
    an expression and its replacement, applied to a text first; `is_ours`: there are no words beyond
    those of `dates_words`."""

    codes: Mapping[str, str]
    units: Mapping[str, str]
    pattern: re.Pattern[str]
    changes: tuple[tuple[re.Pattern[str], str], ...] = ()
    is_ours: bool = False

    def code(self, word: str) -> str | None:
        """Returns the code of a word or phrase, with or without its accents; None if unknown."""
        found = self.codes.get(word)
        return self.codes.get(plain(word)) if found is None and not word.isascii() else found

    def inflected(self, word: str) -> str | None:
        """Returns the code of the longest name of a month or unit of time with which a word of
        another language than ours begins, if a case ending of at most four letters follows it;
        None if there is none."""
        if self.is_ours:
            return None
        word = plain(word).removeprefix(_WITHIN)
        shortest = min(len(word), max(_STEM, len(word) - _ENDING))
        for length in range(len(word), shortest - 1, -1):
            for codes in (self.codes, self.units):
                code = codes.get(word[:length], "")
                if _MONTH_OR_UNIT.fullmatch(code):
                    return code
        return None


def date_order(language: str) -> str:
    """Returns the usual order of day, month and year in a language, such as "DMY"; "" if unknown.

    >>> date_order("hr"), date_order("hu"), date_order("xx")
    ('DMY', 'YMD', '')
    """
    return next((str(info.get("date_order") or "") for info in _data(language)), "")


def by_letters(text: str) -> tuple[str, ...]:
    """Returns the languages that the letters of a text suggest, besides those of `dates_words`."""
    if "tháng" in text.lower():
        return ("vi",)
    return next((names for letters, names in _BY_LETTERS if letters.search(text)), ("ro", "sv"))


@lru_cache(maxsize=64)
def words_of(language: str) -> Words:
    """Returns the words of a language (a tag such as "hr" or "pt-BR"): those of its data files,
    then those of `dates_words`. A few milliseconds on first use."""
    data = [] if language.partition("-")[0] in _OURS else list(_data(language))
    codes: dict[str, str] = {}
    units: dict[str, str] = {}
    for info in data:
        for code, text in _named(info):
            # "mar" is a month or a weekday, decided by the codes beside it
            if VOCABULARY.get(text) not in ("N", "Q", "a"):
                codes.setdefault(text, code)
                codes.setdefault(text.rstrip("'"), code)
        # with "ago" first: "timer siden" stands also in "for N timer siden"
        for code, text in sorted(_unit_words(info), key=lambda pair: "G" not in pair[0]):
            if len(text) > 1 or text not in VOCABULARY:
                units.setdefault(text, code)
    phrases = [text for text in (*codes, *units, *PHRASES) if not WORD.fullmatch(text)]
    return Words(
        {**{plain(text): code for text, code in codes.items()}, **VOCABULARY, **PHRASES, **codes},
        {
            "mo": f"U{SHORT_UNITS['mo']};",
            "y": f"U{SHORT_UNITS['y']};",
            **{plain(text): code for text, code in units.items()},
            **units,
        },
        _pattern(phrases, [*codes, *units]),
        tuple(change for info in data for change in _changes(info)),
        not data,
    )


@lru_cache(maxsize=64)
def _data(language: str) -> Sequence[Mapping[str, Any]]:
    """Returns the contents of the data files of a language, also those of its scripts (sr-Latn) and
    countries; none for an unknown language."""
    name = language.partition("-")[0]
    name = _OLD_NAMES.get(name, name)
    spec = find_spec("dateparser")
    if spec is None or not name.isalpha():
        return ()
    folder = Path(next(iter(spec.submodule_search_locations or ())))
    files = sorted((folder / "data" / "date_translation_data").glob(f"{name}*.py"))
    found = [
        runpy.run_path(str(file))["info"] for file in files if file.stem.partition("-")[0] == name
    ]
    # the countries' own words, such as the Syrian months, after those of the language
    return [*found, *(each for info in found for each in info["locale_specific"].values())]


def _named(info: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields (code, word) of the words and phrases that mean the same everywhere in a text."""
    for key, texts in info.get("relative-type", {}).items():
        yield from ((code, text) for code in _relative(key) for text in _folded(texts))
    after_all = _after_all(info)
    yield from (("G", after) for after in after_all)
    yield from (
        (f"U{seconds};" if after in after_all else "G", before)
        for seconds, before, after in _around_numbers(info)
        if before
    )
    for number, name in enumerate(_MONTH_KEYS, 1):
        yield from ((f"M{number:02d}", text) for text in _folded(info.get(name, ())))
    for number, name in enumerate(_WEEKDAY_KEYS, 1):
        yield from ((f"W{number}", text) for text in _folded(info.get(name, ())))
    yield from (("G", text) for text in _folded(info.get("ago", ())))
    for code, name in (("A", "am"), ("P", "pm")):
        yield from ((code, text) for text in _folded(info.get(name, ())))
    for name in ("skip", "pertain"):
        texts = (text.strip(" .-") for text in _folded(info.get(name, ())))
        yield from (("", text) for text in texts if WORD.search(text))
    # of a time to come, such as "in 3 days"
    coming = [text for key, texts in _with_numbers(info) if key.startswith("in ") for text in texts]
    befores = [text.partition(_NUMBER)[0].strip() for text in coming]
    yield from (("?", text) for text in _folded([*info.get("in", ()), *befores]))


def _relative(key: str) -> Iterator[str]:
    """Yields the code of a key such as "1 day ago" or "0 second ago"; none for "0 week ago" (this
    week), which is no point in time, and for times to come."""
    found = _AGO.fullmatch(key)
    if not found or not found[1] or found[2] not in UNIT_SECONDS:
        return
    if found[2] == "day":
        yield f"R{-int(found[1])};"
    elif found[1] != "0":
        yield f"{found[1]}U{UNIT_SECONDS[found[2]]};G"
    elif found[2] == "second":
        yield "J"


def _with_numbers(info: Mapping[str, Any]) -> Iterable[tuple[str, Sequence[str]]]:
    """Returns the phrases with a number, by keys such as "\\1 hour ago"."""
    found: Mapping[str, Sequence[str]] = info.get("relative-type-regex", {})
    return found.items()


def _around_numbers(info: Mapping[str, Any]) -> Iterator[tuple[int, str, str]]:
    """Yields, for phrases such as "prije N sati" and "N saat önce", the seconds of the unit and
    what stands before and after the number."""
    for key, texts in _with_numbers(info):
        found = _AGO.fullmatch(key)
        if found and found[2] in UNIT_SECONDS:
            for text in texts:
                before, _, after = text.replace(r"\s*", " ").partition(_NUMBER)
                yield UNIT_SECONDS[found[2]], fold(before).strip(), fold(after).strip()


def _after_all(info: Mapping[str, Any]) -> set[str]:
    """Returns the words for "ago" that stand after the number of every unit, where the unit stands
    before it, as in "siku N zilizopita"."""
    befores: dict[str, set[str]] = {}
    for _, before, after in _around_numbers(info):
        if before and after:
            befores.setdefault(after, set()).add(before)
    return {after for after, units in befores.items() if len(units) > 1}


def _unit_words(info: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields (code, word) of the units of time, some with "ago" in them."""
    after_all = _after_all(info)
    for seconds, before, after in _around_numbers(info):
        if after and after not in after_all:
            yield f"U{seconds};" + ("" if before else "G"), after
    for name, seconds in UNIT_SECONDS.items():
        yield from ((f"U{seconds};", text) for text in _folded(info.get(name, ())))


def _changes(info: Mapping[str, Any]) -> Iterator[tuple[re.Pattern[str], str]]:
    """Yields the replacements of a data file, such as those of number words by numbers."""
    for change in info.get("simplifications", ()):
        for pattern, replacement in change.items():
            # look-behinds are for the module regex only; clock times are read as they are
            if "(?<" not in pattern and r"\1:" not in replacement:
                yield re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.I), fold(str(replacement))


def _folded(texts: Sequence[str]) -> list[str]:
    return [word for text in texts if (word := fold(text))]


def _pattern(phrases: Sequence[str], words: Sequence[str]) -> re.Pattern[str]:
    """Returns an expression for the phrases, longest first, and for single words; in languages
    without spaces, for all words wherever they stand."""
    unspaced = {text for text in words if _UNSPACED.search(text)}
    apart, inside = (
        "|".join(map(re.escape, sorted(texts, key=len, reverse=True)))
        for texts in (set(phrases) - unspaced, unspaced)
    )
    within = f"{inside}|" if inside else ""
    return re.compile(rf"(?<!\w)(?:{apart})(?!\w)|{within}{WORD.pattern}")


OURS = words_of("en")
