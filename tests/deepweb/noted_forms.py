"""Forms of further sites, written down field by field and labelled by hand with their types; no
model is trained on them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

NOTES = Path(__file__).with_suffix(".txt")
_INPUTS = {
    "t": "text",
    "s": "search",
    "e": "email",
    "p": "password",
    "n": "number",
    "tel": "tel",
    "url": "url",
    "date": "date",
    "h": "hidden",
    "c": "checkbox",
    "r": "radio",
    "f": "file",
    "sub": "submit",
    "btn": "button",
    "img": "image",
    "rst": "reset",
}
_TEXTS = {"say": "p", "hd": "h3"}
_MARK = re.compile(r" (?=[=:~.(])")


class Note(NamedTuple):
    """A form in the notation of noted_forms.txt. `sent`: method, action, attributes; `around`: page
    title ~ heading ~ classes."""

    type: str
    site: str
    language: str
    sent: str
    around: str
    fields: str


def notes() -> list[Note]:
    """Reads the forms that were written down by hand in the notes file, in its order."""
    lines = NOTES.read_text(encoding="utf-8").splitlines()
    return [
        Note(*(column.strip() for column in line.split(" | ")))
        for line in lines
        if line and not line.startswith("#")
    ]


def field_html(noted: str) -> str:
    """One noted field as HTML: `kind name =value :label ~placeholder .class (option, option)`; "!"
    after the kind: required."""
    head, *marks = _MARK.split(noted.strip())
    kind, _, name = head.partition(" ")
    said = {
        mark[0]: html.escape(mark[1:].strip().removesuffix(")" if mark[0] == "(" else ""))
        for mark in marks
    }
    label, options = (
        said.get(":", ""),
        [option.strip() for option in said.get("(", "").split(",") if option.strip()],
    )
    if kind in _TEXTS:
        return f"<{_TEXTS[kind]}>{html.escape(noted.strip().partition(' ')[2])}</{_TEXTS[kind]}>"
    if kind == "a":
        return f'<a href="{html.escape(name)}">{label}</a>'
    given = " required" if kind.endswith("!") else ""
    kind = kind.rstrip("!")
    given += "".join(
        f' {word}="{said[mark]}"'
        for mark, word in (("=", "value"), ("~", "placeholder"), (".", "class"))
        if mark in said
    )
    given += f' name="{html.escape(name)}"' if name else ""
    if kind == "sel":
        return (
            f"{label}"
            f" <select{given}>"
            f"{''.join(f'<option value={n}>{option}' for n, option in enumerate(options))}</select>"
        )
    if kind == "ta":
        return f"{label} <textarea{given}></textarea>"
    if kind == "b":
        return f"<button type=submit{given}>{label}</button>"
    if kind in ("r", "c"):
        each = [f"<input type={_INPUTS[kind]}{given}> {option}" for option in options or [label]]
        return " ".join([label, *each] if options else each)
    return f"{label} <input type={_INPUTS[kind]}{given}>"


def row_of(note: Note, number: int) -> dict[str, Any]:
    """Returns the form that `note` describes, as HTML with its page, in the format of the training
    data."""
    method, _, rest = note.sent.partition(" ")
    words = rest.split()
    action = next((word for word in words if word[0] not in "#.@*"), "")
    page = next((word[1:] for word in words if word[0] == "@"), "/")
    given = "".join(
        f' {name}="{html.escape(" ".join(found))}"'
        for name, found in (
            ("id", [w[1:] for w in words if w[0] == "#"]),
            ("class", [w[1:] for w in words if w[0] == "."]),
        )
        if found
    )
    given += " enctype=multipart/form-data" if "*" in words else ""
    inside = "\n".join(field_html(noted) for noted in note.fields.split(" ; "))
    form = f'<form method={method} action="{html.escape(action)}"{given}>{inside}</form>'
    title, above, around = (part.strip() for part in f"{note.around}~~".split("~")[:3])
    heading = f"<h2>{html.escape(above)}</h2>" if above else ""
    whole = (
        f"<html lang={note.language}><head><title>{html.escape(title)}</title></head>"
        f'<body>{heading}<div class="{html.escape(around)}">{form}</div></body></html>'
    )
    return {
        "id": f"noted-{number}",
        "page_id": f"noted-{number}",
        "url": f"http://{note.site}{page}",
        "domain": note.site,
        "type": note.type,
        "lang": note.language,
        "html": form,
        "page_html": whole,
        "form_index": 0,
    }


def noted() -> Iterator[dict[str, Any]]:
    """Yields every form of the notes file in the format of a line of training data."""
    for number, note in enumerate(notes()):
        yield row_of(note, number)
