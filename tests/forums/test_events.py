"""Event files in any order, plain or gzipped, with invalid rows; daylight saving changes."""

import gzip
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from forums.schedule.events import EventsError, LocalClock, from_rows, read_events

ROWS = "board,thread,kind,ts\nb,1,reply,300\na,7,new,100\nb,1,new,300\na,7,reply,200\n"


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz"])
def test_reads_any_order_plain_or_gzip(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(ROWS.encode()) if name.endswith("gz") else ROWS.encode())
    events, bad = read_events(path)
    assert events.times.tolist() == [100, 200, 300, 300]
    assert [events.boards[number] for number in events.board] == ["a", "a", "b", "b"]
    assert events.opener.tolist() == [True, False, True, False]
    assert events.weights(0.5).tolist() == [1.0, 0.5, 1.0, 0.5]
    assert bad.count == 0


def test_bad_rows_are_counted_with_their_line_and_not_fatal(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(
        ROWS + "b,1\nb,1,edit,5\n\nb,1,new,soon\n,1,new,5\nb,1,new,nan\nb,1,new,1e30\nb,2,new,400\n"
    )
    events, bad = read_events(path)
    assert len(events) == 5
    assert [row.line for row in bad.first] == [6, 7, 9, 10, 11, 12]
    assert bad.count == 6


def test_many_bad_rows_keep_only_the_first(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(ROWS + "x\n" * 500)
    bad = read_events(path)[1]
    assert bad.count == 500 and len(bad.first) == 20


@pytest.mark.parametrize(
    "content", ["", "a,b\n1,2\n", "board,thread,kind,ts\n", "board,thread,kind,ts\nx\n"]
)
def test_a_file_that_is_no_log_is_refused(tmp_path, content):
    path = tmp_path / "log.csv"
    path.write_text(content)
    with pytest.raises(EventsError):
        read_events(path)


def test_a_file_that_is_absent_or_torn_is_refused(tmp_path):
    with pytest.raises(EventsError):
        read_events(tmp_path / "none.csv")
    torn = tmp_path / "torn.csv.gz"
    torn.write_bytes(gzip.compress(ROWS.encode() * 50)[:40])
    with pytest.raises(EventsError):
        read_events(torn)


def test_threads_of_two_boards_with_one_number_are_two():
    events = from_rows([("a", "1", True, 0.0), ("b", "1", True, 1.0)])
    assert events.thread.tolist() == [0, 1]


def test_only_and_between_keep_boards_and_times_together():
    events = from_rows(
        [
            ("a", "1", True, 0.0),
            ("b", "2", True, 1.0),
            ("c", "3", True, 2.0),
            ("b", "2", False, 3.0),
        ]
    )
    part = events.only(np.array([False, True, True])).between(1.0, 3.0)
    assert part.boards == ("b", "c")
    assert part.board.tolist() == [0, 1]
    assert part.times.tolist() == [1.0, 2.0]


def test_theta_outside_its_range_is_refused():
    with pytest.raises(ValueError, match="theta"):
        from_rows([("a", "1", True, 0.0)]).weights(0.0)


def test_local_hours_follow_daylight_saving():
    zone = ZoneInfo("Europe/Berlin")
    start = datetime(2026, 3, 28, tzinfo=UTC).timestamp()
    clock = LocalClock(zone, start, start + 3 * 86400)
    moments = start + np.array([0.0, 24.5, 25.5, 40.0]) * 3600
    expected = [datetime.fromtimestamp(moment, zone) for moment in moments]
    hours = clock.local_hours(moments) % 24
    assert hours.tolist() == pytest.approx(
        [moment.hour + moment.minute / 60 for moment in expected]
    )
