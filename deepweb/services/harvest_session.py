"""The in-memory state of a harvest: its answers, and the choice of the next query. It is rebuilt from the query log, so a kill
loses nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from deepweb.beginning import (
    Way,
    calibration,
    forget_what_was_shown,
    in_vain,
    lone_choice,
    looks_inside_values,
    page_words,
    paper_words,
    unfiltered,
    ways_of,
    words_of_records,
)
from deepweb.field_roles import FieldRole
from deepweb.form_roles import settled
from deepweb.inside_words import InsideWords, looks_inside
from deepweb.models import COUNTED, Harvest, Query, QueryKind, QueryState, Record
from deepweb.paper_policy import PaperPolicy
from deepweb.parts import Parts, parts_of
from deepweb.query_log import Logged, QueryLog
from deepweb.range_places import RangePlaces
from deepweb.result_list import Furniture, ListShape
from deepweb.results import NoResultPages, learn_no_result_pages, nonsense_word
from deepweb.searched import hits_of, how_words_combine, telling_word
from deepweb.seen import Choice, Seen, Term, cut_at, likely_cut
from deepweb.seen import Query as Terms
from deepweb.selection import FreshPolicy
from deepweb.services import forms
from deepweb.services.cluster_words import cluster_terms, paid_words
from deepweb.services.harvest_options import HarvestOptions
from deepweb.services.policies import barred_inputs, best_of_all, policy_of, stop_rule
from deepweb.template_search import Slot, slots_of
from deepweb.terms import Asking, WordMode, asking_of, first_words, has_han
from deepweb.totals import Stated

NONSENSE = 2
SEEDS_WITHOUT_RECORDS = 30
TRIES_A_WAY = 5
ENOUGH_RECORDS = 10
MISSES = 5
MISSING_QUERIES = 2
CUT_UNKNOWN_BEFORE = 4
TELLING_ANSWERS = 12
VAIN_BEFORE_EVERYTHING = 2
_CHUNK = 900


class Ask(NamedTuple):
    """The next query and its purpose."""

    kind: QueryKind
    choice: Choice


def _logged(row: Query) -> Logged:
    query = tuple(Term(name, value) for name, value in row.terms)
    stated = tuple(Stated(*each) for each in row.stated)
    choice = Choice(query, row.predicted, row.bucket)
    return Logged(row.number, choice, list(row.found), row.overflowed, row.partial, stated, row.total)


class HarvestSession:
    """One harvest in progress. `state` is written to its row after each answer; everything else follows from the query log."""

    def __init__(self, harvest: Harvest, wishes: HarvestOptions) -> None:
        self.harvest, self.wishes = harvest, wishes
        self.state: dict[str, Any] = dict(harvest.state)
        self.form = forms.page_form(harvest.form)
        self.is_open = False
        self.listed: dict[int, dict[str, str]] = {}
        self.known: set[int] = set()
        self.columns: dict[str, None] = {}
        self.seen, self.asking = Seen(), Asking("")
        self.slots: list[Slot] = []
        self.parts = Parts((), self._column)
        self.inside: InsideWords | None = None
        self.ways = ways_of(self.form, forms.PERSONAL)
        self.places, self.log = RangePlaces(), QueryLog()
        self.where: dict[Term, str] = {}
        self._load()

    def _load(self) -> None:
        rows = list(Query.objects.filter(harvest=self.harvest).exclude(state=QueryState.SENT).order_by("number"))
        wanted = {pk for row in rows for pk in row.found}
        self.remember(wanted)
        self.known = wanted
        for row in rows:
            if row.kind in COUNTED:
                self.log.entries.append(_logged(row))
        self._rebuild()

    def remember(self, ids: set[int]) -> None:
        """Loads the listed fields of records."""
        missing = sorted(ids - set(self.listed))
        for start in range(0, len(missing), _CHUNK):
            for pk, listed in Record.objects.filter(pk__in=missing[start : start + _CHUNK]).values_list("pk", "listed"):
                self.listed[pk] = listed
                self.columns.update(dict.fromkeys(listed))

    def _asking(self) -> Asking:
        mode = WordMode(self.state.get("mode") or WordMode.WORDS)
        unsearched = frozenset(
            name
            for name, (hits, misses, queries) in self.state.get("said_in", {}).items()
            if queries >= MISSING_QUERIES and misses >= MISSES and misses > 3 * hits
        )
        if unsearched.issuperset(self.columns):  # some column must be searched: with a single one, more is shown than is searched
            unsearched = frozenset()
        return asking_of(self.form, tuple(self.columns), mode, barred_inputs(self), unsearched, self.way.box)

    @property
    def way(self) -> Way:
        """The way of submitting the form that is being tried, or that was found to return records."""
        return self.ways[min(int(self.state.get("way", 0)), len(self.ways) - 1)]

    def proved(self) -> dict[str, str]:
        """The field roles proved by answers with records."""
        if not self.way.box or not any(entry.found and entry.choice.query[0].input == self.way.box for entry in self.log):
            return {}
        return {self.way.box: FieldRole.QUERY.value, **dict.fromkeys(self.way.required, FieldRole.REQUIRED.value)}

    def _note_searched(self, entry: Logged) -> None:
        """Updates which columns the box searches: a complete answer to a word contains every record with that word in a searched
        column."""
        query = self.parts.without(entry.choice.query)
        if not entry.is_whole or len(query) != 1 or query[0].input != self.asking.box or not query[0].value:
            return
        limit, word = self.limit, query[0].value.casefold()
        if limit is not None and len(entry.found) >= limit:
            return
        whole = not entry.found or limit is not None or len(self.log) >= CUT_UNKNOWN_BEFORE
        listed = {pk: self.listed[pk] for pk in self._known_beside(entry) if pk in self.listed}
        counts = self.state.setdefault("said_in", {})
        for name, (hits, misses) in hits_of(listed, set(entry.found), word, self.asking.mode, alone=True).items():
            told = counts.setdefault(name, [0, 0, 0])
            told[0] += hits
            if whole and misses:
                told[1] += misses
                told[2] += 1

    def _known_beside(self, entry: Logged) -> set[int]:
        """The records that a query could have found: if a choice is required, those found with the same choice."""
        part = {term for term in entry.choice.query if term.input in self.parts.names}
        return {pk for other in self.log if part <= set(other.choice.query) for pk in other.found} if part else self.known

    def by_input(self) -> dict[str, tuple[int, int]]:
        """Number of queries on each input alone, and how many returned records; the text box is never barred."""
        boxes = {way.box for way in self.ways}
        counts: dict[str, tuple[int, int]] = {}
        for entry in self.log:
            name = entry.choice.query[0].input
            if len(entry.choice.query) == 1 and name not in boxes:
                asked, valid = counts.get(name, (0, 0))
                counts[name] = asked + 1, valid + bool(entry.found)
        return counts

    def columns_of_inputs(self) -> set[str]:
        """The columns that inputs other than the text box take values from."""
        return {column for columns in self.asking.columns.values() for column in columns}

    def _rebuild(self) -> None:
        """Rebuilds the seen answers after the query columns have changed."""
        self.form = settled(self.form, dict.fromkeys(self.way.required, FieldRole.REQUIRED.value) | self._box_role())
        self.asking, self.where = self._asking(), {}
        self.slots = slots_of(self.form, self.asking.box)
        parts = parts_of(self.form) if self.asking.box else ()
        self.parts = Parts(parts, self._column, is_filter=self.way.is_filter)
        anywhere = looks_inside_values(self.form, self.way) or self.state.get("inside", False)
        self.inside = InsideWords(self.asking.box, parts) if anywhere and self.asking.box else None
        self.seen = Seen(self._column)
        terms = {pk: self._terms(pk) for entry in self.log for pk in entry.found if pk in self.listed}
        for entry in self.log:
            found = [(pk, terms[pk]) for pk in entry.found if pk in terms]
            self._see(entry, found)

    def _box_role(self) -> dict[str, str]:
        return {self.way.box: FieldRole.QUERY.value} if self.way.box else {}

    def _see(self, entry: Logged, found: list[tuple[int, Sequence[Term]]]) -> None:
        self.seen.add(entry.choice, found, entry.overflowed, entry.partial)
        if self.parts:
            whole = [(pk, self._terms(pk)) for pk, _ in found]
            self.parts.add(entry.choice, whole, entry.overflowed, entry.partial)

    def _terms(self, pk: int) -> list[Term]:
        return self.asking.terms(self.listed[pk], where=self.where)

    def _column(self, term: Term) -> str:
        return self.where.get(term, "")

    # --- what an answer adds
    def take(self, row: Query) -> dict[int, tuple[int | None, bool]]:
        """Adds a finished query to the log; returns what it shows about earlier ones, by number: their totals, and whether they
        were cut."""
        self.remember(set(row.found))
        self.known.update(row.found)
        if row.kind not in COUNTED:
            return {}
        entry = _logged(row)
        self.log.entries.append(entry)
        if row.kind == QueryKind.TRIAL and entry.choice.query[0].value:
            self._tried(bool(row.found))
        self._note_searched(entry)
        turned = self.inside is None and looks_inside(self.log.entries[-TELLING_ANSWERS:], self.listed, self.asking.box)
        if turned:
            self.state["inside"] = True
        if turned or self._asking() != self.asking:
            self._rebuild()
        else:
            self._see(entry, [(pk, self._terms(pk) if not self.seen.has(pk) else ()) for pk in entry.found])
        told = self.log.settle(self.seen)
        self._note_joins(self.log[len(self.log) - 1])
        return told

    def _note_joins(self, entry: Logged) -> None:
        """Determines how the site combines two words in its box, from the records that such queries found."""
        query = entry.choice.query
        if len(query) != 2 or {term.input for term in query} != {self.asking.box}:
            return
        found = [self.listed[pk] for pk in entry.found if pk in self.listed]
        words = [term.value for term in query]
        self.state["joins"] = how_words_combine(words, found, self.asking.mode, fewer=self.log.is_fewer(entry))

    @property
    def limit(self) -> int | None:
        """The number of records at which the site cuts its answers, None if there is no evidence of it."""
        return cut_at(self.seen.outcomes, self.log.totals)

    @property
    def furniture(self) -> Furniture:
        """The links and lines shown in answers to nonsense queries."""
        known = self.state.get("furniture", {})
        return Furniture(frozenset(known.get("links", ())), frozenset(known.get("lines", ())))

    @property
    def shape(self) -> ListShape | None:
        """The layout of the site's result lists, None until learned."""
        known = self.state.get("shape")
        return ListShape(**{**known, "ranks": tuple(known.get("ranks", ()))}) if known else None

    @property
    def finds_nothing(self) -> bool:
        """Tells whether calibration queries find no record: nonsense words and the ends of a range do not; choices of an input
        do."""
        return bool(self.asking.box) or not any(slot.values for slot in self.slots)

    @property
    def nothing(self) -> NoResultPages | None:
        """The no-result pages, once there are two answers to nonsense; None for a form without a text box."""
        said = self.state.get("nonsense", []) if self.finds_nothing else []
        return learn_no_result_pages([(text, words) for text, words in said]) if len(said) >= NONSENSE else None

    # --- what comes next
    def choose(self) -> Ask | None:
        """The next counted query; None when querying is over, with the reason in `state["ending"]`."""
        if self.wishes.fixed:
            return self._fixed()
        if "ending" not in self.state:
            asked = self._first() or stop_rule(self) or self._by_policy()
            if isinstance(asked, Ask):
                return asked
            self.state["ending"] = asked
        return None

    def _fixed(self) -> Ask | None:
        done = len(self.log)
        if done < len(self.wishes.fixed):
            return Ask(QueryKind.TRIAL, Choice(tuple(Term(name, value) for name, value in self.wishes.fixed[done])))
        self.state["ending"] = "queries"
        return None

    def _first(self) -> Ask | str | None:
        """The opening queries: nonsense, first words, an empty query, and tests of how the site matches Chinese."""
        box = self.asking.box
        said = self.state.get("nonsense", [])
        if len(said) + self.state.get("nonsense_failed", 0) < NONSENSE and (query := self._calibration(len(said))):
            return Ask(QueryKind.NONSENSE, Choice(query))
        if not box:
            nothing = len(self.log) >= SEEDS_WITHOUT_RECORDS and not any(entry.found for entry in self.log)
            return "no_results" if nothing else None
        if self.wishes.policy == "paper":
            return self._paper_seed()
        valid = sum(bool(entry.found) and entry.choice.query[0].input == box for entry in self.log)
        if not self.state.get("everything") and self._may_show_everything(valid):
            self.state["everything"] = True
            return Ask(QueryKind.TRIAL, Choice((Term(box, ""), *(unfiltered(self.form, self.way) or self.parts.at(0)))))
        if not valid or self.seen.records < ENOUGH_RECORDS and len(self.log) < SEEDS_WITHOUT_RECORDS:
            seed = self._seed(valid)
            if seed is not None:
                return seed
            if not valid and self._take_other_way():
                return self._first()
            if not self.seen.records:
                return in_vain(self.form)
        return self._trial()

    def _may_show_everything(self, valid: int) -> bool:
        """Tells whether to try a query without a word: at once for a filter, otherwise if the first words find nothing or their
        answers seem not to be cut."""
        if self.way.is_filter or self.parts:
            return self.way.is_filter
        return likely_cut(self.seen.outcomes) is None if valid else len(self.log) >= VAIN_BEFORE_EVERYTHING

    def _paper_seed(self) -> Ask | str | None:
        """The next of the deep-web paper's seeds, each queried once whatever it returns; None when its rounds begin."""
        words = list(self.wishes.seed_terms) or paper_words(cluster_terms(self.harvest.form), page_words(self.harvest.form.words))
        seeds = [Term(self.asking.box, word) for word in words[: len(self.wishes.seed_terms) or self.wishes.paper_seeds]]
        seed = next((term for term in seeds if term not in self.asked_terms()), None)
        if seed is not None:
            return Ask(QueryKind.SEED, Choice((seed, *self.parts.at(len(self.log)))))
        if self.seen.records:
            return None
        return self._first() if self._take_other_way() else in_vain(self.form)

    def asked_terms(self) -> set[Term]:
        """All terms that were queried, alone or combined."""
        return {term for entry in self.log for term in entry.choice.query}

    def _seed(self, valid: int) -> Ask | None:
        """The next of the first words, `valid` of which returned records; after some without result, a choice without a word.
        None if this way of submitting has used up its tries."""
        part, asked = self.parts.at(len(self.log)), len(self.log) - int(self.state.get("way_from", 0))
        if not valid and asked >= TRIES_A_WAY and not self.parts:
            choice = lone_choice(self.slots, self.seen)
            if choice is not None:
                return Ask(QueryKind.SEED, Choice(choice))
        is_last = int(self.state.get("way", 0)) >= len(self.ways) - 1
        tries = SEEDS_WITHOUT_RECORDS if valid or is_last else max(TRIES_A_WAY, len(self.parts) if self.way.is_filter else 0)
        if self.seen.records and not valid:  # a choice alone, to learn words that the site contains
            tries += TRIES_A_WAY
        seed = next((term for term in self._seeds(valid) if not self.seen.was_asked((term, *part))), None)
        return Ask(QueryKind.SEED, Choice((seed, *part))) if seed is not None and asked < tries + valid else None

    def _calibration(self, number: int) -> Terms:
        rng = np.random.default_rng([self.wishes.random_seed, 0, number])
        return calibration(self.asking.box, self.slots, number, nonsense_word(rng), self.parts.at(0))

    def _take_other_way(self) -> bool:
        """Switches to the next way of submitting if no word returned anything in this one; False if there is none left."""
        number = int(self.state.get("way", 0)) + 1
        if number >= len(self.ways):
            return False
        self.state["way"], self.state["way_from"] = number, len(self.log)
        forget_what_was_shown(self.state if self.way.required else {})
        self.form = forms.page_form(self.harvest.form)
        self._rebuild()
        return True

    def _seeds(self, valid: int) -> list[Term]:
        if self.seen.records and not valid and (known := words_of_records(self.seen, self.asking.box)):
            return known
        row, given = self.harvest.form, self.wishes.seed_terms
        own = [] if given else [*paid_words(row), *cluster_terms(row)]
        words = first_words(row.language, given, own, page_words(self.harvest.form.words))
        return [Term(self.asking.box, word) for word in words]

    def _trial(self) -> Ask | None:
        """A test of how the site matches Chinese texts: parts of words, words, or whole runs. One query each until one returns
        records."""
        if self.state.get("mode") or not self.asking.box:
            return None
        texts = [value for listed in self.listed.values() for value in listed.values() if has_han(str(value))]
        tried = self.state.setdefault("tried", [])
        order = [mode for mode in (WordMode.PARTS, WordMode.WORDS, WordMode.RUNS) if mode not in tried]
        if len(texts) < 3 or not order:
            if not order:
                self.state["mode"] = WordMode.WORDS
            return None
        word = telling_word(texts, order[0])
        if word is None:
            return None
        tried.append(order[0])
        return Ask(QueryKind.TRIAL, Choice((Term(self.asking.box, word),)))

    def _tried(self, found: bool) -> None:
        tried = self.state.get("tried", [])
        if found and tried and not self.state.get("mode"):
            self.state["mode"] = tried[-1]

    def _by_policy(self) -> Ask | str:
        policy = policy_of(self)
        if isinstance(policy, FreshPolicy) or not self.asking.box:
            choice = best_of_all(self, policy)
            return Ask(QueryKind.POLICY, choice) if choice is not None else "no_more_words"
        choice = policy.next(self.seen)
        ended = "no_more_words"
        if isinstance(policy, PaperPolicy):
            queue = [list(term) for term in policy.queue]
            self.state["paper"] = {"queue": queue, "round": policy.round, "started": policy.started}
            ended = policy.ended or ended
        if choice is None:
            return ended
        return Ask(QueryKind.POLICY, choice._replace(query=(*choice.query, *self.parts.at(len(self.log)))))
