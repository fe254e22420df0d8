"""Reads the forms of a page as plain values: fields with labels, values and roles, and a signature
that is equal for the same form on different pages."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from dataclasses import fields as dataclass_fields
from itertools import islice
from typing import NamedTuple
from urllib.parse import parse_qsl, urljoin, urlsplit, urlunsplit

from lxml.html import HtmlElement

from crawlmgr.web.encoding import decode
from crawlmgr.web.pages.forms import (
    BUTTONS,
    CONTROLS,
    MAX_OPTIONS,
    Control,
    accepted_charset,
    control_of,
    default_button,
    join,
    owned,
    target,
)
from crawlmgr.web.pages.tree import MAX_CHARS, READ_TAGS, bounded_markup, parse
from deepweb.forms.field_roles import FieldRole, concepts_in, role_of

_BLOCKS = {
    "p",
    "div",
    "li",
    "tr",
    "td",
    "th",
    "br",
    "h1",
    "h2",
    "h3",
    "h4",
    "fieldset",
    "legend",
    "label",
    "ul",
    "table",
    "dt",
    "dd",
}


_SPACES = re.compile(r"\s+")


def visible_text(element: HtmlElement) -> str:
    """Returns the text of an element with its images' alternative texts; scripts and the options of
    selects are left out."""
    parts: list[str] = []
    for node in element.iter():
        if not isinstance(node.tag, str) or node.tag in ("script", "style"):
            continue
        if node.tag == "option" and element.tag != "option":
            continue
        parts.append(node.text or "")
        if node.tag == "img":
            parts.append(node.get("alt") or "")
        if node is not element:
            parts.append(" " + (node.tail or "") if node.tag in _BLOCKS else node.tail or "")
    return squeezed("".join(parts))


def squeezed(text: str) -> str:
    """Returns a text with runs of white space as one space, and none at the ends."""
    return _SPACES.sub(" ", text).strip()


MAX_LETTERS = 120


PARENTS = 3


_HEADINGS = ("h1", "h2", "h3", "h4", "legend")


def headings_above(root: HtmlElement) -> list[str]:
    """Returns for each form of a page the nearest heading before it that is outside all forms, with
    no other form in between; "" if there is none."""
    inside = {heading for form in root.iter("form") for heading in form.iter(*_HEADINGS)}
    found: list[str] = []
    heading = ""
    for element in root.iter("form", *_HEADINGS):
        if element.tag == "form":
            found.append(heading)
            heading = ""
        elif element not in inside:
            heading = squeezed(visible_text(element))[:MAX_LETTERS]
    return found


def around_of(element: HtmlElement) -> str:
    """Returns the ids and classes of an element's three nearest ancestors, as one string."""
    names = (
        f"{parent.get('id') or ''} {parent.get('class') or ''}"
        for parent in islice(element.iterancestors(), PARENTS)
    )
    return squeezed(" ".join(names))[:200]


_NOT_FILLED = frozenset(("hidden", "submit", "image", "button", "reset"))


def parts_of(form: HtmlElement) -> list[HtmlElement]:
    """Returns the parts of a form of ASP.NET: for each button, the smallest element around it that
    contains something to fill in. Empty for other forms, if there are fewer than two parts, if a
    part is the whole form, or if one contains another.
    """
    if not any(
        (control.get("name") or "").startswith("__VIEWSTATE") for control in form.iter("input")
    ):
        return []
    parts: dict[HtmlElement, None] = {}
    for button in form.iter("input", "button"):
        if (button.get("type") or "submit").lower() not in ("submit", "image"):
            continue
        around = next((p for p in button.iterancestors() if p is form or _fillable(p)), form)
        if around is form:
            return []
        parts[around] = None
    nested = any(above in parts for part in parts for above in part.iterancestors())
    return list(parts) if len(parts) > 1 and not nested else []


def _fillable(element: HtmlElement) -> bool:
    typed = (control for control in element.iter("input", "select", "textarea"))
    return any((c.get("type") or "text").lower() not in _NOT_FILLED for c in typed)


