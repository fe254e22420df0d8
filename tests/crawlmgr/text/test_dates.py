"""Times in many languages and formats, texts that are not times, and how day order, year and zone
are decided."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlmgr.text import dates, dates_parsing
from crawlmgr.text.dates import DateContext, Moment, decide_day_first, find_time, parse_time
from crawlmgr.text.dates_parsing import canonical
from crawlmgr.text.dates_words import chinese, chinese_value

NOW = datetime(2026, 11, 21, 4, 0, 30, tzinfo=UTC)  # a Saturday
CONTEXT = DateContext(NOW)
MINUTE, HOUR, DAY = 60, 3600, 86400

ABSOLUTE = [
    # ISO 8601, mail headers, and formats that programs print
    ("2026-11-06T13:03:00+08:00", "2026-11-06T05:03:00", 1),
    ("2026-11-06T13:03:00Z", "2026-11-06T13:03:00", 1),
    ("2026-11-06T13:03:00.123456+00:00", "2026-11-06T13:03:00", 1),
    ("2026-11-06T13:03+0100", "2026-11-06T12:03", MINUTE),
    ("2026-11-06 13:03:44", "2026-11-06T13:03:44", 1),
    ("20261106T130344Z", "2026-11-06T13:03:44", 1),
    ("2014/03/04 10:22", "2014-03-04T10:22", MINUTE),
    ("2014.03.04", "2014-03-04", DAY),
    ("Tue, 04 Mar 2014 22:22:00 GMT", "2014-03-04T22:22:00", 1),
    ("Tue, 04 Mar 2014 22:22:00 -0500", "2014-03-05T03:22:00", 1),
    ("Tue Mar  4 22:22:00 2014", "2014-03-04T22:22:00", 1),
    ("1394000520", "2014-03-05T06:22:00", 1),
    ("1394000520123", "2014-03-05T06:22:00.123", 1),
    # English
    ("Tue Mar 04, 2014 10:22 pm", "2014-03-04T22:22", MINUTE),
    ("Oct. 13, 2026, 8:02 a.m.", "2026-10-13T08:02", MINUTE),
    ("Oct. 13, 2026, 11 a.m.", "2026-10-13T11:00", MINUTE),
    ("Oct. 13, 2026, 12:02 a.m.", "2026-10-13T00:02", MINUTE),
    ("Sat 3rd Oct 2026, 12.00am", "2026-10-03T00:00", MINUTE),
    ("3 Oct 2026 4.31 p.m.", "2026-10-03T16:31", MINUTE),
    ("Oct. 13, 2026, noon", "2026-10-13T12:00", MINUTE),
    ("Oct. 13, 2026, midnight", "2026-10-13T00:00", MINUTE),
    ("19 Sep 26", "2026-09-19", DAY),
    ("19 Sep 26, 14:02", "2026-09-19T14:02", MINUTE),
    ("Sep 19, 26", "2026-09-19", DAY),
    ("Fri 14 Nov 25 at 9:12am", "2025-11-14T09:12", MINUTE),
    ("12-March 19", "2019-03-12", DAY),
    ("24 Oct 2026 : 21:42:07", "2026-10-24T21:42:07", 1),
    ("January 9th, 2016, 2:30 am", "2016-01-09T02:30", MINUTE),
    ("Oct 29, 2014 at 6:28 PM", "2014-10-29T18:28", MINUTE),
    ("April 30, 2021 3:16AM", "2021-04-30T03:16", MINUTE),
    ("Feb 24, 2006 02:35am", "2006-02-24T02:35", MINUTE),
    ("21st Nov 2026 04:00", "2026-11-21T04:00", MINUTE),
    ("13 Oct 2026", "2026-10-13", DAY),
    ("13-Oct-2019 14:33", "2019-10-13T14:33", MINUTE),
    ("July 25", "2026-07-25", DAY),
    ("Oct '19", "2019-10-01", 30 * DAY),
    ("August 2011", "2011-08-01", 30 * DAY),
    ("Posted: Fri Jan 01, 2010 12:00 am", "2010-01-01T00:00", MINUTE),
    ("Last post: Jan 2, 2024, 1:21 PM", "2024-01-02T13:21", MINUTE),
    ("Jan 2, 2024 1:21 PM EST", "2024-01-02T18:21", MINUTE),
    ("2/21/2024 5:00:00 AM", "2024-02-21T05:00:00", 1),
    ("07-21-2015 01:04 AM", "2015-07-21T01:04", MINUTE),
    ("2019-02-24, 02:31 AM", "2019-02-24T02:31", MINUTE),
    ("28/11/2025 at 7:07 pm", "2025-11-28T19:07", MINUTE),
    ("25/12/09", "2009-12-25", DAY),
    ("3/4 9:31PM", "2026-03-04T21:31", MINUTE),
    ("1/24 12:47AM", "2026-01-24T00:47", MINUTE),
    ("06/25", "2026-06-25", DAY),
    # Chinese, simplified and traditional
    ("2026年11月6日 13:03", "2026-11-06T13:03", MINUTE),
    ("2009-3-1 08:15", "2009-03-01T08:15", MINUTE),
    ("2009-3-1 08:15:22", "2009-03-01T08:15:22", 1),
    ("09-3-1 08:15", "2009-03-01T08:15", MINUTE),
    ("发表于 2009-3-1 08:15:22", "2009-03-01T08:15:22", 1),
    ("發表於 2009-3-1 08:15 PM", "2009-03-01T20:15", MINUTE),
    ("最后发表: 2009-3-1 08:15", "2009-03-01T08:15", MINUTE),
    ("6 十一月", "2026-11-06", DAY),
    ("6 十一月 2025", "2025-11-06", DAY),
    ("十一月 6, 2025, 1:03 下午", "2025-11-06T13:03", MINUTE),
    ("十一月六日", "2026-11-06", DAY),
    ("二〇〇九年三月一日", "2009-03-01", DAY),
    ("11月6日", "2026-11-06", DAY),
    ("11月6日 13:03", "2026-11-06T13:03", MINUTE),
    ("2009年3月1日 星期日 下午 3:05", "2009-03-01T15:05", MINUTE),
    ("2009年3月1日下午3点05分", "2009-03-01T15:05", MINUTE),
    ("2009年3月1日(日) 15:05", "2009-03-01T15:05", MINUTE),
    ("2009年3月1日 上午12:05", "2009-03-01T00:05", MINUTE),
    ("2009年3月", "2009-03-01", 30 * DAY),
    ("6-25", "2026-06-25", DAY),
    ("12-25", "2025-12-25", DAY),
    ("06-25 13:02", "2026-06-25T13:02", MINUTE),
    ("２００９－３－１　０８：１５", "2009-03-01T08:15", MINUTE),
    # Japanese and Korean
    ("2009年03月01日 20時15分", "2009-03-01T20:15", MINUTE),
    ("2009年03月01日 20時5分", "2009-03-01T20:05", MINUTE),
    ("2009/03/01(日) 20:15:33", "2009-03-01T20:15:33", 1),
    ("投稿日時：2009年3月1日 午後8:15", "2009-03-01T20:15", MINUTE),
    ("2009년 3월 1일 오후 8:15", "2009-03-01T20:15", MINUTE),
    ("2009. 3. 1. 20:15", "2009-03-01T20:15", MINUTE),
    # German
    ("25.06.2009, 14:33", "2009-06-25T14:33", MINUTE),
    ("25.06.09 14:33", "2009-06-25T14:33", MINUTE),
    ("25. Juni 2009, 14:33 Uhr", "2009-06-25T14:33", MINUTE),
    ("Do, 25. Jun 2009 um 14.33 Uhr", "2009-06-25T14:33", MINUTE),
    ("Verfasst am: 25.06.2009 14:33", "2009-06-25T14:33", MINUTE),
    ("Mi 3. Mär 2010, 09:05", "2010-03-03T09:05", MINUTE),
    # French
    ("Jeu Fév 07, 2008 9:55 pm", "2008-02-07T21:55", MINUTE),
    ("Mar Fév 22, 2005 11:48 pm", "2005-02-22T23:48", MINUTE),
    ("Jeu Mars 13, 2008 7:32 pm", "2008-03-13T19:32", MINUTE),
    ("Mar 25 Sep 2012 12:39", "2012-09-25T12:39", MINUTE),
    ("Lun 12 Aoû 2013 13:16", "2013-08-12T13:16", MINUTE),
    ("03-11-2008 à 21:40:00", "2008-11-03T21:40:00", 1),
    ("le 1er juin 2009 à 14h33", "2009-06-01T14:33", MINUTE),
    ("25 décembre 2009", "2009-12-25", DAY),
    # Spanish, Italian, Portuguese
    ("25 de junio de 2009 a las 14:33", "2009-06-25T14:33", MINUTE),
    ("Mié 3 Mar 2010, 9:05 p. m.", "2010-03-03T21:05", MINUTE),
    ("13 ago 2019", "2019-08-13", DAY),
    ("mar 3 mar 2020, 9:05", "2020-03-03T09:05", MINUTE),
    ("25 giugno 2009, alle 14:33", "2009-06-25T14:33", MINUTE),
    ("25 de junho de 2009 às 14:33", "2009-06-25T14:33", MINUTE),
    # Russian, Polish, Dutch
    ("Вт дек 09, 2014 12:27 pm", "2014-12-09T12:27", MINUTE),
    ("09 апр 2014, 10:28", "2014-04-09T10:28", MINUTE),
    ("9 апреля 2014 г. в 10:28", "2014-04-09T10:28", MINUTE),
    ("Добавлено: 9 мая 2014, 10:28", "2014-05-09T10:28", MINUTE),
    ("25 czerwca 2009, 14:33", "2009-06-25T14:33", MINUTE),
    ("do 25 jun 2009 14:33", "2009-06-25T14:33", MINUTE),
    ("25 Haziran 2009", "2009-06-25", DAY),
    # relative to the day of fetching, 2026-11-21; the precision is MINUTE if the text has a time
    ("昨天 12:30", "2026-11-20T12:30", MINUTE),
    ("前天 08:15", "2026-11-19T08:15", MINUTE),
    ("今天 01:02", "2026-11-21T01:02", MINUTE),
    ("前天", "2026-11-19", DAY),
    ("昨日 12:30", "2026-11-20T12:30", MINUTE),
    ("一昨日 12:30", "2026-11-19T12:30", MINUTE),
    ("어제 오후 3:05", "2026-11-20T15:05", MINUTE),
    ("Yesterday, 10:15 PM", "2026-11-20T22:15", MINUTE),
    ("Today at 3:04 am", "2026-11-21T03:04", MINUTE),
    ("Friday at 3:00 PM", "2026-11-20T15:00", MINUTE),
    ("Heute, 03:33 Uhr", "2026-11-21T03:33", MINUTE),
    ("Gestern um 14:33", "2026-11-20T14:33", MINUTE),
    ("Vorgestern, 14:33", "2026-11-19T14:33", MINUTE),
    ("aujourd'hui à 03:33", "2026-11-21T03:33", MINUTE),
    ("hier à 14h33", "2026-11-20T14:33", MINUTE),
    ("avant-hier à 14:33", "2026-11-19T14:33", MINUTE),
    ("ayer a las 14:33", "2026-11-20T14:33", MINUTE),
    ("ieri, 14:33", "2026-11-20T14:33", MINUTE),
    ("ontem às 14:33", "2026-11-20T14:33", MINUTE),
    ("gisteren om 14:33", "2026-11-20T14:33", MINUTE),
    ("wczoraj, 14:33", "2026-11-20T14:33", MINUTE),
    ("вчера, 14:33", "2026-11-20T14:33", MINUTE),
    ("Сегодня в 03:33", "2026-11-21T03:33", MINUTE),
    ("позавчера в 14:33", "2026-11-19T14:33", MINUTE),
    ("周五 15:00", "2026-11-20T15:00", MINUTE),
    ("03:02", "2026-11-21T03:02", MINUTE),
    ("23:02", "2026-11-20T23:02", MINUTE),
    ("2 days ago at 5:00 PM", "2026-11-19T17:00", MINUTE),
    ("3天前 12:30", "2026-11-18T12:30", MINUTE),
]
RELATIVE = [
    ("3 minutes ago", 180, MINUTE),
    ("an hour ago", HOUR, HOUR),
    ("a day ago", DAY, DAY),
    ("about 2 hours ago", 2 * HOUR, HOUR),
    ("1 hour, 5 minutes ago", 3900, MINUTE),
    ("half an hour ago", 1800, 1800),
    ("less than a minute ago", 60, MINUTE),
    ("a few seconds ago", 3, 3),
    ("2 weeks ago", 14 * DAY, 7 * DAY),
    ("1 month ago", 30 * DAY, 30 * DAY),
    ("2 years ago", 730 * DAY, 365 * DAY),
    ("last week", 7 * DAY, 7 * DAY),
    ("just now", 0, MINUTE),
    ("5m ago", 300, MINUTE),
    ("3h", 3 * HOUR, HOUR),
    ("2d", 2 * DAY, DAY),
    ("4mo ago", 120 * DAY, 30 * DAY),
    ("5 mins ago", 300, MINUTE),
    ("3分钟前", 180, MINUTE),
    ("3 分钟前", 180, MINUTE),
    ("三分鐘前", 180, MINUTE),
    ("半小时前", 1800, 1800),
    ("半小時前", 1800, 1800),
    ("半个小时前", 1800, 1800),
    ("两小时前", 2 * HOUR, HOUR),
    ("2个小时前", 2 * HOUR, HOUR),
    ("1小时5分钟前", 3900, MINUTE),
    ("5 天前", 5 * DAY, DAY),
    ("3周前", 21 * DAY, 7 * DAY),
    ("2个月前", 60 * DAY, 30 * DAY),
    ("1年前", 365 * DAY, 365 * DAY),
    ("刚刚", 0, MINUTE),
    ("剛剛", 0, MINUTE),
    ("6分", 360, MINUTE),
    ("3日前", 3 * DAY, DAY),
    ("2時間前", 2 * HOUR, HOUR),
    ("5分前", 300, MINUTE),
    ("3か月前", 90 * DAY, 30 * DAY),
    ("3시간 전", 3 * HOUR, HOUR),
    ("vor 2 Stunden", 2 * HOUR, HOUR),
    ("vor einem Tag", DAY, DAY),
    ("vor 5 Min.", 300, MINUTE),
    ("gerade eben", 0, MINUTE),
    ("il y a 5 minutes", 300, MINUTE),
    ("il y a un an", 365 * DAY, 365 * DAY),
    ("il y a une heure", HOUR, HOUR),
    ("hace 3 días", 3 * DAY, DAY),
    ("hace un mes", 30 * DAY, 30 * DAY),
    ("3 giorni fa", 3 * DAY, DAY),
    ("há 3 dias", 3 * DAY, DAY),
    ("3 dagen geleden", 3 * DAY, DAY),
    ("3 dni temu", 3 * DAY, DAY),
    ("5 часов назад", 5 * HOUR, HOUR),
    ("минуту назад", 60, MINUTE),
    ("полчаса назад", 1800, 1800),
    ("2 gün önce", 2 * DAY, DAY),
]
NOT_TIMES = """
12|1,234|$12.50|€ 9,99|1.2.3|v2.10.4|10.0.19045|192.168.1.12|3/5|24/7|16:9|4:3|1:1|F-16|iPhone \
6|3D|1080p
5 replies|17 posts|12:30 in the game|Page 1 of 5|1-20 of 300|555-1234|+1 555 123 \
4567|May|March|Sunday
Monday Night Football|second|Last post|posted|2014|2014 in total|50 cent|12-pack|Windows 95|10 \
people
may 5 people come|Re: 2009|anna|管理员|第3页|共12页|精华 5|3楼|回复 12|今日: 5|今日发帖 12|5万|1.2k|100%|#42
1st place|3rd|Level 7|#1394000520a|12345|999999999|99999999999|3 days left|in 3 days|через 3 дня|3天后
32.13.2009|2009-13-45|25:61|Feb 30, 2010|0:0|00000000|now online: 5|Today's topics|Topics: 3 \
Posts: 5
10:30 train to Hamburg|hier|Mar|so|am|1234567890123456|1 2 3 4 5|« 1 2 3 »|1 ... 9|A4|B2B|4x4|100 \
m|5 km|3 GB
200 Mb/s|RTX 3080 10-12|C++ 11|14 h per week|Sat nav|sec|min|day
"""


@pytest.mark.parametrize(
    ("text", "expected", "precision"), ABSOLUTE, ids=[row[0] for row in ABSOLUTE]
)
def test_absolute_times(text: str, expected: str, precision: int) -> None:
    value = datetime.fromisoformat(expected).replace(tzinfo=UTC)
    assert parse_time(text, CONTEXT) == Moment(value, precision, relative=False)


@pytest.mark.parametrize(
    ("text", "seconds", "precision"), RELATIVE, ids=[row[0] for row in RELATIVE]
)
def test_relative_times(text: str, seconds: int, precision: int) -> None:
    assert parse_time(text, CONTEXT) == Moment(
        NOW - timedelta(seconds=seconds), precision, relative=True
    )


@pytest.mark.parametrize("text", [text for text in NOT_TIMES.replace("\n", "|").split("|") if text])
def test_other_texts_are_no_times(text: str) -> None:
    assert parse_time(text, CONTEXT) is None
    assert find_time(text, CONTEXT) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("by anna » Tue Mar 04, 2014 10:22 pm", "2014-03-04T22:22"),
        ("anna 发表于 2009-3-1 08:15:22 | 只看该作者", "2009-03-01T08:15:22"),
        ("本帖最后由 anna 于 2009-3-1 08:15 编辑", "2009-03-01T08:15"),
        ("Last post by anna, Yesterday, 10:15 PM", "2026-11-20T22:15"),
        ("Started by anna, 13 Oct 2019 14:33, 5 replies", "2019-10-13T14:33"),
        ("von anna am 25.06.2009 14:33 in Spiele", "2009-06-25T14:33"),
        ("Re: Deck 7 by bob 2014-08-31 05:46", "2014-08-31T05:46"),
        ("Member since 13 Oct 2019, 7 posts", "2019-10-13"),
    ],
)
def test_finds_a_time_inside_longer_text(text: str, expected: str) -> None:
    moment = find_time(text, CONTEXT)
    assert moment is not None
    assert moment.value == datetime.fromisoformat(expected).replace(tzinfo=UTC)
    assert parse_time(text, CONTEXT) is None


def test_finds_a_relative_time_inside_longer_text() -> None:
    moment = find_time("anna replied 3 minutes ago in Games", CONTEXT)
    assert moment == Moment(NOW - timedelta(minutes=3), 60, relative=True)
    assert find_time("anna 3分钟前 回复", CONTEXT) == moment


def test_local_times_are_of_the_page_s_zone_and_offsets_win() -> None:
    shanghai = DateContext(NOW, timezone="Asia/Shanghai")
    assert parse_time("2026年11月6日 13:03", shanghai) == Moment(
        datetime(2026, 11, 6, 5, 3, tzinfo=UTC), 60
    )
    assert parse_time("2026-11-06 13:03 GMT", shanghai) == Moment(
        datetime(2026, 11, 6, 13, 3, tzinfo=UTC), 60
    )
    # 04:00 in London is 12:00 in Shanghai: "yesterday" is the 20th there
    assert parse_time("昨天 23:30", shanghai) == Moment(
        datetime(2026, 11, 20, 15, 30, tzinfo=UTC), 60
    )
    berlin = DateContext(NOW, timezone="Europe/Berlin")
    assert parse_time("25.06.2009, 14:33", berlin) == Moment(
        datetime(2009, 6, 25, 12, 33, tzinfo=UTC), 60
    )
    assert parse_time("25.12.2009, 14:33", berlin) == Moment(
        datetime(2009, 12, 25, 13, 33, tzinfo=UTC), 60
    )


def test_a_year_that_is_not_told_is_never_in_the_future_and_follows_the_row_above() -> None:
    assert parse_time("11-22", CONTEXT) == Moment(
        datetime(2026, 11, 22, tzinfo=UTC), DAY
    )  # tomorrow is possible: the site's time zone may be ahead
    assert parse_time("11-23", CONTEXT) == Moment(datetime(2025, 11, 23, tzinfo=UTC), DAY)
    below = DateContext(NOW, newest=datetime(2025, 3, 1, tzinfo=UTC))
    assert parse_time("6-25 10:00", below) == Moment(datetime(2024, 6, 25, 10, tzinfo=UTC), 60)
    assert parse_time("Feb 29", CONTEXT) == Moment(datetime(2024, 2, 29, tzinfo=UTC), DAY)
    thursday = datetime(
        2025, 6, 5, 10, tzinfo=UTC
    )  # 5 June was a Thursday in 2025, but a Friday in 2026
    assert parse_time("Thu 5 Jun 10:00", CONTEXT) == Moment(thursday, 60)


def test_day_and_month_in_the_order_the_site_has() -> None:
    first, month = DateContext(NOW, day_first=True), DateContext(NOW, day_first=False)
    assert parse_time("03/04/2014 10:00", first) == Moment(datetime(2014, 4, 3, 10, tzinfo=UTC), 60)
    assert parse_time("03/04/2014 10:00", month) == Moment(datetime(2014, 3, 4, 10, tzinfo=UTC), 60)
    assert parse_time("13/04/2014", month) == Moment(datetime(2014, 4, 13, tzinfo=UTC), DAY)
    assert parse_time("03/04/2014 10:00 PM", CONTEXT) == Moment(
        datetime(2014, 3, 4, 22, tzinfo=UTC), 60
    )
    assert parse_time("12/11/2026", CONTEXT) == Moment(
        datetime(2026, 11, 12, tzinfo=UTC), DAY
    )  # not in December, which is in the future
    assert parse_time("05-06", first) == Moment(datetime(2026, 6, 5, tzinfo=UTC), DAY)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["03/04/2014", "25/04/2014"], True),
        (["03/04/2014", "04/25/2014 10:00 PM"], False),
        (["03/04/2014"], None),
        ([], None),
        (["25/04/2014", "04/25/2014"], None),
        (["05/04/2014", "03/04/2014", "12/03/2014", "10/03/2014"], True),
        (["04/05/2014", "04/03/2014", "03/12/2014", "03/10/2014"], False),
        (["01.02.2014", "anna", "14.02.2014, 10:00"], True),
    ],
)
def test_evidence_for_the_order_of_day_and_month(texts: list[str], expected: bool | None) -> None:
    assert decide_day_first(texts) is expected


@pytest.mark.parametrize(
    "text", ["2019. május 5., 14:33", "5 травня 2019 14:33", "ngày 5 tháng 5 năm 2019 14:33"]
)
def test_languages_beyond_our_words_by_their_letters(text: str) -> None:
    moment = parse_time(text, CONTEXT)
    assert moment is not None
    assert moment.value == datetime(2019, 5, 5, 14, 33, tzinfo=UTC)


TUESDAY = datetime(2026, 3, 10, 12, tzinfo=UTC)
DECLARED = """
hr|1. lis 2025, 14:00|2025-10-01T14:00
pl|1 lis 2025, 14:00|2025-11-01T14:00
cs|5. listopadu 2025 21:14|2025-11-05T21:14
hr|5. listopada 2025. u 21:14|2025-10-05T21:14
hr|Sat 12 Oct 2024 10:00|2024-10-12T10:00
ar|٢٢/٩/٢٠٢٥, ٩:٠٥:٤٣ م|2025-09-22T21:05:43
el|5 Μαρ 2026, 9:14 μ.μ.|2026-03-05T21:14
fi|22.9.2025 klo 21.05.43|2025-09-22T21:05:43
fi|eilen klo 11.50|2026-03-09T11:50
da|22.9.2025 21.05.43|2025-09-22T21:05:43
da|for 3 timer siden|2026-03-10T09:00
fr-ca|2025-09-22, 21 h 05 min 43 s|2025-09-22T21:05:43
sl|1. okt. 2025 ob 14:00|2025-10-01T14:00
vi|1 Tháng mười 2025, 14:00|2025-10-01T14:00
vi|Hôm qua, lúc 11:50|2026-03-09T11:50
id|Kemarin jam 11:50|2026-03-09T11:50
id|3 jam yang lalu|2026-03-10T09:00
uk|Сьогодні о 09:15|2026-03-10T09:15
uk|12 хвилин тому|2026-03-10T11:48
cs|dnes v 9:15|2026-03-10T09:15
cs|před 3 hodinami|2026-03-10T09:00
sk|pred 3 hodinami|2026-03-10T09:00
el|Χθες, 11:50|2026-03-09T11:50
el|πριν από 3 ώρες|2026-03-10T09:00
hu|ma, 9:15|2026-03-10T09:15
hu|3 órája|2026-03-10T09:00
th|เมื่อวานนี้ 11:50|2026-03-09T11:50
th|3 ชั่วโมงที่แล้ว|2026-03-10T09:00
ar|منذ 3 ساعات|2026-03-10T09:00
he|לפני 3 שעות|2026-03-10T09:00
he|לפני שעתיים|2026-03-10T10:00
ro|acum 25 de minute|2026-03-10T11:35
ro|mar 10 mar 2026 09:05|2026-03-10T09:05
et|eile kell 11:50|2026-03-09T11:50
lv|pirms 3 stundām|2026-03-10T09:00
ca|fa 3 hores|2026-03-10T09:00
hi|3 घंटे पहले|2026-03-10T09:00
bn|৫ মার্চ ২০২৬, ২১:১৪|2026-03-05T21:14
sr|juče u 11:50|2026-03-09T11:50
zh-cn|2026年1月5日 中午12:05|2026-01-05T12:05
zh-cn|2026年1月5日 中午1:30|2026-01-05T13:30
zh-cn|2026年1月5日 午夜12:05|2026-01-05T00:05
ja|2026年1月5日 正午12:05|2026-01-05T12:05
ko|2026년 1월 5일 정오 12:05|2026-01-05T12:05
fa|۱۴۰۴/۰۶/۳۱، ۲۱:۰۵|2025-09-22T21:05
fa|۱ مهر ۱۴۰۴ - ۰۸:۱۵|2025-09-23T08:15
fa|دیروز ۲۱:۰۵|2026-03-09T21:05
th|23 ก.ย. 2568 เวลา 08:15 น.|2025-09-23T08:15
th|22 ก.พ. 69 21:05|2026-02-22T21:05
th|22/09/2568 21:05|2025-09-22T21:05
zh-tw|民國114年9月22日 21:05|2025-09-22T21:05
zh-tw|114/10/01 14:00|2025-10-01T14:00
ja|令和7年9月23日(火) 08:15|2025-09-23T08:15
ja|R7.10.1 14:00|2025-10-01T14:00
ja|平成30年9月23日 08:15|2018-09-23T08:15
en|Tuesday at 5:14 PM|2026-03-03T17:14
en|Tuesday at 5:14 AM|2026-03-10T05:14
de|Dienstag, 17:14|2026-03-03T17:14
ru|вторник, 17:14|2026-03-03T17:14
zh|周二 17:14|2026-03-03T17:14
cs|úterý v 17:14|2026-03-03T17:14
en|Wednesday at 5:14 PM|2026-03-04T17:14
lt|2025 m. rugsėjo 22 d., 21:05|2025-09-22T21:05
lt|2025 m. lapkričio 3 d., pirmadienis 14:00|2025-11-03T14:00
lt|2025-09-22 21:05:43|2025-09-22T21:05:43
lt|vakar 11:50|2026-03-09T11:50
lt|šiandien 09:15|2026-03-10T09:15
lt|prieš 3 valandas|2026-03-10T09:00
lt|prieš 12 minučių|2026-03-10T11:48
lv|2025. gada 22. septembris, 21:05|2025-09-22T21:05
lv|pirmdiena, 2025. gada 22. sept. 21:05:43|2025-09-22T21:05:43
lv|vakar 11:50|2026-03-09T11:50
lv|šodien 09:15|2026-03-10T09:15
lv|pirms 3 dienām|2026-03-07T12:00
eu|2025(e)ko irailaren 22(a), 21:05|2025-09-22T21:05
hy|2025 թ. նոյեմբերի 3, 14:00|2025-11-03T14:00
kk|2025 ж. 22 қыркүйек, 21:05|2025-09-22T21:05
ky|2025-ж., 22-сентябрь, 21:05|2025-09-22T21:05
th|5 มี.ค. 2026 08:15|2026-03-05T08:15
th|22 กันยายน ค.ศ. 2025, 21:05 น.|2025-09-22T21:05
te|22, సెప్టెంబర్ 2025, సోమవారం 21:05|2025-09-22T21:05
my|2025 စက်တင်ဘာ 22၊ တနင်္လာ 21:05|2025-09-22T21:05
he|22 בספט׳ 2025, 21:05|2025-09-22T21:05
sw|dakika 12 zilizopita|2026-03-10T11:48
sw|siku 3 zilizopita|2026-03-07T12:00
az|3 saat əvvəl|2026-03-10T09:00
fi|5. maaliskuuta 2026 klo 21.14|2026-03-05T21:14
et|5. märtsil 2026, 21:14|2026-03-05T21:14
|2025 m. rugsėjo 22 d., 21:05|2025-09-22T21:05
|2025. gada 3. jūnijs 14:00|2025-06-03T14:00
|22 सितंबर 2025, 21:05|2025-09-22T21:05
|22 სექტემბერი, 2025 21:05|2025-09-22T21:05
"""


@pytest.mark.parametrize("row", DECLARED.split("\n")[1:-1])
def test_times_in_the_language_that_a_page_declares(row: str) -> None:
    language, text, expected = row.split("|")
    moment = parse_time(text, DateContext(TUESDAY, language=language))
    assert moment is not None
    assert moment.value == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "row",
    [
        "hr|za 3 dana",
        "sk|o 3 dni",
        "cs|5 odpovědí",
        "fi|3 viestiä",
        "el|12 απαντήσεις",
        "lt|22 žinutės",
    ],
)
def test_what_is_no_time_in_the_declared_language(row: str) -> None:
    language, text = row.split("|")
    assert parse_time(text, DateContext(TUESDAY, language=language)) is None


@pytest.mark.parametrize("text", ["Вчора, 11:50", "Χθες, 11:50", "אתמול 11:50", "أمس 11:50"])
def test_relative_times_count_from_each_time_of_fetching_in_the_site_s_zone(text: str) -> None:
    for day in (3, 10):
        context = DateContext(datetime(2026, 3, day, 22, tzinfo=UTC), timezone="Asia/Tokyo")
        # 22:00 UTC is the next day in Tokyo
        expected = datetime(2026, 3, day, 2, 50, tzinfo=UTC)
        assert parse_time(text, context) == Moment(expected, MINUTE)


def test_marks_of_direction_are_no_part_of_a_time() -> None:
    assert parse_time("28 במרץ,\u200f 2020", CONTEXT) == Moment(
        datetime(2020, 3, 28, tzinfo=UTC), DAY
    )


SHAPES = [
    "%Y-%m-%d %H:%M:%S",
    "%d %b %Y %H:%M:%S",
    "%a %b %d, %Y %I:%M:%S %p",
    "%d.%m.%Y, %H:%M:%S",
    "%B %d, %Y %I:%M:%S%p",
    "%Y/%m/%d %H:%M:%S",
    "%Y年%m月%d日 %H:%M:%S",
    "%a, %d %b %Y %H:%M:%S +0000",
    "%Y-%m-%dT%H:%M:%SZ",
    "%c",
]
MOMENTS = st.datetimes(datetime(1996, 1, 1), datetime(2026, 11, 20)).map(
    lambda value: value.replace(microsecond=0)
)


@given(MOMENTS, st.sampled_from(SHAPES))
def test_what_is_written_is_read_back(value: datetime, shape: str) -> None:
    assert parse_time(value.strftime(shape), CONTEXT) == Moment(value.replace(tzinfo=UTC), 1)


@given(st.text(max_size=60))
def test_any_text_is_read_without_an_error(text: str) -> None:
    for moment in (parse_time(text, CONTEXT), find_time(text, CONTEXT)):
        assert moment is None or moment.value.tzinfo is UTC


@given(st.text(alphabet="0123456789 :/-.,apmAPM年月日前天R;GM'+", max_size=40))
def test_texts_made_of_the_pieces_of_times_do_no_harm(text: str) -> None:
    moment = parse_time(text, CONTEXT)
    assert moment is None or moment.value <= NOW + timedelta(days=365 * 80)


@given(st.integers(min_value=1, max_value=99))
def test_chinese_numerals_are_read_back(number: int) -> None:
    assert chinese_value(chinese(number)) == number


def test_titles_are_told_from_times_before_any_expression_is_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[object] = []
    monkeypatch.setattr(dates_parsing, "_read", lambda coded, whole: tried.append(coded))
    for number in range(500):
        assert parse_time(f"title {number} of something else", CONTEXT) is None
        assert parse_time(f"тема {number} о чём-то другом", CONTEXT) is None
    assert tried == []


def test_a_very_long_text_is_looked_at_only_in_its_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[int] = []
    monkeypatch.setattr(
        dates_parsing, "canonical", lambda text, *_: looked.append(len(text)) or canonical(text)
    )
    assert find_time("1 2:3 " * 200_000, CONTEXT) is None
    assert looked == [dates.LONGEST_INSIDE]
