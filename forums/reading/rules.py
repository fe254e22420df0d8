"""An operator's corrections: what a field of a site's pages is, by CSS or XPath."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from forums.reading.model import PageKind


@dataclass(frozen=True, slots=True)
class KindRules:
    """Corrections for one kind of page: selectors of the records and, inside a record, of single roles.

    A selector is CSS (with `::text` and `::attr(name)` as parsel knows them) or XPath when it starts with `/`,
    `./` or `(`. Roles are the field names of the record types. An empty `records` keeps the records found.
    """

    records: str = ""
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SiteRules:
    """Corrections of a site, and addresses (regular expressions) whose kind the operator states."""

    kinds: tuple[tuple[PageKind, KindRules], ...] = ()
    addresses: tuple[tuple[str, PageKind], ...] = ()

    def for_kind(self, kind: PageKind) -> KindRules | None:
        """The corrections of one kind of page."""
        return next((rules for named, rules in self.kinds if named is kind), None)

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready form that `from_json` reads back."""
        return {
            "kinds": {str(k): {"records": r.records, "fields": dict(r.fields)} for k, r in self.kinds},
            "addresses": [[pattern, str(kind)] for pattern, kind in self.addresses],
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> SiteRules:
        """Reads `to_json`'s form; raises KeyError, TypeError or ValueError for anything else."""
        kinds = tuple(
            (PageKind(kind), KindRules(str(rules["records"]), tuple((str(a), str(b)) for a, b in rules["fields"].items())))
            for kind, rules in value.get("kinds", {}).items()
        )
        return SiteRules(kinds, tuple((str(pattern), PageKind(kind)) for pattern, kind in value.get("addresses", [])))
