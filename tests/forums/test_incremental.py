"""The incremental visit of a board: change signatures, stop conditions, pinned and shifting rows,
interrupted visits."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from crawlmgr.text.dates import Moment
from forums.visits.incremental import (
    BoardFacts,
    Row,
    Visit,
    VisitState,
    differs,
    misplaced,
    signature,
    sorted_by_last_reply,
    watermark,
)

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def at(hours_ago: float, precision: int = 60, relative: bool = False) -> Moment:
    return Moment(NOW - timedelta(hours=hours_ago), precision, relative)


def row(number: int, hours_ago: float | None = 1.0, **values: object) -> Row:
    return Row(
        f"t{number}",
        f"http://f/t/{number}",
        at(hours_ago) if hours_ago is not None else None,
        **values,
    )  # type: ignore[arg-type]


def facts(**values: object) -> BoardFacts:
    base = BoardFacts(
        watermark=NOW - timedelta(hours=10), since=None, max_pages=50, slack_seconds=120
    )
    return replace(base, **values)  # type: ignore[arg-type]


def sigs(*rows: Row) -> dict[str, dict[str, object]]:
    return {r.key: signature(r) for r in rows}


class TestSignature:
    def test_count_author_and_last_post_differ_in_both_directions(self) -> None:
        base = row(1, replies=4, last_author="a", last_post="p9")
        for change in ({"replies": 5}, {"replies": 3}, {"last_author": "b"}, {"last_post": "p10"}):
            assert differs(signature(base), signature(replace(base, **change)))
        assert not differs(signature(base), signature(base))

    def test_a_component_only_one_side_has_is_no_signal(self) -> None:
        assert not differs(
            signature(row(1, replies=4)), signature(row(1, replies=4, last_author="b"))
        )
        assert not differs({}, signature(row(1, replies=4)))

    def test_absolute_times_differ_beyond_their_precision(self) -> None:
        assert differs(signature(row(1, 2.0)), signature(row(1, 1.0)))
        day = Row("t", "u", at(20, 86400))
        assert not differs(signature(day), signature(Row("t", "u", at(19.5))))

    def test_a_coarse_relative_time_alone_is_no_change_where_count_is_known(self) -> None:
        old = Row("t", "u", at(72, 86400, True), replies=4)
        assert not differs(signature(old), signature(Row("t", "u", at(24, 86400, True), replies=4)))
        assert differs(signature(old), signature(Row("t", "u", at(72, 86400, True), replies=5)))

    def test_without_count_a_relative_time_must_leave_both_bands(self) -> None:
        old = Row("t", "u", at(72, 86400, True))
        assert not differs(signature(old), signature(Row("t", "u", at(50, 86400, True))))
        assert differs(signature(old), signature(Row("t", "u", at(2, 3600, True))))

    def test_a_count_that_one_side_shows_leaves_a_relative_time_its_say(self) -> None:
        counted = Row("t", "u", at(72, 86400, True), replies=4)
        plain = Row("t", "u", at(2, 3600, True))
        assert differs(signature(counted), signature(plain)) and differs(
            signature(plain), signature(counted)
        )


class TestOrder:
    def test_leading_old_rows_are_misplaced(self) -> None:
        rows = [row(1, 500), row(2, 300), row(3, 1), row(4, 2), row(5, 3), row(6, 4)]
        assert misplaced(rows) == {"t1", "t2"}
        assert sorted_by_last_reply(rows[2:])

    def test_a_sorted_list_hides_nothing(self) -> None:
        assert misplaced([row(i, float(i)) for i in range(1, 9)]) == set()

    def test_order_by_opening_is_not_order_by_reply(self) -> None:
        rows = [row(1, 50), row(2, 3), row(3, 80), row(4, 1), row(5, 70), row(6, 2)]
        assert not sorted_by_last_reply(rows)


class TestStops:
    def test_watermark_saves_the_extra_page(self) -> None:
        rows = [row(1, 1, replies=3), row(2, 20, replies=1), row(3, 30, replies=2)]
        known = sigs(replace(rows[0], replies=2), *rows[1:])
        visit = Visit(facts(), NOW)
        decision = visit.read("http://f/b", rows, "http://f/b?page=2", known)
        assert [r.key for r in decision.changed] == ["t1"]
        assert (
            decision.next_url == ""
            and visit.state.stopped_by == "watermark"
            and visit.state.complete
        )

    def test_the_watermark_leaves_the_slack_and_the_precision_of_the_time(self) -> None:
        for seconds, stopped_by in (
            (170, ""),
            (190, "watermark"),
        ):  # limit: 60 s precision + 120 s slack
            rows = [row(1, 1, replies=3), row(2, 10 + seconds / 3600)]
            visit = Visit(facts(), NOW)
            visit.read("u", rows, "u2", sigs(replace(rows[0], replies=2), rows[1]))
            assert visit.state.stopped_by == stopped_by

    def test_a_change_on_every_row_reads_on_and_page_one_is_read_again(self) -> None:
        visit = Visit(facts(), NOW)
        first = visit.read("http://f/b", [row(1, 1), row(2, 2)], "http://f/b?page=2", {})
        assert first.next_url == "http://f/b?page=2"
        old = [row(3, 3), row(4, 20), row(5, 30)]
        second = visit.read(first.next_url, old, "http://f/b?page=3", sigs(*old))
        assert second.next_url == "http://f/b" and visit.state.phase == "recheck"
        jumped = row(6, 0.1)
        third = visit.read(
            second.next_url, [jumped, row(1, 1)], "http://f/b?page=2", sigs(row(1, 1))
        )
        assert [r.key for r in third.changed] == ["t6"] and third.next_url == ""
        assert visit.state.complete and visit.state.stopped_by == "watermark"

    def test_no_change_stops_without_times(self) -> None:
        rows = [row(i, None, replies=i) for i in range(4)]
        visit = Visit(facts(), NOW)
        visit.read("u", rows, "u2", sigs(*rows))
        assert visit.state.stopped_by == "unchanged" and visit.state.complete

    def test_pinned_rows_are_fetched_but_neutral(self) -> None:
        pinned = row(1, 2000, pinned=True, replies=9)
        rest = [row(2, 1, replies=1), row(3, 2, replies=1), row(4, 3, replies=1)]
        known = sigs(replace(pinned, replies=8), *rest)
        visit = Visit(facts(), NOW)
        decision = visit.read("u", [pinned, *rest], "u2", known)
        assert [r.key for r in decision.changed] == ["t1"]
        assert visit.state.stopped_by == "unchanged"

    def test_an_old_pinned_row_does_not_fire_the_watermark(self) -> None:
        rows = [row(1, 2000, pinned=True, replies=9), row(2, 1), row(3, 2)]
        visit = Visit(facts(), NOW)
        decision = visit.read("u", rows, "u2", sigs(rows[0]))
        assert decision.next_url == "u2"

    def test_first_visit_stops_at_history_and_keeps_old_rows_apart(self) -> None:
        visit = Visit(facts(watermark=None, since=NOW - timedelta(days=2)), NOW)
        one = visit.read("u", [row(1, 1), row(2, 30), row(3, 70)], "u2", {})
        assert [r.key for r in one.old] == ["t3"] and one.next_url == "u2"
        two = visit.read("u2", [row(4, 80), row(5, 90)], "u3", {})
        assert not two.changed and visit.state.stopped_by == "history" and two.next_url == "u"

    def test_max_pages_leaves_the_visit_unfinished(self) -> None:
        visit = Visit(facts(watermark=None, max_pages=2), NOW)
        visit.read("u", [row(1, 1)], "u2", {})
        visit.read("u2", [row(2, 2)], "u3", {})
        assert (
            visit.state.stopped_by == "max_pages"
            and not visit.state.complete
            and visit.state.last_url == "u2"
        )

    def test_an_empty_first_page_is_told_and_not_complete(self) -> None:
        visit = Visit(facts(), NOW)
        visit.read("u", [], None, {})
        assert visit.state.stopped_by == "no_records" and not visit.state.complete

    def test_endless_pages_of_the_same_rows_end(self) -> None:
        rows = [row(i, None) for i in range(3)]
        visit = Visit(facts(watermark=None), NOW)
        url = "u1"
        for number in range(2, 20):
            decision = visit.read(url, rows, f"u{number}", {})
            if visit.state.phase == "recheck" or not decision.next_url:
                break
            url = decision.next_url
        assert visit.state.stopped_by == "no_new_rows" and visit.state.pages_read <= 4

    def test_an_unknown_thread_behind_the_watermark_is_still_fetched(self) -> None:
        rows = [row(1, 1), row(2, 20)]
        decision = Visit(facts(), NOW).read("u", rows, "u2", sigs(rows[0]))
        assert [r.key for r in decision.changed] == ["t2"]

    def test_watermark_is_the_newest_reply_seen_never_later_than_the_start(self) -> None:
        visit = Visit(facts(), NOW)
        visit.read("u", [row(1, 1), row(2, 20)], None, {})
        assert watermark(visit.state, NOW) == NOW - timedelta(hours=1)
        assert watermark(VisitState(), NOW) == NOW
        assert watermark(VisitState(newest=(NOW + timedelta(hours=3)).isoformat()), NOW) == NOW


class TestInterrupted:
    def test_resumes_where_the_interrupted_visit_stood(self) -> None:
        """Page 1 looks unchanged; without resuming, the rows of pages 2 and 3 would be lost."""
        limits = facts(resume_url="http://f/b?page=3", resume_page=3)
        visit = Visit(limits, NOW)
        top = [row(1, 1), row(2, 2)]
        one = visit.read("http://f/b", top, "http://f/b?page=2", sigs(*top))
        assert one.next_url == "http://f/b?page=3" and visit.state.phase == "resume"
        read_before = [row(5, 5), row(6, 6)]
        two = visit.read(one.next_url, read_before, "http://f/b?page=4", sigs(*read_before))
        assert two.next_url == "http://f/b?page=4", (
            "the page where the other visit stopped says nothing about the end"
        )
        lost = [row(7, 7), row(8, 30)]
        three = visit.read(two.next_url, lost, "http://f/b?page=5", sigs(lost[1]))
        assert [r.key for r in three.changed] == ["t7"] and visit.state.stopped_by == "watermark"

    def test_the_page_of_an_interrupted_visit_proves_nothing_when_reached_by_reading_on(
        self,
    ) -> None:
        visit = Visit(facts(resume_url="u2", resume_page=2), NOW)
        assert visit.read("u", [row(1, 1)], "u2", {}).next_url == "u2"
        read_before, older = [row(2, 2), row(3, 3)], [row(4, 4), row(5, 5)]
        assert visit.read("u2", read_before, "u3", sigs(*read_before)).next_url == "u3"
        visit.read("u3", older, "u4", sigs(*older))
        assert visit.state.stopped_by == "unchanged" and visit.state.phase == "recheck"

    def test_first_visit_goes_on_after_what_was_read(self) -> None:
        limits = facts(watermark=None, resume_url="u5", resume_page=5)
        visit = Visit(limits, NOW)
        top = [row(1, 1), row(2, 2)]
        assert visit.read("u", top, "u2", sigs(*top)).next_url == "u5"

    def test_state_survives_json(self) -> None:
        visit = Visit(facts(), NOW)
        visit.read("u", [row(1, 1), row(2, 2)], "u2", {})
        again = Visit(facts(), NOW, VisitState.from_json(visit.state.to_json()))
        decision = again.read("u2", [row(2, 2), row(3, 3)], None, {})
        assert [r.key for r in decision.changed] == ["t3"], (
            "a row that shifted down is not met twice"
        )


@hypothesis_settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 60),
    st.integers(2, 9),
    st.lists(st.tuples(st.integers(0, 200), st.booleans()), max_size=30),
    st.integers(0, 3),
    st.integers(0, 2**32),
)
@example(4, 2, [(0, False), (0, True), (1, False), (2, False)], 3, 0)
def test_a_visit_finds_every_change_whatever_happens_while_it_pages(
    threads: int, per_page: int, changes: list[tuple[int, bool]], during: int, seed: int
) -> None:
    """A board sorted by last reply, changed between two complete visits and while the second one
    reads its pages: recall 1, precision 1."""
    clock = NOW
    board = {n: [clock - timedelta(hours=1 + n), 0] for n in range(threads)}

    def listing() -> list[Row]:
        order = sorted(board, key=lambda n: board[n][0], reverse=True)
        return [
            Row(f"t{n}", f"u/{n}", Moment(board[n][0], 1, False), replies=board[n][1])
            for n in order
        ]

    known = sigs(*listing())
    start = clock + timedelta(minutes=10)
    touched: set[str] = set()

    def change(pick: int, new: bool, when: datetime) -> None:
        number = len(board) if new else pick % len(board)
        board[number] = [when, board.get(number, [when, -1])[1] + 1]
        touched.add(f"t{number}")

    for index, (pick, new) in enumerate(changes):
        change(pick, new, clock + timedelta(seconds=10 + index))
    due = set(touched)
    visit = Visit(facts(watermark=clock - timedelta(hours=1), slack_seconds=60), start)
    page, found = 1, []
    for step in range(200):
        rows = listing()
        shown = rows[(page - 1) * per_page : page * per_page]
        more = len(rows) > page * per_page
        decision = visit.read(f"p{page}", shown, f"p{page + 1}" if more else None, known)
        found += [r.key for r in decision.changed]
        if not decision.next_url:
            break
        page = int(decision.next_url[1:])
        if step < during:
            change(seed + step, False, start + timedelta(seconds=step))
    assert visit.state.complete
    assert due <= set(found), visit.state.stopped_by
    assert set(found) <= touched and len(found) == len(set(found))
