"""Texts of the web interface are in English in all tests of this folder, whatever language an
earlier request used."""

from collections.abc import Iterator

import pytest
from django.utils import translation


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    with translation.override("en"):
        yield
