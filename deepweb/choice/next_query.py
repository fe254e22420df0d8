"""Chooses a harvest's next query: first the opening queries that explore the site, then words,
choices and ranges by the harvest's policy, which is set up here."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable
from dataclasses import replace
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from deepweb.answers.retrieved import Choice, Term, likely_cut
from deepweb.answers.retrieved import Query as Terms
from deepweb.answers.totals import nonsense_word
from deepweb.choice.joint_yield import JointYield
from deepweb.choice.matching import telling_word, unproved
from deepweb.choice.opening import (
    calibration,
    in_vain,
    lone_choice,
    page_words,
    paper_words,
    unfiltered,
    words_of_records,
)
from deepweb.choice.paper_policy import PaperPolicy
from deepweb.choice.template_search import TemplateSearch, text_slots
from deepweb.choice.terms import WordMode, first_words, has_han, query_words, words_elsewhere
from deepweb.choice.words import Candidate, FrequencyPolicy, FreshPolicy, Policy, first_of_plan
from deepweb.forms.clustering import TITLE
from deepweb.harvest_session import NONSENSE, HarvestSession
from deepweb.models import COUNTED, Form, Harvest, Query, QueryKind
from deepweb.size.coverage import StopRules, stopped_by

PAIRS_FROM = 8


PAIRS_TRIED = 9
"""Number of first words that are sent in pairs, on a site that wants two words."""


def stop_rule(session: HarvestSession) -> str | None:
    """Returns the code of the stopping rule that ends the querying early; None if none applies."""
    if not session.options.stop_rules:
        return None
    if session.log.listing() is not None:
        return "all"
    gain = session.options.min_gain if session.options.policy != "paper" else None
    rules = StopRules(min_gain=gain, coverage=None, good_turing=None if gain is None else 0.95)
    return stopped_by(session.seen.outcomes, session.seen.times_returned, rules)


def policy_of(session: HarvestSession) -> Policy:
    """Returns the policy chosen for the harvest, set up with what the harvest has learned about the
    site."""
    barred, seen = session.barred_inputs(), session.seen
    refused = frozenset(
        term for place in range(len(seen.frequency)) if (term := seen.term(place)).input in barred
    )
    # If the form requires choices, words are only queried together with choices. The policies do
    # not recognise such words as already queried, so these are excluded here.
    beside = session.asked_terms() if session.parts else frozenset()
    if session.options.policy == "frequency":
        return FrequencyPolicy((), refused | beside)
    if session.options.policy == "paper":
        return _paper(session, refused | beside)
    cut = any(not outcome.is_whole for outcome in seen.outcomes)
    pairs = (
        cut
        and session.state.get("joins", "and") == "and"
        and len(session.log) >= PAIRS_FROM
        and not session.parts
    )
    doubtful = unproved(session.columns, session.state.get("said_in", {}))
    limit = session.limit or likely_cut(seen.outcomes)
    return FreshPolicy((), limit, refused, pairs=pairs, doubtful=doubtful)


def _paper(session: HarvestSession, refused: frozenset[Term]) -> PaperPolicy:
    known = session.state.get("paper", {"queue": [], "round": 1, "started": 0})

    def word_weights(record: Hashable) -> dict[Term, float]:
        """Returns the weights K * tf (eq. (1) of the deep-web paper) of the words of a record, as
        shown in lists of results; K is larger for words of the record's title."""
        return (
            session.asking.weights(session.listed.get(record, {}), TITLE)
            if isinstance(record, int)
            else {}
        )

    queue = [Term(*term) for term in known["queue"]]
    state = {"queue": queue, "round": known["round"], "started": known["started"]}
    return PaperPolicy(
        (), refused=refused, word_weights=word_weights, **session.options.of_paper(), **state
    )