MAX_SCRIPT = 400_000


_CALL = r"(?:fetch|get|getJSON|ajax|open|request|axios)\(\s*(?:(['\"])(?:GET|get)\1\s*,\s*)?"


_JOINED = re.compile(
    _CALL
    + (
        r"(?P<quote>['\"`])(?P<url>[^'\"`\s]{1,300}?[?&](?P<name>"
        r"[\w.\[\]-]{1,40})=)(?:(?P=quote)\s*(?:\+|\.concat)|\$\{)"
    )
)


_OBJECT = re.compile(
    _CALL + r"(?P<quote>['\"`])(?P<url>[^'\"`\s$]{1,300})(?P=quote)\s*,\s*\{\s*"
    r"(?:(?:params|data)\s*:\s*\{)?\s*"
    r"['\"]?(?P<name>[\w.-]{1,40})['\"]?\s*:"
)


_HANDLED = re.compile(r"preventDefault|return\s+false|onsubmit", re.I)


_BRIEF = frozenset(
    (
        "q",
        "s",
        "k",
        "w",
        "kw",
        "term",
        "terms",
        "words",
        "text",
        "query",
        "search",
        "keyword",
        "keywords",
    )
)


class ScriptRequest(NamedTuple):
    """The request that a script sends: its address without parameters, the name of the parameter
    for the words, and fixed parameters."""

    action: str
    name: str
    fixed: tuple[tuple[str, str], ...] = ()


def is_scripted(form: HtmlElement) -> bool:
    """Tells whether a form has no address of its own and is submitted by a script."""
    action = (form.get("action") or "").strip().lower()
    if action and not action.startswith(("javascript:", "#")):
        return False
    if form.get("onsubmit") or action:
        return True
    return (form.get("method") or "").lower() != "post" and any(
        _HANDLED.search(text) for text in _scripts(form)
    )


def request_of(root: HtmlElement, base_url: str) -> ScriptRequest | None:
    """Returns the search request that a script of the page sends to the page's own site; None if no
    address is written there as a plain string."""
    for text in _scripts(root):
        for pattern in (_JOINED, _OBJECT):
            for match in pattern.finditer(text):
                name = match["name"]
                try:
                    parts = urlsplit(urljoin(base_url, match["url"]))
                except ValueError:
                    continue
                if parts.hostname != urlsplit(base_url).hostname or not _is_search(
                    name, parts.path
                ):
                    continue
                fixed = tuple(
                    (key, value)
                    for key, value in parse_qsl(parts.query)
                    if key != name and "$" not in value
                )
                return ScriptRequest(
                    urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")), name, fixed
                )
    return None


def _scripts(element: HtmlElement) -> Iterator[str]:
    root = element.getroottree().getroot()
    for script in root.iter("script"):
        text = script.text or ""
        if text and not script.get("src") and "json" not in (script.get("type") or ""):
            yield text[:MAX_SCRIPT]


def _is_search(name: str, path: str) -> bool:
    return name.lower() in _BRIEF or "search" in concepts_in(name) or "search" in concepts_in(path)


_MAX_LABEL = 120


_MAX_TEXT = 4_000


_MAX_FORMS = 200


_UNSEEN = {"script", "style", "noscript", "template", "option", "head"}


_DIGITS = re.compile(r"\d+")


_TOKEN = re.compile(r"[0-9a-f]{16,}|\d{6,}", re.I)


@dataclass(frozen=True, slots=True)
class FormField(Control):
    """One visible control or hidden value of a form with its texts and its role.

    `low` and `high` are the minimum and maximum that the control declares, "" if it declares none.
    """

    label: str = ""
    placeholder: str = ""
    css: str = ""
    role: FieldRole = FieldRole.OTHER
    required: bool = False
    low: str = ""
    high: str = ""

    @property
    def words(self) -> str:
        """All texts that describe the field, the label first."""
        return " ".join(
            part for part in (self.label, self.placeholder, self.name, self.css) if part
        )


