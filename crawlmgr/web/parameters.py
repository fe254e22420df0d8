"""Decides which query parameters belong to the canonical address of a page. Dropped are session
ids, tracking parameters, and those that a site's rules name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_SESSION_NAMES = frozenset(
    {
        "phpsessid",
        "phpsession",
        "jsessionid",
        "sessionid",
        "session_id",
        "sessid",
        "oscsid",
        "zenid",
        "xtcsid",
        "osadminid",
        "cfid",
        "cftoken",
        "aspsessionid",
        "asp.net_sessionid",
    }
)
# Names of parameters that are dropped only if their value looks like a session id or is empty.
_MAYBE_SESSION_NAMES = frozenset({"sid", "s", "session", "sess", "ses"})
# values for which a parameter in _MAYBE_SESSION_NAMES is dropped: 32, 40 or 64 hexadecimal digits,
# or the empty value
_SESSION_VALUE = re.compile(r"(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{64})?")
# further values for which a parameter named "sid" is dropped: session ids as PHP makes them
_PHP_SESSION = re.compile(r"(?=\D*\d)[0-9a-zA-Z,-]{22,}")
_TRACKING_NAMES = frozenset(
    {
        "fbclid",
        "gclid",
        "gclsrc",
        "dclid",
        "gbraid",
        "wbraid",
        "msclkid",
        "yclid",
        "ymclid",
        "twclid",
        "ttclid",
        "li_fat_id",
        "igshid",
        "igsh",
        "mc_cid",
        "mc_eid",
        "mkt_tok",
        "_ga",
        "_gl",
        "_hsenc",
        "_hsmi",
        "__hssc",
        "__hstc",
        "__hsfp",
        "hsctatracking",
        "vero_id",
        "vero_conv",
        "oly_anon_id",
        "oly_enc_id",
        "wickedid",
        "_openstat",
        "spm",
        "scm",
        "_branch_match_id",
    }
)
_TRACKING_PREFIXES = ("utm_", "pk_", "mtm_", "hsa_")


@dataclass(frozen=True, slots=True)
class UrlRules:
    """A site's rules for canonical addresses.

    `drop_parameters` and `keep_parameters` are names of query parameters, case ignored; a name that
    ends in "*" is a prefix. A parameter in both is kept; keeping also overrides `strip_sessions`
    and `strip_tracking`, which drop parameters whose names are known for session ids and tracking.
    """

    drop_parameters: frozenset[str] = frozenset()
    keep_parameters: frozenset[str] = frozenset()
    keep_fragment: bool = False
    sort_query: bool = True
    strip_sessions: bool = True
    strip_tracking: bool = True


def _matches(name: str, patterns: frozenset[str]) -> bool:
    """Tells whether a lower-case parameter name is in `patterns` or begins with one of the prefixes
    there."""
    for pattern in patterns:
        low = pattern.lower()
        if name == low or (low.endswith("*") and name.startswith(low[:-1])):
            return True
    return False


@lru_cache(maxsize=4096)
def _parameter_action(name: str, rules: UrlRules) -> str:
    """Returns what the rules say about a query parameter of this name: "keep", "drop", or "session"
    (dropped only if its value looks like a session id)."""
    name = name.lower()
    if rules.keep_parameters and _matches(name, rules.keep_parameters):
        return "keep"
    if rules.drop_parameters and _matches(name, rules.drop_parameters):
        return "drop"
    if rules.strip_sessions and (name in _SESSION_NAMES or name.startswith("aspsessionid")):
        return "drop"
    if rules.strip_tracking and (name in _TRACKING_NAMES or name.startswith(_TRACKING_PREFIXES)):
        return "drop"
    return "session" if rules.strip_sessions and name in _MAYBE_SESSION_NAMES else "keep"


def keeps(parameter: str, rules: UrlRules) -> bool:
    """Tells whether a query parameter ("name=value") is kept in canonical addresses; False for an
    empty one."""
    if not parameter:
        return False
    name, _, value = parameter.partition("=")
    action = _parameter_action(name, rules)
    if action != "session":
        return action == "keep"
    told = name.lower() == "sid" and _PHP_SESSION.fullmatch(value)
    return not (told or _SESSION_VALUE.fullmatch(value))