def best_of_all(session: HarvestSession, policy: Policy) -> Choice | None:
    """Returns the next query; None if there is none. If a text box is the only input, or all
    answers to a form with one were complete, this is the best single word. Otherwise queries that
    set other inputs (choices, ranges) are considered too: `FreshPolicy` takes the first query of
    the best plan for all remaining ones (`first_of_plan`). Without a text box or seen records, with
    `session.parts` or another policy, it is the query expected to bring most new records.
    """
    seen, box = session.seen, session.asking.box
    choice, gain = _best_word(session, policy)
    cut = any(not outcome.is_whole for outcome in seen.outcomes)
    slots = [
        *session.slots,
        *text_slots(session.asking.columns, session.listed.values(), session.slots),
    ]
    if not slots or box and not cut:
        return choice
    left = max(1, session.options.queries - session.harvest.queries)
    values = session.places.values(
        session.form, session.slots, session.listed, session.log.entries, seen
    )
    search = TemplateSearch(
        slots, session.limit, session.log.totals, values, session.parts.names, left, bool(box)
    )
    if not box or not isinstance(policy, FreshPolicy) or session.parts or not seen.records:
        bound, brings = search.best(seen)
        return bound if bound is not None and (choice is None or brings > gain) else choice
    others = [Candidate(choice, gain)] if choice is not None else []
    families, unseen = search.families(seen), (policy.scale(seen) - 1) * seen.records
    choices = {
        s.names[0]: s.values
        for s in session.slots
        if s.values and search.verdict(frozenset(s.names), seen) is not False
    }
    if choices:
        joint = JointYield(seen, box, choices, policy)
        with_words, of_choices = joint.offers()
        others, families, unseen = (
            [*others, *with_words],
            [*families, *of_choices],
            max(unseen, joint.unseen),
        )
        told = joint.explored(max((offer.gain for offer in others), default=0.0), of_choices, left)
        if told is not None:
            return told.choice
    planned = {*choices, *(term.input for offers in families for term in offers[0].choice.query)}
    free = replace(search, slots=[slot for slot in slots if slot.names[0] not in planned])
    bound, brings = free.best(seen)
    others += [Candidate(bound, brings)] if bound is not None else []
    unseen = max([unseen, *(sum(offer.gain for offer in offers) for offers in families)])
    first = first_of_plan(others, families, unseen, left)
    return first.choice if first is not None else None


def _best_word(session: HarvestSession, policy: Policy) -> tuple[Choice | None, float]:
    """Returns the query of one word that is expected to bring most new records, with the form's
    required choices, and the expected number of new records; (None, 0) if no word is left. Policies
    other than `FreshPolicy` expect no number: it is 0.
    """
    seen = session.seen
    if not isinstance(policy, FreshPolicy):
        return policy.next(seen), 0.0
    if session.inside is not None:
        plain = replace(
            policy,
            refused=frozenset(),
            pairs=False,
            doubtful=frozenset() if session.parts else policy.doubtful,
        )
        columns = [name for name in session.columns if name not in session.asking.unsearched]
        choice, gain = session.inside.best(
            session.log.entries, seen.outcomes, session.listed, plain, columns
        )
        if choice is not None or not session.parts:
            return choice, gain
    return session.parts.best(seen, policy, session.limit) if session.parts else policy.best(seen)


HARVESTS = 20


QUERIES = 500


PAID = 20


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
    rows = Query.objects.filter(harvest_id__in=ids, kind__in=COUNTED, new__gt=0).order_by(
        "-new", "pk"
    )
    brought: Counter[str] = Counter()
    for terms, new in rows.values_list("terms", "new")[:QUERIES]:
        if len(terms) == 1 and query_words(terms[0][1]) == [terms[0][1]]:
            brought[terms[0][1]] += new
    return [word for word, _ in brought.most_common(PAID)]


SEEDS_WITHOUT_RECORDS = 30


TRIES_A_WAY = 5


ENOUGH_RECORDS = 3


"""Number of known records from which on query words are taken from records. Before that a choice of
an input may be queried instead, because initial words without result cost more than a choice that
returns few records."""


