"""The formats of times in the held-out markups, and the deviation of rounded times from the
truth."""

from __future__ import annotations

from datetime import datetime, timedelta

from tests.forums.boards import NOW, RandomForum

EN_MON = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
EN_MONTH = (
    "January February March April May June July August September October November December".split()
)
MONTHS = {
    "de": (
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split()
    ),
    "ru": (
        "января февраля марта апреля мая июня июля августа сентября октября ноября декабря".split()
    ),
}
MON = {
    "en": EN_MON,
    "de": "Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez".split(),
    "ru": "янв фев мар апр май июн июл авг сен окт ноя дек".split(),
}
SHORT = {
    "en": "Mon Tue Wed Thu Fri Sat Sun".split(),
    "de": "Mo Di Mi Do Fr Sa So".split(),
    "ru": "Пн Вт Ср Чт Пт Сб Вс".split(),
    "zh": "周一 周二 周三 周四 周五 周六 周日".split(),
}
UNITS = {
    "en": [
        ("year", "years"),
        ("month", "months"),
        ("week", "weeks"),
        ("day", "days"),
        ("hour", "hours"),
        ("minute", "minutes"),
    ],
    "de": [
        ("Jahr", "Jahren"),
        ("Monat", "Monaten"),
        ("Woche", "Wochen"),
        ("Tag", "Tagen"),
        ("Stunde", "Stunden"),
        ("Minute", "Minuten"),
    ],
    "ru": [
        ("год", "г."),
        ("мес.", "мес."),
        ("нед.", "нед."),
        ("дн.", "дн."),
        ("ч.", "ч."),
        ("мин.", "мин."),
    ],
    "zh": [
        ("年", "年"),
        ("个月", "个月"),
        ("周", "周"),
        ("天", "天"),
        ("小时", "小时"),
        ("分钟", "分钟"),
    ],
}
MINUTES = (
    365 * 1440,
    30 * 1440,
    7 * 1440,
    1440,
    60,
    1,
)  # minutes in a year, month, week, day, hour and minute


