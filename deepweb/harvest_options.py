"""Options of a harvest run: its budget, its policy for choosing queries, and the policy's
parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

POLICIES = ("fresh", "frequency", "paper")
_MINIMUMS = {
    **{"queries": 1, "requests": 1, "probes": 0, "details": 0, "max_pages": 1},
    **{"paper_seeds": 1, "per_round": 1, "rounds": 1, "min_candidates": 1},
}


@dataclass(frozen=True, slots=True)
class HarvestOptions:
    """Options of a harvest run; None for a number means no limit. `from_mapping` reads a run's
    parameters and refuses invalid ones.
    """

    policy: str = "fresh"
    queries: int = 100
    requests: int | None = None
    seed_terms: tuple[str, ...] = ()
    stop_rules: bool = True
    min_gain: float = 0.01
    paper_seeds: int = 5
    per_round: int = 5
    rounds: int = 5
    min_candidates: int = 5
    too_common: float = 0.9
    too_rare: float = 0.05
    coverage: float | None = None
    probes: int = 240
    details: int | None = 1000
    max_pages: int = 200
    random_seed: int = 1
    fixed: tuple[tuple[tuple[str, str], ...], ...] = ()

    @classmethod
    def from_mapping(cls, given: Mapping[str, Any]) -> HarvestOptions:
        """Makes the options from a run's parameters, ignoring other keys. Raises ValueError with a
        one-line message for an unknown policy or a number out of range.
        """
        names = set(cls.__dataclass_fields__)
        values = {
            name: value
            for name, value in given.items()
            if name in names and (value is not None or name == "details")
        }
        if values.get("policy", "fresh") not in POLICIES:
            raise ValueError(f"{values['policy']} is no policy; there are {', '.join(POLICIES)}")
        for name, low in _MINIMUMS.items():
            value = values.get(name)
            if value is not None and (not isinstance(value, int) or value < low):
                raise ValueError(f"{name}: {value!r} is no whole number of at least {low}")
        for name in ("too_common", "too_rare"):
            value = values.get(name)
            if value is not None and not (isinstance(value, (int, float)) and 0 <= value <= 1):
                raise ValueError(f"{name}: {value!r} is no share of at least 0 and of at most 1")
        share = values.get("coverage")
        if share is not None and not (isinstance(share, (int, float)) and 0 < share <= 1):
            raise ValueError(f"coverage: {share!r} is no share above 0 and of at most 1")
        values["seed_terms"] = tuple(values.get("seed_terms", ()))
        values["fixed"] = tuple(
            tuple((str(n), str(v)) for n, v in query) for query in values.get("fixed", ())
        )
        return cls(**values)

    def of_paper(self) -> dict[str, Any]:
        """Returns the options of the deep-web paper's method as keyword arguments of its policy
        (`PaperPolicy`)."""
        return {
            "per_round": self.per_round,
            "max_rounds": self.rounds,
            "min_candidates": self.min_candidates,
            "too_common": self.too_common,
            "too_rare": self.too_rare,
            "stop_rule": self.stop_rules,
        }
