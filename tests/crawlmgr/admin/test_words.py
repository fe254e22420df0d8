"""Tests that every code that the program stores has a display text, and that texts that are not
codes are shown unchanged."""

from __future__ import annotations

import pytest
from django.conf import settings

from crawlmgr.admin import words
from crawlmgr.web.http.exchange import Failure


@pytest.mark.parametrize("code", [failure.value for failure in Failure])
def test_every_failure_has_words(code: str) -> None:
    assert code in words.SAID


@pytest.mark.parametrize("kind", [*settings.CRAWLERS, *settings.JOBS])
def test_every_kind_of_run_has_words(kind: str) -> None:
    assert kind in words.KINDS


def test_compound_codes_are_taken_apart() -> None:
    assert words.say("http_404") == "HTTP status 404"
    assert words.say("dns: no such name") == "the host name cannot be resolved (no such name)"
    assert words.say("incomplete: http_503, max_pages").endswith(
        "(HTTP status 503; the limit of list pages for one visit)"
    )
    assert words.say("Anything: else") == "Anything: else" and words.say("") == ""
