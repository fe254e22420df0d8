"""Fixture for tests of the web interface: its texts are in English, whatever language an earlier
request used."""

from collections.abc import Iterator

import pytest
from django.utils import translation


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    with translation.override("en"):
        yield