@dataclass(frozen=True, slots=True)
class Form:
    """A form as shown on a page. `action` is the absolute address to which its first button submits
    it, `charset` the encoding that it asks for ("" for the page's); `text` is the text inside the
    form, without that of its controls. `scripted`: a script submits the form
    to an unknown address. `index` is its number on the page. Its surroundings are the page's
    `title`, the heading `above` the form, and the ids and classes of the three elements `around`
    it."""

    page_url: str
    action: str
    method: str
    fields: tuple[FormField, ...]
    enctype: str = "application/x-www-form-urlencoded"
    index: int = 0
    css: str = ""
    text: str = ""
    headings: str = ""
    links: str = ""
    title: str = ""
    scripted: bool = False
    above: str = ""
    around: str = ""
    charset: str = ""

    def of_kind(self, *kinds: str) -> list[FormField]:
        """Returns the fields of the given kinds, in the order of the page."""
        return [field for field in self.fields if field.kind in kinds]

    @property
    def text_fields(self) -> list[FormField]:
        """One-line inputs for free text (no password or e-mail inputs)."""
        return self.of_kind("text", "search")

    @property
    def signature(self) -> str:
        """A digest that identifies a form across pages. It is computed from the method, the action
        without numbers and query values, and the names and kinds of the fields.

        Random hidden names and values filled in by the server are left out, as are all hidden
        fields of GET forms, which repeat the page's address. So a search box in the header of a
        thousand pages is one form.
        """
        address = urlsplit(self.action)
        own = urlsplit(self.page_url)
        path = _DIGITS.sub("#", address.path)
        if self.method == "post" and address[:3] == own[:3] and not self.text_fields:
            path = "."
        query = sorted(
            name
            for name, _ in parse_qsl(address.query, keep_blank_values=True)
            if not _TOKEN.search(name)
        )
        fields = sorted(
            {
                (field.kind, _DIGITS.sub("#", field.name))
                for field in self.fields
                if field.name
                and not _TOKEN.search(field.name)
                and (self.method == "post" or field.kind != "hidden")
            }
        )
        whole = repr((self.method, address.netloc.lower(), path, query, fields))
        return hashlib.blake2b(whole.encode(), digest_size=8).hexdigest()


def parse_page(html: str | bytes) -> HtmlElement | None:
    """Returns the tree of a page or fragment; None if it is empty. Never raises for invalid
    HTML."""
    if isinstance(html, bytes):
        html = decode(html[:MAX_CHARS])[0]
    return parse(bounded_markup(html, READ_TAGS)[0], comments=True)


def read_forms(html: str | bytes, page_url: str, cut: bool = True) -> list[Form]:
    """Returns all forms of a page in order, at most 200; forms without controls are left out.

    `cut`: a page that is one big form is split into parts, each a form of its own.
    """
    root = parse_page(html)
    return [] if root is None else forms_of_tree(root, page_url, cut)


def forms_of_tree(root: HtmlElement, page_url: str, cut: bool = True) -> list[Form]:
    """Returns the forms of an already parsed page in order, as `read_forms` does. `cut`: a page
    that is one big form is split into parts, each a form of its own."""
    base = root.find(".//base[@href]")
    base_url = (join(page_url, base.get("href", "")) if base is not None else "") or page_url
    title = squeezed(root.findtext(".//title") or "")
    labels = {e.get("for"): visible_text(e) for e in root.iter("label") if e.get("for")}
    controls = owned(root)
    found = []
    above = headings_above(root)
    for index, element in enumerate(root.iter("form")):
        if index >= _MAX_FORMS:
            break
        form = _read_form(element, page_url, base_url, labels, controls[element])
        parts = parts_of(element) if cut and len(form.of_kind("submit", "image")) > 1 else []
        owned_here = set(controls[element]) if parts else set()
        for part in parts:
            inside = [one for one in part.iter(*CONTROLS) if one in owned_here]
            own = _part_of(form, _read_form(part, page_url, base_url, labels, inside))
            found.append(
                replace(own, index=index, title=title, above=above[index], around=around_of(part))
            )
        if is_scripted(element):
            form = _of_script(form, request_of(root, base_url))
        if form.fields and not parts:
            found.append(
                replace(
                    form, index=index, title=title, above=above[index], around=around_of(element)
                )
            )
    return found


