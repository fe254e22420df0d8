"""Templates are sent without their indentation, which must not show anywhere."""

from __future__ import annotations

import re
from pathlib import Path

from django.conf import settings
from django.template.loader import get_template

FOLDER = Path(settings.BASE_DIR) / "templates"
TEMPLATES = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.html"))
KEEPS_SPACE = re.compile(
    r'<(pre|textarea)\b.*?</\1>|<div class="text">.*?</div>|<(\w+)[^>]*white-space:\s*pre.*?</\2>',
    re.DOTALL,
)


def test_a_template_is_loaded_line_for_line_without_its_indentation() -> None:
    for name in TEMPLATES:
        loaded = get_template(name).template  # type: ignore[attr-defined]  # missing in the stubs
        written = (FOLDER / name).read_text(encoding="utf-8")
        assert [line.lstrip() for line in written.split("\n")] == loaded.source.split("\n"), name


def test_where_white_space_shows_no_line_is_indented() -> None:
    found = {
        name: [one[0] for one in KEEPS_SPACE.finditer((FOLDER / name).read_text(encoding="utf-8"))]
        for name in TEMPLATES
    }
    kept = [(name, text.split(">", 1)[1]) for name, texts in found.items() for text in texts]
    assert len(kept) > 15
    for name, text in kept:
        assert not re.search(r"\n[ \t]", text), f"{name}: {text}"
