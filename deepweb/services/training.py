"""Training examples from the operators' corrections of forms. A separate module because it imports
the machine learning library.
"""

from __future__ import annotations

from deepweb.form_training import Example, example_of_form
from deepweb.form_types import FormType
from deepweb.models import Form
from deepweb.services.forms import described_form


def corrected_examples() -> list[Example]:
    """Returns the forms whose type an operator corrected, as examples for training the
    classifier."""
    rows = Form.objects.exclude(corrected="").defer("words").order_by("pk")
    return [example_of_form(described_form(row), FormType(row.corrected)) for row in rows]
