"""How the asking of a form begins: a choice without a word, and the words of what it brings."""

from __future__ import annotations

from deepweb.beginning import LONE_CHOICES, lone_choice, words_of_records
from deepweb.seen import Choice, Seen, Term
from deepweb.template_search import Slot

SLOTS = [Slot(("empty",)), *(Slot((f"choice{place}",), ("a", "b")) for place in range(LONE_CHOICES + 2))]


def test_each_of_the_first_inputs_is_asked_by_itself_once_until_records_are_known() -> None:
    seen = Seen()
    asked = []
    while (query := lone_choice(SLOTS, seen)) is not None:
        asked.append(query)
        seen.add(Choice(query), [], False)
    assert asked == [(Term(f"choice{place}", "a"),) for place in range(LONE_CHOICES)]
    known = Seen()
    known.add(Choice((Term("q", "lute"),)), [(1, [Term("q", "lute")])], False)
    assert lone_choice(SLOTS, known) is None and lone_choice([], Seen()) is None


def test_the_words_of_most_records_come_first_and_only_those_for_the_box() -> None:
    seen = Seen()
    found = [(1, [Term("q", "rare"), Term("q", "common"), Term("kind", "x")]), (2, [Term("q", "common"), Term("kind", "x")])]
    seen.add(Choice((Term("kind", "x"),)), found, False)
    assert words_of_records(seen, "q") == [Term("q", "common"), Term("q", "rare")]
    assert words_of_records(seen, "other") == []
