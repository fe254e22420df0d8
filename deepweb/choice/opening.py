"""The opening queries of a harvest, which explore the site before its records tell what to ask:
nonsense words, initial words, an empty query, and alternatives if words return no record; and words
of other languages."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from deepweb.answers.retrieved import Choice, Query, Retrieved, Term, likely_cut
from deepweb.answers.totals import nonsense_word
from deepweb.choice.matching import telling_word
from deepweb.choice.slots import Slot
from deepweb.choice.terms import WordMode, first_words, has_han, query_words, words_elsewhere
from deepweb.harvest_session import NONSENSE, HarvestSession, unfiltered
from deepweb.models import COUNTED, Form, Harvest, QueryKind
from deepweb.models import Query as SentQuery
from deepweb.search_forms import Form as PageForm

HARVESTS = 20


QUERIES = 500


PAID = 20


PAIRS_TRIED = 9
"""Number of first words that are sent in pairs, on a site that wants two words."""


SEEDS_WITHOUT_RECORDS = 30


TRIES_A_WAY = 5


ENOUGH_RECORDS = 3


"""Number of known records from which on query words are taken from records. Before that a choice of
an input may be queried instead, because initial words without result cost more than a choice that
returns few records."""


VAIN_BEFORE_EVERYTHING = 2


UNCUT_BEFORE_EVERYTHING = 3


ELSEWHERE = 0.33
"""Assumed probability that a first word of another language brings an answer of the usual size;
half as much after each such word."""


class Ask(NamedTuple):
    """A query to send, and its kind, which tells what the harvest uses the answer for."""

    kind: QueryKind
    choice: Choice


LONE_CHOICES = 3
KNOWN_WORDS = 20
PAGE_WORDS = 10


def lone_choice(slots: Sequence[Slot], seen: Retrieved) -> Query | None:
    """Returns a choice to submit without a word, after words have returned nothing: the records
    that it returns show which words the site contains.

    The first choice of each of the first three inputs with choices is tried once; None if records
    are known already or all three have been tried. `slots` are the inputs of the form.
    """
    if seen.records:
        return None
    queries = [slot.binding(slot.values[0]) for slot in slots if slot.values][:LONE_CHOICES]
    return next((query for query in queries if not seen.was_asked(query)), None)


def words_of_records(seen: Retrieved, box: str) -> list[Term]:
    """Returns the words for the text box `box` that most of the seen records contain, most frequent
    first: at most 20."""
    order = np.argsort(-np.asarray(seen.frequency), kind="stable")
    terms = (seen.term(int(place)) for place in order)
    return list(itertools.islice((term for term in terms if term.input == box), KNOWN_WORDS))


def page_words(words: Mapping[str, Any]) -> list[str]:
    """Returns the 10 words with the largest weights on the form's page. `words` contains the
    weights of the words on the page under "page", as stored in `models.Form.words`."""
    page = words.get("page", {})
    return sorted(page, key=lambda word: -page[word])[:PAGE_WORDS]


def in_vain(form: PageForm) -> str:
    """Returns the reason code for ending the harvest of a form that returned no record:
    "needs_browser" if a script submits the form, otherwise "no_results"."""
    return "needs_browser" if form.scripted else "no_results"


def cluster_terms(form: Form) -> list[str]:
    """Returns the terms with the largest weights in the form's cluster, which the deep-web paper
    uses as seed words; [] if the form has no cluster.
    """
    return list(form.cluster.terms) if form.cluster is not None else []


def paid_words(form: Form) -> list[str]:
    """Returns single words that found new records at the cluster's other forms in their latest
    harvests, those with most new records first; empty without a cluster.
    """
    if form.cluster_id is None:
        return []
    others = (
        Harvest.objects.filter(form__cluster_id=form.cluster_id)
        .exclude(form_id=form.pk)
        .order_by("-pk")
    )
    ids = list(others.values_list("pk", flat=True)[:HARVESTS])
    rows = SentQuery.objects.filter(harvest_id__in=ids, kind__in=COUNTED, new__gt=0).order_by(
        "-new", "pk"
    )
    brought: Counter[str] = Counter()
    for terms, new in rows.values_list("terms", "new")[:QUERIES]:
        if len(terms) == 1 and query_words(terms[0][1]) == [terms[0][1]]:
            brought[terms[0][1]] += new
    return [word for word, _ in brought.most_common(PAID)]


class Opening:
    """Chooses the opening queries of a harvest. What has to be remembered between queries is kept
    in the `state` of the harvest's session."""

    def __init__(self, session: HarvestSession) -> None:
        self._session = session

    def first(self) -> Ask | str | None:
        """Returns the next opening query: nonsense words, initial query words (from the options,
        the form's cluster or its page), an empty query, or a test of how the site matches Chinese.
        Returns a reason code if the harvest has to end, and None when the opening is over.
        """
        box = self._session.asking.box
        said = self._session.state.get("nonsense", [])
        if len(said) + self._session.state.get("nonsense_failed", 0) < NONSENSE and (
            query := self._calibration(len(said))
        ):
            return Ask(QueryKind.NONSENSE, Choice(query))
        if not box:
            nothing = len(self._session.log) >= SEEDS_WITHOUT_RECORDS and not any(
                entry.found for entry in self._session.log
            )
            return "no_results" if nothing else None
        if self._session.options.policy == "paper":
            return self._paper_seed()
        valid = sum(
            bool(entry.found) and entry.choice.query[0].input == box for entry in self._session.log
        )
        if not self._session.state.get("everything") and self._may_show_everything(valid):
            self._session.state["everything"] = True
            return Ask(
                QueryKind.TRIAL,
                Choice(
                    (
                        Term(box, ""),
                        *(
                            unfiltered(self._session.form, self._session.fill_plan)
                            or self._session.required_parts.at(0)
                        ),
                    )
                ),
            )
        if (
            not valid
            or self._session.retrieved.records < ENOUGH_RECORDS
            and len(self._session.log) < SEEDS_WITHOUT_RECORDS
        ):
            seed = self._seed(valid)
            if seed is not None:
                return seed
            if not valid and self._session.switch_way():
                return self.first()
            if not valid and self._session.ask_together():
                return self.first()
            if not self._session.retrieved.records:
                return in_vain(self._session.form)
        return self._trial()

    def _may_show_everything(self, valid: int) -> bool:
        """Tells whether to try a query with an empty word, which may return all records. Filter
        forms (field, operator, value): always. Other forms with required choices: never. Otherwise:
        after at least two queries of which none returned records, or if at least 3 words (`valid`)
        returned records and no answer seems to be truncated."""
        if self._session.fill_plan.is_filter or self._session.required_parts:
            return self._session.fill_plan.is_filter
        if not valid:
            return len(self._session.log) >= VAIN_BEFORE_EVERYTHING
        return (
            valid >= UNCUT_BEFORE_EVERYTHING
            and likely_cut(self._session.retrieved.outcomes) is None
        )

    def _paper_seed(self) -> Ask | str | None:
        """Returns a query for the next of the deep-web paper's seed words; each is queried once.
        After the last word, returns None if any records were found: the paper's rounds begin.
        Otherwise the form's next way of submission is tried: returns its first query or, if no way
        is left, a reason code to end the harvest."""
        # as the paper chooses them: the heaviest words of the form's cluster, or else of its page
        row = self._session.harvest.form
        words = list(
            self._session.options.seed_terms or cluster_terms(row) or page_words(row.words)
        )
        seeds = [
            Term(self._session.asking.box, word)
            for word in words[
                : len(self._session.options.seed_terms) or self._session.options.paper_seeds
            ]
        ]
        seed = next((term for term in seeds if term not in self._session.asked_terms()), None)
        if seed is not None:
            return Ask(
                QueryKind.SEED,
                Choice((seed, *self._session.required_parts.at(len(self._session.log)))),
            )
        if self._session.retrieved.records:
            return None
        return self.first() if self._session.switch_way() else in_vain(self._session.form)

    def _seed(self, valid: int) -> Ask | None:
        """Returns a query for the next of the initial query words or, if several words returned
        nothing, a query that only chooses a value of a select or similar input. `valid` is the
        number of initial words that returned records. None if the present way of submitting the
        form was tried often enough without success.
        """
        part = self._session.required_parts.at(len(self._session.log))
        asked = len(self._session.log) - int(self._session.state.get("way_from", 0))
        if not valid and asked >= TRIES_A_WAY and not self._session.required_parts:
            choice = lone_choice(self._session.slots, self._session.retrieved)
            if choice is not None:
                return Ask(QueryKind.SEED, Choice(choice))
        is_last = int(self._session.state.get("way", 0)) >= len(self._session.fill_plans) - 1
        tries = (
            SEEDS_WITHOUT_RECORDS
            if valid or is_last
            else max(
                TRIES_A_WAY,
                len(self._session.required_parts) if self._session.fill_plan.is_filter else 0,
            )
        )
        # Records are known although no word returned any: they were found by a choice without a
        # word, and their words are tried too.
        if self._session.retrieved.records and not valid:
            tries += TRIES_A_WAY
        # Required choices change from query to query, and each query sends the word used least so
        # far. If it is only assumed that the form requires a choice, the first words are repeated
        # with other choices before the next words are tried.
        times = Counter(
            entry.choice.query[0]
            for entry in self._session.log.entries[len(self._session.log) - asked :]
        )
        ahead = 1 if self._session.fill_plan.required else 0
        words = enumerate(self._seeds(valid))
        open_ = [
            (times[term] + ahead * n, term)
            for n, term in words
            if not self._session.retrieved.was_asked((term, *part))
        ]
        seed = min(open_, key=itemgetter(0), default=(0, None))[1]
        return (
            Ask(QueryKind.SEED, Choice((seed, *part)))
            if seed is not None and asked < tries + valid
            else None
        )

    def elsewhere(self, gain: float = 0.0) -> Ask | None:
        """Returns a query in another script or language than the records found, if more is expected
        of it than the `gain` of the next query, since records that share no word with those found
        would remain unseen."""
        session = self._session
        box, done = session.asking.box, session.state.setdefault("elsewhere", [])
        returned = [outcome.returned for outcome in session.retrieved.outcomes if outcome.returned]
        usual = session.limit or sum(returned) / max(1, len(returned))
        if (
            not box
            or session.asking.together > 1
            or not session.retrieved.records
            or session.options.policy == "paper"
            or session.state.get("elsewhere_tried")
            or session.log.listing() is not None
            or gain >= usual * ELSEWHERE / 2 ** len(done)
        ):
            return None
        texts = (str(v) for listed in self._session.listed_fields.values() for v in listed.values())
        for word in words_elsewhere(texts, self._session.harvest.form.language):
            term = Term(box, word)
            if (
                len(word) >= self._session.asking.least
                and word not in done
                and term not in self._session.asked_terms()
            ):
                done.append(word)
                part = self._session.required_parts.at(len(self._session.log))
                return Ask(QueryKind.SEED, Choice((term, *part)))
        self._session.state["elsewhere_tried"] = True
        return None

    def _calibration(self, number: int) -> Query:
        """Returns a calibration query: its answer should have no results and so shows the page
        template of the site.

        If the form has a text box, the query is a nonsense word with choices of the inputs that the
        site requires. Otherwise it is the first (`number` 0) or last (`number` 1) choice of an
        input, or the lowest or highest value of a range. Empty if the form has none of these.
        """
        session = self._session
        box, slots = session.asking.box, session.slots
        if box:
            rng = np.random.default_rng([session.options.random_seed, 0, number])
            return (Term(box, nonsense_word(rng)), *session.required_parts.at(0))
        for slot in slots:
            if len(slot.values) > number:
                return slot.binding(slot.values[-number])
        wholes = (slot.binding(slot.whole.ends()[number]) for slot in slots if slot.whole)
        return next(wholes, ())

    def _seeds(self, valid: int) -> list[Term]:
        if (
            self._session.retrieved.records
            and not valid
            and (known := words_of_records(self._session.retrieved, self._session.asking.box))
        ):
            return known
        row, given = self._session.harvest.form, self._session.options.seed_terms
        own = [] if given else [*paid_words(row), *cluster_terms(row)]
        words = first_words(row.language, given, own, page_words(self._session.harvest.form.words))
        if self._session.asking.together > 1:
            words = [" ".join(pair) for pair in itertools.pairwise(words[:PAIRS_TRIED])]
        return [Term(self._session.asking.box, word) for word in words]

    def _trial(self) -> Ask | None:
        """Returns a query that tests how the site matches Chinese texts: by parts of words, by
        words, or by whole sequences of characters, in this order. Each is tested once, until a test
        returns records; None if there is nothing to test.
        """
        if self._session.state.get("mode") or not self._session.asking.box:
            return None
        texts = [
            value
            for listed in self._session.listed_fields.values()
            for value in listed.values()
            if has_han(str(value))
        ]
        tried = self._session.state.setdefault("tried", [])
        order = [
            mode for mode in (WordMode.PARTS, WordMode.WORDS, WordMode.RUNS) if mode not in tried
        ]
        if len(texts) < 3 or not order:
            if not order:
                self._session.state["mode"] = WordMode.WORDS
            return None
        lengths = [
            len(entry.choice.query[0].value)
            for entry in self._session.log
            if entry.found and has_han(entry.choice.query[0].value)
        ]
        word = telling_word(texts, order[0], max(2, min(lengths, default=2)))
        if word is None:
            return None
        tried.append(order[0])
        return Ask(QueryKind.TRIAL, Choice((Term(self._session.asking.box, word),)))
