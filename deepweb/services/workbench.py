"""A harvest in memory: what it saw, and which query comes next. Rebuilt from the query log, so that a kill loses nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from deepweb.coverage import StopRules, stopped_by
from deepweb.models import Harvest, Query, QueryKind, QueryState, Record
from deepweb.result_list import Furniture, ListShape
from deepweb.results import NoResultPages, learn_no_result_pages, nonsense_word
from deepweb.searched import hits_of, telling_word
from deepweb.seen import Choice, Seen, Term, cut_at
from deepweb.seen import Query as Terms
from deepweb.selection import FrequencyPolicy, FreshPolicy, PaperPolicy, Policy
from deepweb.services import forms
from deepweb.template_search import Slot, TemplateSearch, slots_of
from deepweb.templates_informative import inputs_of
from deepweb.terms import Asking, WordMode, asking_of, first_words, has_han

POLICIES = ("fresh", "frequency", "paper")
COUNTED = (QueryKind.SEED, QueryKind.TRIAL, QueryKind.POLICY)
NONSENSE = 2
SEEDS_WITHOUT_RECORDS = 30
ENOUGH_RECORDS = 10
PAPER_SEEDS = 5
INPUT_TRIES = 3
PAGE_WORDS = 10
MISSES = 5
MISSING_QUERIES = 2
MISSED = 0.1
VOICES = 3
CUT_UNKNOWN_BEFORE = 4
_CHUNK = 900


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a run of harvests was asked for; `from_mapping` reads a run's parameters and refuses what makes no sense."""

    policy: str = "fresh"
    queries: int = 100
    requests: int | None = None
    seed_terms: tuple[str, ...] = ()
    stop_rules: bool = True
    min_gain: float = 0.01
    coverage: float | None = None
    probes: int = 240
    details: int | None = 1000
    max_pages: int = 200
    random_seed: int = 1
    fixed: tuple[tuple[tuple[str, str], ...], ...] = ()

    @classmethod
    def from_mapping(cls, given: Mapping[str, Any]) -> Wishes:
        """Raises ValueError with one line for an unknown policy or a number out of range."""
        names = set(cls.__dataclass_fields__)
        values = {name: value for name, value in given.items() if name in names and (value is not None or name == "details")}
        if values.get("policy", "fresh") not in POLICIES:
            raise ValueError(f"{values['policy']} is no policy; there are {', '.join(POLICIES)}")
        for name, low in (("queries", 1), ("requests", 1), ("probes", 0), ("details", 0), ("max_pages", 1)):
            value = values.get(name)
            if value is not None and (not isinstance(value, int) or value < low):
                raise ValueError(f"{name}: {value!r} is no whole number of at least {low}")
        share = values.get("coverage")
        if share is not None and not (isinstance(share, (int, float)) and 0 < share <= 1):
            raise ValueError(f"coverage: {share!r} is no share above 0 and of at most 1")
        values["seed_terms"] = tuple(values.get("seed_terms", ()))
        values["fixed"] = tuple(tuple((str(n), str(v)) for n, v in query) for query in values.get("fixed", ()))
        return cls(**values)


class Ask(NamedTuple):
    """The next query, and what for."""

    kind: QueryKind
    choice: Choice


class _Logged(NamedTuple):
    choice: Choice
    found: list[int]
    overflowed: bool
    total: int | None


