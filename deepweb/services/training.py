"""The operators' corrections of forms as training examples. A separate module because it imports the learning library."""

from __future__ import annotations

from deepweb.form_training import Example, example_of_form
from deepweb.form_types import FormType
from deepweb.models import Form
from deepweb.services.forms import described_form


def corrected_examples() -> list[Example]:
    """The forms whose type an operator corrected."""
    rows = Form.objects.exclude(corrected="").defer("words").order_by("pk")
    return [example_of_form(described_form(row), FormType(row.corrected)) for row in rows]