VAIN_BEFORE_EVERYTHING = 2


UNCUT_BEFORE_EVERYTHING = 3


A_TEST, TESTS_FROM = 10, 2
"""From `TESTS_FROM` times `A_TEST` queries on, one in `A_TEST` queries tries another language."""


class Ask(NamedTuple):
    """A query to send, and its kind, which tells what the harvest uses the answer for."""

    kind: QueryKind
    choice: Choice


class NextQuery:
    """Chooses the next query of a harvest. What has to be remembered between queries is written to
    the `state` of the harvest's session.
    """

    def __init__(self, session: HarvestSession) -> None:
        self._session = session

    def choose(self) -> Ask | None:
        """Returns the next query. If a list of queries was given (`options.fixed`), it is taken
        from there; otherwise nonsense words and initial words come first, then the queries that the
        policy chooses. Returns None when the harvest is over, and stores the reason code in the
        session's `state["ending"]`.
        """
        if self._session.options.fixed:
            return self._fixed()
        if "ending" not in self._session.state:
            asked = self._first() or self._elsewhere() or stop_rule(self._session)
            asked = asked or self._by_policy()
            if asked == "no_more_words":
                asked = self._elsewhere(at_end=True) or asked
            if isinstance(asked, Ask):
                return asked
            self._session.state["ending"] = asked
        return None

    def _fixed(self) -> Ask | None:
        done = len(self._session.log)
        if done < len(self._session.options.fixed):
            return Ask(
                QueryKind.TRIAL,
                Choice(
                    tuple(Term(name, value) for name, value in self._session.options.fixed[done])
                ),
            )
        self._session.state["ending"] = "queries"
        return None

    def _first(self) -> Ask | str | None:
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
                            unfiltered(self._session.form, self._session.way)
                            or self._session.parts.at(0)
                        ),
                    )
                ),
            )
        if (
            not valid
            or self._session.seen.records < ENOUGH_RECORDS
            and len(self._session.log) < SEEDS_WITHOUT_RECORDS
        ):
            seed = self._seed(valid)
            if seed is not None:
                return seed
            if not valid and self._session.switch_way():
                return self._first()
            if not valid and self._session.ask_together():
                return self._first()
            if not self._session.seen.records:
                return in_vain(self._session.form)
        return self._trial()

    def _may_show_everything(self, valid: int) -> bool:
        """Tells whether to try a query with an empty word, which may return all records. Filter
        forms (field, operator, value): always. Other forms with required choices: never. Otherwise:
        after at least two queries of which none returned records, or if at least 3 words (`valid`)
        returned records and no answer seems to be truncated."""
        if self._session.way.is_filter or self._session.parts:
            return self._session.way.is_filter
        if not valid:
            return len(self._session.log) >= VAIN_BEFORE_EVERYTHING
        return valid >= UNCUT_BEFORE_EVERYTHING and likely_cut(self._session.seen.outcomes) is None

    def _paper_seed(self) -> Ask | str | None:
        """Returns a query for the next of the deep-web paper's seed words; each is queried once.
        After the last word, returns None if any records were found: the paper's rounds begin.
        Otherwise the form's next way of submission is tried: returns its first query or, if no way
        is left, a reason code to end the harvest."""
        words = list(self._session.options.seed_terms) or paper_words(
            cluster_terms(self._session.harvest.form), page_words(self._session.harvest.form.words)
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
                QueryKind.SEED, Choice((seed, *self._session.parts.at(len(self._session.log))))
            )
        if self._session.seen.records:
            return None
        return self._first() if self._session.switch_way() else in_vain(self._session.form)

    def _seed(self, valid: int) -> Ask | None:
        """Returns a query for the next of the initial query words or, if several words returned
        nothing, a query that only chooses a value of a select or similar input. `valid` is the
        number of initial words that returned records. None if the present way of submitting the
        form was tried often enough without success.
        """
        part = self._session.parts.at(len(self._session.log))
        asked = len(self._session.log) - int(self._session.state.get("way_from", 0))
        if not valid and asked >= TRIES_A_WAY and not self._session.parts:
            choice = lone_choice(self._session.slots, self._session.seen)
            if choice is not None:
                return Ask(QueryKind.SEED, Choice(choice))
        is_last = int(self._session.state.get("way", 0)) >= len(self._session.ways) - 1
        tries = (
            SEEDS_WITHOUT_RECORDS
            if valid or is_last
            else max(TRIES_A_WAY, len(self._session.parts) if self._session.way.is_filter else 0)
        )
        # Records are known although no word returned any: they were found by a choice without a
        # word, and their words are tried too.
        if self._session.seen.records and not valid:
            tries += TRIES_A_WAY
        # Required choices change from query to query, and each query sends the word used least so
        # far. If it is only assumed that the form requires a choice, the first words are repeated
        # with other choices before the next words are tried.
        times = Counter(
            entry.choice.query[0]
            for entry in self._session.log.entries[len(self._session.log) - asked :]
        )
        ahead = 1 if self._session.way.required else 0
        words = enumerate(self._seeds(valid))
        open_ = [
            (times[term] + ahead * n, term)
            for n, term in words
            if not self._session.seen.was_asked((term, *part))
        ]
        seed = min(open_, key=itemgetter(0), default=(0, None))[1]
        return (
            Ask(QueryKind.SEED, Choice((seed, *part)))
            if seed is not None and asked < tries + valid
            else None
        )

    def _elsewhere(self, at_end: bool = False) -> Ask | None:
        """Returns a query in another script or language than the records found: one in `A_TEST`
        queries, and all that are left when a stopping rule would end the harvest (or it is
        `at_end`), since records that share no word with those found would remain unseen."""
        session = self._session
        box, done = session.asking.box, session.state.setdefault("elsewhere", [])
        late = len(session.log) // A_TEST - TESTS_FROM
        if (
            not box
            or session.asking.together > 1
            or not session.seen.records
            or session.options.policy == "paper"
            or session.state.get("elsewhere_tried")
            or session.log.listing() is not None
            or not (at_end or len(done) < late or stop_rule(session))
        ):
            return None
        texts = (str(v) for listed in session.listed.values() for v in listed.values())
        for word in words_elsewhere(texts, session.harvest.form.language):
            term = Term(box, word)
            if (
                len(word) >= session.asking.least
                and word not in done
                and term not in session.asked_terms()
            ):
                done.append(word)
                part = session.parts.at(len(session.log))
                return Ask(QueryKind.SEED, Choice((term, *part)))
        session.state["elsewhere_tried"] = True
        return None

    def _calibration(self, number: int) -> Terms:
        rng = np.random.default_rng([self._session.options.random_seed, 0, number])
        return calibration(
            self._session.asking.box,
            self._session.slots,
            number,
            nonsense_word(rng),
            self._session.parts.at(0),
        )

    def _seeds(self, valid: int) -> list[Term]:
        if (
            self._session.seen.records
            and not valid
            and (known := words_of_records(self._session.seen, self._session.asking.box))
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
            for listed in self._session.listed.values()
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

    def _by_policy(self) -> Ask | str:
        policy = policy_of(self._session)
        if isinstance(policy, FreshPolicy) or not self._session.asking.box:
            choice = best_of_all(self._session, policy)
            return Ask(QueryKind.POLICY, choice) if choice is not None else "no_more_words"
        choice = policy.next(self._session.seen)
        ended = "no_more_words"
        if isinstance(policy, PaperPolicy):
            queue = [list(term) for term in policy.queue]
            self._session.state["paper"] = {
                "queue": queue,
                "round": policy.round,
                "started": policy.started,
            }
            ended = policy.ended or ended
        if choice is None:
            return ended
        return Ask(
            QueryKind.POLICY,
            choice._replace(query=(*choice.query, *self._session.parts.at(len(self._session.log)))),
        )
