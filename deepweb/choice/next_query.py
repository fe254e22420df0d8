"""Chooses a harvest's next query: first the opening queries that explore the site, then the best of
what the ways to choose (by words, choices, ranges, or as the deep-web paper does) offer."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import NamedTuple

from deepweb.answers.retrieved import Choice, Retrieved, Term, likely_cut
from deepweb.choice.chooser import Chooser, Offer, take_best
from deepweb.choice.combinations import Combinations
from deepweb.choice.matching import unproved
from deepweb.choice.opening import Ask, Opening
from deepweb.choice.paper_policy import PaperPolicy
from deepweb.choice.slots import text_slots
from deepweb.choice.template_search import TemplateSearch
from deepweb.choice.words import FrequencyPolicy, FreshPolicy
from deepweb.forms.clustering import TITLE
from deepweb.harvest_session import HarvestSession
from deepweb.models import QueryKind
from deepweb.size.estimators import stopped_by

PAIRS_FROM = 8


KNOWN = 0.95
"""Estimated share of known records in further answers that ends a harvest."""


def stop_rule(session: HarvestSession) -> str | None:
    """Returns the code of the stopping rule that ends the querying early; None if none applies."""
    if not session.options.stop_rules:
        return None
    if session.log.listing() is not None:
        return "all"
    if session.options.policy == "paper":
        return None
    seen = session.retrieved
    return stopped_by(seen.outcomes, seen.times_returned, session.options.min_gain, KNOWN)


def policy_of(session: HarvestSession) -> FreshPolicy | FrequencyPolicy | PaperPolicy:
    """Returns the policy chosen for the harvest, set up with what the harvest has learned about the
    site."""
    barred, seen = session.barred_inputs(), session.retrieved
    refused = frozenset(
        term for place in range(len(seen.frequency)) if (term := seen.term(place)).input in barred
    )
    # If the form requires choices, words are only queried together with choices. The policies do
    # not recognise such words as already queried, so these are excluded here.
    beside = session.asked_terms() if session.required_parts else frozenset()
    if session.options.policy == "frequency":
        return FrequencyPolicy(refused | beside)
    if session.options.policy == "paper":
        return _paper(session, refused | beside)
    cut = any(not outcome.is_whole for outcome in seen.outcomes)
    pairs = (
        cut
        and session.state.get("joins", "and") == "and"
        and len(session.log) >= PAIRS_FROM
        and not session.required_parts
    )
    doubtful = unproved(session.field_names, session.state.get("said_in", {}))
    limit = session.limit or likely_cut(seen.outcomes)
    return FreshPolicy(limit, refused, pairs=pairs, doubtful=doubtful)


def _paper(session: HarvestSession, refused: frozenset[Term]) -> PaperPolicy:
    known = session.state.get("paper", {"queue": [], "round": 1, "started": 0})

    def word_weights(record: Hashable) -> dict[Term, float]:
        """Returns the weights K * tf (eq. (1) of the deep-web paper) of the words of a record, as
        shown in lists of results; K is larger for words of the record's title."""
        return (
            session.asking.weights(session.listed_fields.get(record, {}), TITLE)
            if isinstance(record, int)
            else {}
        )

    queue = [Term(*term) for term in known["queue"]]
    state = {"queue": queue, "round": known["round"], "started": known["started"]}
    return PaperPolicy(
        refused=refused, word_weights=word_weights, **session.options.of_paper(), **state
    )


