"""Names and colours of visit policies and of policies for finding changes."""

from __future__ import annotations

import re

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

NAMES: dict[str, Promise] = {
    "interval": _("fixed interval"),
    "era": _("era: equal visits, equally spaced"),
    "wra": _("wra: number of visits by posting volume"),
    "lra": _("lra: times of visits by posting rhythm"),
    "bra": _("bra: the paper's rule, corrected"),
    "bra_literal": _("bra as printed"),
    "bra_method1": _("bra: eq. (9) of the paper"),
    "optimal": _("optimal timetable"),
    "adaptive": _("adaptive: chooses each visit by current forecasts"),
    "glances": _("glances: adaptive, also fetches the index page"),
    "newest": _("newest: adaptive, also fetches the list of the newest threads"),
    "clairvoyant": _("clairvoyant: lower bound, knows all events in advance"),
    "bic": _("bic: by the last replies shown in lists"),
    "eic": _("eic: by each thread's mean interval between changes"),
    "rate": _("rate × elapsed time"),
    "hazard": _("hazard: by predicted replies"),
    "oracle": _("oracle: best possible, knows all changes in advance"),
}
COLOURS = {
    "interval": "#94a3b8",
    "era": "#64748b",
    "wra": "#14b8a6",
    "lra": "#f59e0b",
    "bra": "#ef4444",
    "bra_literal": "#f97316",
    "bra_method1": "#ec4899",
    "optimal": "#10b981",
    "adaptive": "#3b82f6",
    "glances": "#a16207",
    "newest": "#0891b2",
    "clairvoyant": "#8b5cf6",
    "bic": "#3b82f6",
    "eic": "#ef4444",
    "rate": "#f59e0b",
    "hazard": "#10b981",
    "oracle": "#8b5cf6",
}


def name(policy: str) -> str:
    """Returns the name of a policy; its code if it has none."""
    return str(NAMES.get(policy, policy))


PLAIN: dict[str, Promise] = {
    "era": _("equal visits (era)"),
    "wra": _("by volume (wra)"),
    "lra": _("by rhythm (lra)"),
    "bra": _("volume and rhythm (bra)"),
}


def short(policy: str) -> str:
    """Returns a short name of a policy for legends and narrow columns, with the papers'
    abbreviation."""
    if policy in PLAIN:
        return str(PLAIN[policy])
    return re.split("[:：]", name(policy), maxsplit=1)[0]