def _of_script(form: Form, request: ScriptRequest | None) -> Form:
    """Completes a form that a script sends, using the `request` found in the script: address, fixed
    parameters, and the parameter name for the text box. Without a request, or unless there is
    exactly one text box, the form is only marked as `scripted`."""
    texts = form.text_fields
    if request is None or len(texts) != 1:
        return replace(form, scripted=True)
    box = replace(texts[0], name=request.name)
    fixed = tuple(
        FormField(name, "hidden", value=value, role=FieldRole.FIXED)
        for name, value in request.fixed
    )
    return replace(form, action=request.action, method="get", fields=(*fixed, box))


def _part_of(whole: Form, part: Form) -> Form:
    """Returns one part of a big form as a form of its own, with the hidden fields of the whole
    form."""
    hidden = tuple(field for field in whole.fields if field.kind == "hidden")
    shown = tuple(field for field in part.fields if field.kind != "hidden")
    kept = replace(
        part,
        action=whole.action,
        method=whole.method,
        enctype=whole.enctype,
        fields=(*hidden, *shown),
    )
    return replace(kept, css=f"{whole.css} {part.css}".strip())


def _read_form(
    element: HtmlElement,
    page_url: str,
    base_url: str,
    labels: dict[str, str],
    controls: list[HtmlElement],
) -> Form:
    """Reads a form, or a part of one, with the controls that belong to it (see `forms.owned`)."""
    reader = _Reader(labels, base_url, controls)
    reader.walk(element)
    action, method = target(element, page_url, base_url)
    fields = [
        replace(field, role=role_of(field.kind, field.name, field.words, len(field.options)))
        for field in reader.finished()
    ]
    first = default_button(fields)
    if first is not None and (first.action or first.method):
        # What the form says is kept at those of its buttons that say nothing else.
        fields = [
            replace(field, action=field.action or action, method=field.method or method)
            if field.kind in BUTTONS and field is not first
            else field
            for field in fields
        ]
        action, method = first.action or action, first.method or method
    return Form(
        page_url=page_url,
        action=action or base_url,
        method=method,
        fields=tuple(fields),
        enctype=element.get("enctype", "application/x-www-form-urlencoded").strip().lower(),
        css=_identity(element),
        text=squeezed(" ".join(reader.text))[:_MAX_TEXT],
        headings=squeezed(" ".join(reader.headings)),
        links=squeezed(" ".join(reader.links))[:_MAX_TEXT],
        charset=accepted_charset(element),
    )