class Words(NamedTuple):
    """Chooses words by `policy`, with the form's required choices, and also parts of longer words
    on a site that searches for substrings."""

    session: HarvestSession
    policy: FreshPolicy | FrequencyPolicy | PaperPolicy

    def offers(self, seen: Retrieved) -> list[Offer]:
        """Returns the query of one word that is expected to bring most new records, or of a pair;
        empty if no word is left. Only `FreshPolicy` predicts their number."""
        session, policy = self.session, self.policy
        if not isinstance(policy, FreshPolicy):
            return policy.offers(seen)
        found: list[Offer] = []
        if session.inside is not None:
            doubtful = frozenset() if session.required_parts else policy.doubtful
            plain = replace(policy, refused=frozenset(), pairs=False, doubtful=doubtful)
            columns = [
                name for name in session.field_names if name not in session.asking.unsearched
            ]
            found = session.inside.offers(
                session.log.entries, seen.outcomes, session.listed_fields, plain, columns
            )
            if not session.required_parts:
                return found
        parts = session.required_parts
        return found or (
            parts.offers(seen, policy, session.limit) if parts else policy.offers(seen)
        )


def choosers_of(
    session: HarvestSession, policy: FreshPolicy | FrequencyPolicy | PaperPolicy
) -> list[Chooser]:
    """Returns the ways to choose that are asked for the next query: words alone if a text box is
    the only input, if all answers to a form with one were complete, or if `policy` predicts no
    numbers of records; otherwise also ranges and choices (with or without words)."""
    seen, box, words = session.retrieved, session.asking.box, Words(session, policy)
    is_cut = any(not outcome.is_whole for outcome in seen.outcomes)
    slots = [
        *session.slots,
        *text_slots(session.asking.columns, session.listed_fields.values(), session.slots),
    ]
    if not slots or box and not (is_cut and isinstance(policy, FreshPolicy)):
        return [words]
    values = session.places.values(
        session.form, session.slots, session.listed_fields, session.log.entries, seen
    )
    search = TemplateSearch(
        slots,
        session.limit,
        session.log.totals,
        values,
        session.required_parts.names,
        _left(session),
        bool(box),
    )
    if not (box and isinstance(policy, FreshPolicy) and seen.records) or session.required_parts:
        return [words, search]
    search.note(seen)
    choices = {
        slot.names[0]: slot.values
        for slot in session.slots
        if slot.values and search.informative(frozenset(slot.names), seen) is not False
    }
    others = [slot for slot in slots if slot.names[0] not in choices]
    combined = [Combinations(box, choices, policy, _left(session))] if choices else []
    return [words, replace(search, slots=others, planned=True), *combined]


def _left(session: HarvestSession) -> int:
    return max(1, session.options.queries - session.harvest.queries)


class NextQuery:
    """Chooses the next query of a harvest."""

    def __init__(self, session: HarvestSession) -> None:
        self._session, self._opening = session, Opening(session)

    def choose(self) -> Ask | None:
        """Returns the next query. If a list of queries was given (`options.fixed`), it is taken
        from there; otherwise nonsense words and initial words come first, then the best of all
        offers. Returns None when the harvest is over, and stores the reason code in the session's
        `state["ending"]`.
        """
        session = self._session
        if session.options.fixed:
            return self._fixed()
        if "ending" not in session.state:
            asked = self._opening.first()
            if asked is None:
                asked = stop_rule(session) or self._by_policy()
                gain = asked.choice.predicted if isinstance(asked, Ask) else 0.0
                if gain or isinstance(asked, str):
                    asked = self._opening.elsewhere(gain) or asked
            if isinstance(asked, Ask):
                return asked
            session.state["ending"] = asked
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

    def _by_policy(self) -> Ask | str:
        session = self._session
        policy = policy_of(session)
        choosers = choosers_of(session, policy)
        offers = [offer for chooser in choosers for offer in chooser.offers(session.retrieved)]
        best = take_best(offers, _left(session))
        if isinstance(policy, PaperPolicy):
            queue = [list(term) for term in policy.queue]
            state = {"queue": queue, "round": policy.round, "started": policy.started}
            session.state["paper"] = state
            if best is None and policy.ended:
                return policy.ended
        if best is None:
            return "no_more_words"
        beside = (
            () if isinstance(policy, FreshPolicy) else session.required_parts.at(len(session.log))
        )
        query = (*best.choice.query, *beside)
        return Ask(QueryKind.POLICY, best.choice._replace(query=query, expected=best.gain))
