"""Sets up the policy of a harvest, which chooses its queries, for the harvest's current state."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from deepweb.coverage import StopRules, stopped_by
from deepweb.joint_yield import JointYield
from deepweb.page_words import TITLE
from deepweb.paper_policy import PaperPolicy
from deepweb.query_plan import Candidate, first_of_plan
from deepweb.searched import unproved
from deepweb.seen import Choice, Term, likely_cut
from deepweb.selection import FrequencyPolicy, FreshPolicy, Policy
from deepweb.services.harvest_session import HarvestSession
from deepweb.template_search import TemplateSearch, text_slots

PAIRS_FROM = 8


def stop_rule(session: HarvestSession) -> str | None:
    """Returns the code of the stopping rule that ends the querying early; None if none applies."""
    if not session.options.stop_rules:
        return None
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