class Workbench:
    """One harvest at work. `state` is written back to its row after each answer; all else follows from the query log."""

    def __init__(self, harvest: Harvest, wishes: Wishes, cluster_terms: Sequence[str] = ()) -> None:
        self.harvest, self.wishes = harvest, wishes
        self.state: dict[str, Any] = dict(harvest.state)
        self.form = forms.page_form(harvest.form)
        self.cluster_terms = cluster_terms
        self.is_open = False
        self.listed: dict[int, dict[str, str]] = {}
        self.known: set[int] = set()
        self.log: list[_Logged] = []
        self.columns: dict[str, None] = {}
        self.seen, self.asking = Seen(), Asking("")
        self.slots: list[Slot] = []
        self.where: dict[Term, str] = {}
        self._load()

    def _load(self) -> None:
        rows = list(Query.objects.filter(harvest=self.harvest).exclude(state=QueryState.SENT).order_by("number"))
        wanted = {pk for row in rows for pk in row.found}
        self.remember(wanted)
        self.known = wanted
        for row in rows:
            if row.kind in COUNTED:
                query = tuple(Term(name, value) for name, value in row.terms)
                self.log.append(_Logged(Choice(query, row.foretold, row.bucket), row.found, row.overflowed, row.total))
        self._rebuild()

    def remember(self, ids: set[int]) -> None:
        """Loads the listed fields of records."""
        missing = sorted(ids - set(self.listed))
        for start in range(0, len(missing), _CHUNK):
            for pk, listed in Record.objects.filter(pk__in=missing[start : start + _CHUNK]).values_list("pk", "listed"):
                self.listed[pk] = listed
                self.columns.update(dict.fromkeys(listed))

    def _asking(self) -> Asking:
        barred = frozenset(name for name, (asked, valid) in self._by_input().items() if asked >= INPUT_TRIES and not valid)
        mode = WordMode(self.state.get("mode") or WordMode.WORDS)
        unsearched = frozenset(
            name
            for name, (hits, misses, queries) in self.state.get("said_in", {}).items()
            if queries >= MISSING_QUERIES and misses >= MISSES and misses > 3 * hits
        )
        if unsearched.issuperset(self.columns):  # something must be searched: its one column says more than is searched
            unsearched = frozenset()
        return asking_of(self.form, tuple(self.columns), mode, barred, unsearched, self.state.get("box", ""))

    def _note_searched(self, entry: _Logged) -> None:
        """Which columns the box searches: a whole answer to a word lacks no record that says it in a searched column."""
        query = entry.choice.query
        if entry.overflowed or len(query) != 1 or query[0].input != self.asking.box:
            return
        limit, word = self.limit, query[0].value.casefold()
        if limit is not None and len(entry.found) >= limit:
            return
        whole = not entry.found or limit is not None or len(self.log) >= CUT_UNKNOWN_BEFORE
        listed = {pk: self.listed[pk] for pk in self.known if pk in self.listed}
        counts = self.state.setdefault("said_in", {})
        for name, (hits, misses) in hits_of(listed, set(entry.found), word, self.asking.mode).items():
            told = counts.setdefault(name, [0, 0, 0])
            told[0] += hits
            if whole and misses:
                told[1] += misses
                told[2] += 1

    def _by_input(self) -> dict[str, tuple[int, int]]:
        """Queries asked of each input alone, and how many of them brought records; the box for words is never barred."""
        box = asking_of(self.form, box=self.state.get("box", "")).box
        counts: dict[str, tuple[int, int]] = {}
        for entry in self.log:
            name = entry.choice.query[0].input
            if len(entry.choice.query) == 1 and name != box and name not in self.state.get("boxes", ()):
                asked, valid = counts.get(name, (0, 0))
                counts[name] = asked + 1, valid + bool(entry.found)
        return counts

    def searched_columns(self, fields: Mapping[int, Mapping[str, Any]]) -> set[str]:
        """The columns that the box searches, of records with all their fields: those in which a word hardly ever stands
        that did not find the record. Told by all whole answers to a single word."""
        counts: dict[str, list[int]] = {}
        for term, found in self._whole_answers():
            for name, (hits, misses) in hits_of(fields, found, term.value.casefold(), self.asking.mode).items():
                pair = counts.setdefault(name, [0, 0])
                pair[0] += min(hits, VOICES)
                pair[1] += min(misses, VOICES)
        return {name for name, (hits, misses) in counts.items() if hits and misses <= MISSED * (hits + misses)}

    def columns_of_inputs(self) -> set[str]:
        """The columns that other inputs than the box are filled from."""
        return {column for columns in self.asking.columns.values() for column in columns}

    def _whole_answers(self) -> list[tuple[Term, set[int]]]:
        limit, box = self.limit, self.asking.box
        asked = [(entry.choice.query, entry.found, entry.overflowed) for entry in self.log]
        asked += [((Term(*probe["term"]),), probe["found"], probe["overflowed"]) for probe in self.state.get("probes", [])]
        return [
            (query[0], set(found))
            for query, found, cut in asked
            if len(query) == 1 and query[0].input == box and not cut and (limit is None or len(found) < limit)
        ]

    def _rebuild(self) -> None:
        """The seen anew, where what records are asked by has changed."""
        self.asking, self.where = self._asking(), {}
        self.slots = slots_of(self.form, self.asking.box)
        self.seen = Seen(self._column)
        terms = {pk: self._terms(pk) for entry in self.log for pk in entry.found if pk in self.listed}
        for entry in self.log:
            self.seen.add(entry.choice, [(pk, terms[pk]) for pk in entry.found if pk in terms], entry.overflowed)

    def _terms(self, pk: int) -> list[Term]:
        return self.asking.terms(self.listed[pk], where=self.where)

    def _column(self, term: Term) -> str:
        return self.where.get(term, "")

    # --- what an answer adds
    def take(self, row: Query) -> None:
        """Adds a finished query of the log."""
        self.remember(set(row.found))
        self.known.update(row.found)
        if row.kind not in COUNTED:
            return
        query = tuple(Term(name, value) for name, value in row.terms)
        entry = _Logged(Choice(query, row.foretold, row.bucket), list(row.found), row.overflowed, row.total)
        self.log.append(entry)
        if row.kind == QueryKind.TRIAL:
            self._tried(bool(row.found))
        self._note_searched(entry)
        if self._asking() != self.asking:
            self._rebuild()
        else:
            found = [(pk, self._terms(pk) if not self.seen.has(pk) else ()) for pk in entry.found]
            self.seen.add(entry.choice, found, entry.overflowed)
        limit = self.limit
        if limit is not None:
            self._note_cut(limit)

    def _note_cut(self, limit: int) -> None:
        """Answers as long as the cut, taken for whole before the cut was known, were cut too."""
        for place, outcome in enumerate(self.seen.outcomes):
            if outcome.returned >= limit and not outcome.overflowed:
                self.seen.outcomes[place] = outcome._replace(overflowed=True)
                self.log[place] = self.log[place]._replace(overflowed=True)

    @property
    def limit(self) -> int | None:
        """The number of records at which the site cuts its answers, None while nothing shows that it does."""
        return cut_at(self.seen.outcomes, [entry.total for entry in self.log])

    @property
    def furniture(self) -> Furniture:
        """What the answers to nonsense show."""
        known = self.state.get("furniture", {})
        return Furniture(frozenset(known.get("links", ())), frozenset(known.get("lines", ())))

    @property
    def shape(self) -> ListShape | None:
        """How the site's lists are laid out, once learned."""
        known = self.state.get("shape")
        return ListShape(**{**known, "ranks": tuple(known.get("ranks", ()))}) if known else None

    @property
    def finds_nothing(self) -> bool:
        """Whether what is asked first finds no record: nonsense, or the two ends of a range; choices of an input do."""
        return bool(self.asking.box) or not any(slot.values for slot in self.slots)

    @property
    def nothing(self) -> NoResultPages | None:
        """The answers to nonsense, once there are two; a form without a box for words gets none."""
        said = self.state.get("nonsense", []) if self.finds_nothing else []
        return learn_no_result_pages([(text, words) for text, words in said]) if len(said) >= NONSENSE else None

    # --- what comes next
    def choose(self) -> Ask | None:
        """The next query that counts; None when the asking is over, for the reason in `state["ending"]`."""
        if self.wishes.fixed:
            return self._fixed()
        if "ending" not in self.state:
            asked = self._first() or self._stop() or self._by_policy()
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
        """Nonsense, first words, and trials of how the site matches Chinese."""
        box = self.asking.box
        said = self.state.get("nonsense", [])
        if len(said) + self.state.get("nonsense_failed", 0) < NONSENSE and (query := self._calibration(box, len(said))):
            return Ask(QueryKind.NONSENSE, Choice(query))
        if not box:
            nothing = len(self.log) >= SEEDS_WITHOUT_RECORDS and not any(entry.found for entry in self.log)
            return "no_results" if nothing else None
        valid = sum(bool(entry.found) for entry in self.log)
        enough = PAPER_SEEDS if self.wishes.policy == "paper" else 2
        if valid < enough or self.seen.records < ENOUGH_RECORDS and len(self.log) < SEEDS_WITHOUT_RECORDS:
            seed = next((term for term in self._seeds() if not self.seen.was_asked((term,))), None)
            asked = sum(entry.choice.query[0].input == box for entry in self.log)
            if seed is not None and asked < SEEDS_WITHOUT_RECORDS + valid:
                return Ask(QueryKind.SEED, Choice((seed,)))
            if not valid:
                return self._first() if self._take_other_box() else "no_results"
        return self._trial()

    def _calibration(self, box: str, number: int) -> Terms:
        """What tells a page's furniture: nonsense; where there is no box for words, two choices of one input."""
        if box:
            rng = np.random.default_rng([self.wishes.random_seed, 0, number])
            return (Term(box, nonsense_word(rng)),)
        slot = next((slot for slot in self.slots if len(slot.values) > number), None)
        if slot is not None:
            return slot.binding(slot.values[-number])
        span = next((slot for slot in self.slots if slot.whole is not None), None)
        return span.binding(span.whole.ends()[number]) if span is not None and span.whole is not None else ()

    def _take_other_box(self) -> bool:
        """Turns to the form's next text box where no word brought anything in this one; False where there is none."""
        tried = self.state.setdefault("boxes", [])
        tried.append(self.asking.box)
        left = [each.name for each in inputs_of(self.form) if each.kind in ("text", "search") and each.name not in tried]
        if not left:
            return False
        self.state["box"] = left[0]
        self._rebuild()
        return True

    def _seeds(self) -> list[Term]:
        row = self.harvest.form
        page = sorted(row.words.get("page", {}), key=lambda word: -row.words["page"][word])[:PAGE_WORDS]
        words = first_words(row.language, self.wishes.seed_terms, self.cluster_terms, page)
        return [Term(self.asking.box, word) for word in words]

    def _trial(self) -> Ask | None:
        """Does the site find parts of Chinese texts, or words, or whole runs only? One query each until one is found."""
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

    def _stop(self) -> str | None:
        if not self.wishes.stop_rules:
            return None
        gain = self.wishes.min_gain if self.wishes.policy != "paper" else None
        rules = StopRules(min_gain=gain, coverage=None, good_turing=None if gain is None else 0.95)
        return stopped_by(self.seen.outcomes, self.seen.times_returned, rules)

    def _by_policy(self) -> Ask | str:
        policy = self._policy()
        if isinstance(policy, FreshPolicy) or not self.asking.box:
            choice = self._best_of_all(policy)
            return Ask(QueryKind.POLICY, choice) if choice is not None else "no_more_words"
        choice = policy.next(self.seen)
        if isinstance(policy, PaperPolicy):
            queue = [list(term) for term in policy.queue]
            self.state["paper"] = {"queue": queue, "round": policy.round, "started": policy.started}
            if choice is None and self.wishes.stop_rules:
                return "rounds"
        return Ask(QueryKind.POLICY, choice) if choice is not None else "no_more_words"

    def _best_of_all(self, policy: Policy) -> Choice | None:
        """The best word or, where answers are cut or there is no box for words, the best binding of other inputs."""
        choice, worth = policy.best(self.seen) if isinstance(policy, FreshPolicy) else (policy.next(self.seen), 0.0)
        cut = any(outcome.overflowed for outcome in self.seen.outcomes)
        if not self.slots or self.asking.box and not cut:
            return choice
        search = TemplateSearch(self.slots, self.limit, [entry.total for entry in self.log])
        bound, brings = search.best(self.seen)
        return bound if bound is not None and (choice is None or brings > worth) else choice

    def _policy(self) -> Policy:
        barred = {name for name, (asked, valid) in self._by_input().items() if asked >= INPUT_TRIES and not valid}
        refused = frozenset(term for place in range(len(self.seen.frequency)) if (term := self.seen.term(place)).input in barred)
        if self.wishes.policy == "frequency":
            return FrequencyPolicy((), refused)
        if self.wishes.policy == "paper":
            known = self.state.get("paper", {"queue": [], "round": 1, "started": 0})
            queue = [Term(*term) for term in known["queue"]]
            return PaperPolicy(
                (), stop_rule=self.wishes.stop_rules, refused=refused, queue=queue, round=known["round"], started=known["started"]
            )
        return FreshPolicy((), self.limit, refused)
