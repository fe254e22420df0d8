"""Both languages are complete: every text of the program is in the Chinese catalogue, and the
compiled catalogue is current."""

from __future__ import annotations

import ast
import gettext
import re
from pathlib import Path

import pytest
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parents[2]
CATALOGUES = [
    ROOT / "crawlmgr/locale/zh_Hans/LC_MESSAGES",
    ROOT / "crawlmgr/locale/libraries/zh_Hans/LC_MESSAGES",
]
PLACE = re.compile(r"%\(\w+\)[sd]")
# A text as Django extracts it from `translate` and `blocktranslate`; the second text of a plural
# stands in the same entry.
TEXT = re.compile(r"""\bn?gettext\(u?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")


def entries(text: str) -> list[tuple[str, list[str]]]:
    """(msgid, its msgstrs) of a catalogue's current entries."""
    found = []
    for block in re.split(r"\n\s*\n", text):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        fields: dict[str, str] = {}
        name = ""
        for line in lines:
            head, quote, rest = line.partition('"')
            name = head.strip() or name
            fields[name] = fields.get(name, "") + (quote + rest).strip().strip('"')
        if fields.get("msgid"):
            found.append(
                (
                    fields["msgid"],
                    [value for key, value in fields.items() if key.startswith("msgstr")],
                )
            )
    return found


@pytest.mark.parametrize("folder", CATALOGUES, ids=["product", "libraries"])
def test_every_text_is_translated_with_its_places(folder: Path) -> None:
    text = (folder / "django.po").read_text(encoding="utf-8")
    rows = entries(text)
    assert len(rows) > 100 and "fuzzy" not in text
    for source, targets in rows:
        assert all(targets), f"not translated: {source}"
        for target in targets:
            assert set(PLACE.findall(target)) <= set(PLACE.findall(source)), source


@pytest.mark.parametrize("folder", CATALOGUES, ids=["product", "libraries"])
def test_the_compiled_catalogue_is_the_current_one(folder: Path) -> None:
    with (folder / "django.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for source, targets in entries((folder / "django.po").read_text(encoding="utf-8")):
        plain = (
            source.encode("raw_unicode_escape").decode("unicode_escape")
            if "\\" in source
            else source
        )
        if len(targets) == 1 and "\\" not in source:
            catalog = compiled._catalog  # type: ignore[attr-defined]
            got = catalog.get(plain) or catalog.get((plain, 0))
            assert got == targets[0], source


def texts_of_the_product() -> set[str]:
    """All texts that templates and Python files mark for translation."""
    found: set[str] = set()
    for path in [*ROOT.glob("templates/**/*.html")]:
        source = path.read_text(encoding="utf-8")
        found |= {ast.literal_eval(text) for text in TEXT.findall(templatize(source))}
        found |= set(
            re.findall(r"""\b_\("([^"]+)"\)""", source)
        )  # texts marked as _("…") in arguments of tags and filters
    for app in ("crawlmgr", "forums", "focused", "deepweb"):
        for path in (ROOT / app).rglob("*.py"):
            source = path.read_text(encoding="utf-8")
            found |= set(
                re.findall(
                    r"""\b(?:_|gettext|gettext_lazy|gettext_noop)\(\s*"([^"\\]+)"\s*[,)]""", source
                )
            )
    return found


def test_no_text_of_a_template_contains_its_line_breaks() -> None:
    """A text on several lines is `trimmed`; otherwise the catalogue would have to repeat the layout
    of the template."""
    for path in ROOT.glob("templates/**/*.html"):
        source = templatize(path.read_text(encoding="utf-8"))
        texts = [ast.literal_eval(text) for text in TEXT.findall(source)]
        assert not [text for text in texts if "\n" in text or text != text.strip()], path


def test_no_argument_of_a_tag_has_a_percent_sign() -> None:
    """Django looks up `_("5 %")` of a template as "5 %%" but extracts it as "5 %": such a text
    needs `{% translate … as name %}`."""
    for path in ROOT.glob("templates/**/*.html"):
        assert not re.findall(
            r"""\b_\(["'][^"'%]*%[^"']*["']\)""", path.read_text(encoding="utf-8")
        ), path


def test_no_text_is_missing_from_the_catalogue() -> None:
    catalogue = (CATALOGUES[0] / "django.po").read_text(encoding="utf-8")
    known = {source.replace('\\"', '"') for source, _ in entries(catalogue)}
    missing = {text for text in texts_of_the_product() if text not in known}
    assert not missing, f"run makemessages, translate, compilemessages: {sorted(missing)[:10]}"