def _largest(at: datetime) -> tuple[int, int]:
    """The time from `at` to NOW in whole units of the largest fitting unit: their number, and the
    index in MINUTES."""
    minutes = max(1, int((NOW - at).total_seconds() // 60))
    unit = next(unit for unit, size in enumerate(MINUTES) if minutes >= size)
    return minutes // MINUTES[unit], unit


def ago(f: RandomForum, at: datetime) -> str:
    """A relative time such as “3 weeks ago”."""
    n, unit = _largest(at)
    text = f"{n} {UNITS[f.language][unit][n > 1]}"
    return {"en": f"{text} ago", "de": f"vor {text}", "ru": f"{text} назад", "zh": f"{text}前"}[
        f.language
    ]


def ago_slack(at: datetime) -> timedelta:
    """The deviation allowed for a relative time: one unit, or one and a half for months and years,
    whose lengths vary."""
    _, unit = _largest(at)
    return timedelta(minutes=MINUTES[unit] * (1.5 if unit <= 1 else 1.05) + 1)


def clock12(at: datetime, pad: bool = False) -> str:
    """A time of day such as “2:05 PM”."""
    hour = at.hour % 12 or 12
    return f"{f'{hour:02}' if pad else hour}:{at:%M} {'AM' if at.hour < 12 else 'PM'}"


def z(at: datetime) -> str:
    """A time in machine-readable format."""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def subsilver_time(f: RandomForum, at: datetime) -> str:
    """Returns the time in phpBB's default format, with names of days and months in the forum's
    language."""
    if f.language == "de":
        return (
            f"{SHORT['de'][at.weekday()]} {at.day}. {MON['de'][at.month - 1]} {at.year}, {at:%H:%M}"
        )
    month = f"{at.month}月" if f.language == "zh" else MON[f.language][at.month - 1]
    return f"{SHORT[f.language][at.weekday()]} {month} {at:%d}, {at.year} {clock12(at).lower()}"


def elk_text(f: RandomForum, at: datetime) -> str:
    """“November 21, 2026, 02:05:00 PM” and its equivalents in other languages."""
    if f.language == "en":
        return (
            f"{EN_MONTH[at.month - 1]} {at:%d}, {at.year}, {at:%I:%M:%S}"
            f" {'AM' if at.hour < 12 else 'PM'}"
        )
    if f.language == "zh":
        return f"{at.year}年{at:%m}月{at:%d}日, {at:%H:%M:%S}"
    return (
        f"{at:%d}{'.' if f.language == 'de' else ''} {MONTHS[f.language][at.month - 1]} {at.year},"
        f" {at:%H:%M:%S}"
    )


def club_short(f: RandomForum, at: datetime) -> str:
    """“21-Nov-2026 14:05” and its equivalents in other languages."""
    return {
        "en": f"{at:%d}-{EN_MON[at.month - 1]}-{at.year} {at:%H:%M}",
        "de": f"{at:%d.%m.%y}, {at:%H:%M} Uhr",
        "ru": f"{at.day} {MON['ru'][at.month - 1]}. {at.year} г. {at:%H:%M}".replace("май.", "мая"),
        "zh": f"{at:%Y.%m.%d} {at:%H:%M}",
    }[f.language]


def spoken_day(f: RandomForum, at: datetime) -> str:
    """Returns a time such as “Sat 21st Nov 2026, 2.05pm”, or its equivalent in the forum's
    language."""
    nth = "th" if 10 < at.day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(at.day % 10, "th")
    half = "am" if at.hour < 12 else "pm"
    return {
        "en": (
            f"{SHORT['en'][at.weekday()]} {at.day}{nth} {EN_MON[at.month - 1]} {at.year},"
            f" {at.hour % 12 or 12}.{at:%M}{half}"
        ),
        "de": (
            f"{SHORT['de'][at.weekday()]}, {at.day}. {MONTHS['de'][at.month - 1]} {at.year} um"
            f" {at:%H.%M} Uhr"
        ),
        "ru": (
            f"{SHORT['ru'][at.weekday()].lower()}, {at.day} {MONTHS['ru'][at.month - 1]} {at.year}"
            f" в {at.hour}:{at:%M}"
        ),
        "zh": (
            f"{at.year}年{at.month}月{at.day}日"
            f" {'上午' if at.hour < 12 else '下午'}{at.hour % 12 or 12}:{at:%M}"
        ),
    }[f.language]


def jf_time(f: RandomForum, at: datetime) -> str:
    """Returns a time in digits only, with seconds, in the order usual in the language; in English
    the day precedes the month."""
    return {
        "en": f"{at:%d/%m/%Y %H:%M:%S}",
        "de": f"{at:%d.%m.%Y %H:%M:%S}",
        "ru": f"{at:%d.%m.%Y %H:%M:%S}",
        "zh": f"{at:%Y-%m-%d %H:%M:%S}",
    }[f.language]


def slash_month(f: RandomForum, at: datetime) -> str:
    """Formats a time as “Sat, 21/Nov/2026 - 14:05”, or its equivalent in the forum's language."""
    if f.language == "zh":
        return f"{at.year}年{at:%m}月{at:%d}日({SHORT['zh'][at.weekday()][1]}) {at:%H}时{at:%M}分"
    return (
        f"{SHORT[f.language][at.weekday()]}, {at:%d}/{MON[f.language][at.month - 1]}/{at.year} -"
        f" {at:%H:%M}"
    )


def xmb_time(f: RandomForum, at: datetime) -> str:
    """Returns a time as XMB shows it: “11-21-2026 at 02:05 PM” and its equivalents in other
    languages."""
    return {
        "en": f"{at:%m-%d-%Y} at {clock12(at, pad=True)}",
        "de": f"{at:%d.%m.%Y} um {at:%H:%M}",
        "ru": f"{at:%d.%m.%Y} в {at:%H:%M}",
        "zh": f"{at:%Y-%m-%d} {at:%H:%M}",
    }[f.language]