class _Reader:
    """Reads the fields of a form in one pass in document order. The text since the last control is
    kept as a possible label."""

    def __init__(self, labels: dict[str, str], base_url: str, controls: list[HtmlElement]) -> None:
        self._labels = labels
        self._base_url = base_url
        self._places = {control: place for place, control in enumerate(controls)}
        self._walked: set[HtmlElement] = set()
        self._recent: list[str] = []
        self._fields: list[FormField] = []
        self._order: list[int] = []  # for each field the place of its control in the document
        self._waiting: int | None = None
        self.text: list[str] = []
        self.headings: list[str] = []
        self.links: list[str] = []

    def walk(self, element: HtmlElement) -> None:
        stack: list[tuple[HtmlElement, bool]] = [(element, False)]
        while stack:  # not recursive: pages can nest tags ten thousand levels deep
            node, leaving = stack.pop()
            if leaving:
                if node is not element:
                    self._say(node.tail, node)
                continue
            stack.append((node, True))
            if not isinstance(node.tag, str) or node.tag in _UNSEEN:
                continue
            if node.tag in CONTROLS:
                self._walked.add(node)
                self._control(node)
                if node.tag != "button":
                    continue
            if node.tag == "a":
                self.links.append(visible_text(node) + " " + (node.get("href") or "")[:200])
            elif node.tag in ("h1", "h2", "h3", "h4", "h5", "legend", "caption"):
                self.headings.append(visible_text(node))
            elif node.tag == "img":
                self._say(node.get("alt"), node)
            if node.tag not in ("button", "select", "textarea"):
                self._say(node.text, node)
            stack.extend((child, False) for child in reversed(node))

    def _say(self, text: str | None, node: HtmlElement) -> None:
        words = squeezed(text or "")
        if not words or any(c in words for c in "{};") and len(words) > _MAX_LABEL:
            return
        self.text.append(words)
        if self._waiting is not None:  # The label of a checkbox or radio button comes after it.
            field = self._fields[self._waiting]
            last = field.options[-1]
            self._fields[self._waiting] = replace(
                field, options=(*field.options[:-1], replace(last, label=words[:_MAX_LABEL]))
            )
            self._waiting = None
        else:
            self._recent.append(words)

    def _control(self, element: HtmlElement) -> None:
        if element not in self._places:
            return
        read = control_of(element, self._base_url)
        if read.disabled and read.kind not in BUTTONS:
            return
        field = FormField(
            **{each.name: getattr(read, each.name) for each in dataclass_fields(read)},
            label=self._label(element)[:_MAX_LABEL],
            placeholder=squeezed(
                element.get("placeholder") or element.get("title") or element.get("alt") or ""
            )[:_MAX_LABEL],
            css=_identity(element, with_name=False),
            required=element.get("required") is not None or element.get("aria-required") == "true",
            low=(element.get("min") or "").strip()[:40],
            high=(element.get("max") or "").strip()[:40],
        )
        if read.kind in ("radio", "checkbox"):
            self._choice(field, element)
            return
        self._waiting = None
        if read.kind != "hidden":
            self._recent.clear()
        self._add(field, element)

    def _add(self, field: FormField, element: HtmlElement) -> None:
        self._fields.append(field)
        self._order.append(self._places[element])

    def _label(self, element: HtmlElement) -> str:
        own = self._labels.get(element.get("id") or "\0", "")
        if not own:
            wrapping = next((p for p in element.iterancestors("label")), None)
            own = visible_text(wrapping) if wrapping is not None else ""
        own = own or squeezed(element.get("aria-label") or "")
        if own or element.tag == "button":
            return own or visible_text(element)
        return squeezed(" ".join(self._recent[-3:]))[-_MAX_LABEL:]

    def _choice(self, field: FormField, element: HtmlElement) -> None:
        own = self._labels.get(element.get("id") or "\0", "")
        option = replace(field.options[0], label=own[:_MAX_LABEL])
        for place, earlier in enumerate(self._fields):
            if field.name and earlier.name == field.name and earlier.kind == field.kind:
                if len(earlier.options) < MAX_OPTIONS:
                    self._fields[place] = replace(
                        earlier,
                        options=(*earlier.options, option),
                        multiple=field.kind == "checkbox",
                    )
                    self._waiting = None if own else place
                return
        label = squeezed(" ".join(self._recent[-2:]))[-_MAX_LABEL:]
        self._add(replace(field, value="", label=label, options=(option,)), element)
        self._recent.clear()
        self._waiting = None if own else len(self._fields) - 1

    def finished(self) -> list[FormField]:
        """Returns the fields of the form in the order of the document, after those outside of it
        were read; a group of only one checkbox gets that checkbox's label."""
        for element in self._places:
            if element not in self._walked:
                self._control(element)
        fields = [
            (
                replace(field, label=field.options[0].label or field.label)
                if field.kind == "checkbox" and len(field.options) == 1
                else field
            )
            for field in self._fields
        ]
        ordered = sorted(zip(self._order, fields, strict=True), key=lambda pair: pair[0])
        return [field for _, field in ordered]


def _identity(element: HtmlElement, with_name: bool = True) -> str:
    parts = [
        element.get("id"),
        element.get("class"),
        element.get("role"),
        element.get("name") if with_name else None,
    ]
    return squeezed(" ".join(part for part in parts if part))[:200]
