"""The schedule policies, each registered once: by which rule a policy makes a timetable, and what
it needs in a simulation. Their titles and colours are in `forums.admin.words`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from forums.schedule.paper import Demand, bra, bra_literal, bra_method1, era, lra, wra
from forums.schedule.timetable import Timetable

Rule = Callable[[Demand, int], Timetable]


class SchedulePolicy(NamedTuple):
    """A policy that chooses when boards are visited.

    rule: function of the demand and the visits a day that returns a day's timetable, None if the
    policy has no such rule. variant: whether the rule is a reading of the paper that only
    simulations use. by_rhythm: whether visits are placed by the daily rhythm. loop: whether it
    chooses visits as it goes. observes: kind of the overview source that it reads in a simulation,
    "" for none.
    """

    rule: Rule | None = None
    variant: bool = False
    by_rhythm: bool = False
    loop: bool = False
    observes: str = ""


POLICIES: Mapping[str, SchedulePolicy] = {
    "era": SchedulePolicy(era),
    "wra": SchedulePolicy(wra),
    "lra": SchedulePolicy(lra, by_rhythm=True),
    "bra": SchedulePolicy(bra, by_rhythm=True),
    "bra_literal": SchedulePolicy(bra_literal, variant=True, by_rhythm=True),
    "bra_method1": SchedulePolicy(bra_method1, variant=True, by_rhythm=True),
    "optimal": SchedulePolicy(by_rhythm=True),
    "adaptive": SchedulePolicy(loop=True),
    "glances": SchedulePolicy(loop=True, observes="index"),
    "newest": SchedulePolicy(loop=True, observes="newest"),
    "clairvoyant": SchedulePolicy(),
}
# the policies with a rule of the forum paper that a plan may have
PAPER_POLICIES = tuple(name for name, one in POLICIES.items() if one.rule and not one.variant)


def rule_of(policy: str) -> Rule:
    """Returns the rule by which a policy makes a timetable; KeyError if it has none."""
    found = POLICIES[policy].rule
    if found is None:
        raise KeyError(policy)
    return found
