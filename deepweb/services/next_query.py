"""Chooses a harvest's next query: first the opening queries that explore the site, then words,
choices and ranges by the harvest's policy.
"""

from __future__ import annotations

from collections import Counter
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from deepweb.beginning import (
    calibration,
    in_vain,
    lone_choice,
    page_words,
    paper_words,
    unfiltered,
    words_of_records,
)
from deepweb.models import COUNTED, Form, Harvest, Query, QueryKind
from deepweb.paper_policy import PaperPolicy
from deepweb.query_words import query_words
from deepweb.results import nonsense_word
from deepweb.searched import telling_word
from deepweb.seen import Choice, Term, likely_cut
from deepweb.seen import Query as Terms
from deepweb.selection import FreshPolicy
from deepweb.services.harvest_session import NONSENSE, HarvestSession
from deepweb.services.policies import best_of_all, policy_of, stop_rule
from deepweb.terms import WordMode, first_words, has_han

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
            asked = self._first() or stop_rule(self._session) or self._by_policy()
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
        word = telling_word(texts, order[0])
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
