"""Reads the forms of a page as plain values: fields with labels, values and roles, and a signature
that is equal for the same form on different pages."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, urljoin, urlsplit

import lxml.etree
import lxml.html
from lxml.html import HtmlElement

from crawlmgr.web.bounds import MAX_CHARS, READ_TAGS, bounded_markup
from deepweb.big_forms import parts_of
from deepweb.element_text import squeezed, visible_text
from deepweb.field_roles import FieldRole, role_of
from deepweb.form_place import around_of, headings_above
from deepweb.script_forms import ScriptRequest, is_scripted, request_of

MAX_OPTIONS = 500
_MAX_LABEL = 120
_MAX_TEXT = 4_000
_MAX_FORMS = 200
_CONTROLS = {"input", "select", "textarea", "button"}
_UNSEEN = {"script", "style", "noscript", "template", "option", "head"}
_DIGITS = re.compile(r"\d+")
_TOKEN = re.compile(r"[0-9a-f]{16,}|\d{6,}", re.I)


@dataclass(frozen=True, slots=True)
class Option:
    """One choice of a select, a radio group or a group of checkboxes."""

    value: str
    label: str
    selected: bool = False


@dataclass(frozen=True, slots=True)
class FormField:
    """One visible control or hidden value of a form; radio buttons or checkboxes with the same name
    are one field. `kind` is the type of an input, or the tag of another control.

    `low` and `high` are the minimum and maximum that the control declares, "" if it declares none.
    """

    name: str
    kind: str
    label: str = ""
    value: str = ""
    placeholder: str = ""
    css: str = ""
    role: FieldRole = FieldRole.OTHER
    required: bool = False
    multiple: bool = False
    options: tuple[Option, ...] = ()
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
    """A form as shown on a page. `action` is the absolute address to which it is submitted; `text`
    is the text inside the form, without that of its controls. `scripted`: a script submits the form
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
    if not html or not html.strip():
        return None
    if isinstance(html, bytes) and len(html) > MAX_CHARS:
        html = html[:MAX_CHARS]
    if isinstance(html, str):
        html = bounded_markup(html, READ_TAGS)[0]
        # lxml refuses text that declares its encoding in an XML prolog, but accepts bytes with a
        # stated encoding.
        html = html.encode(
            "utf-8", "surrogatepass" if "\ud800" <= max(html) <= "\udfff" else "strict"
        )
        parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)
    else:
        parser = lxml.html.HTMLParser(huge_tree=True)
    try:
        root = lxml.html.document_fromstring(html, parser=parser)
    except (lxml.etree.ParserError, lxml.etree.XMLSyntaxError, ValueError):
        return None
    return root


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
    base_url = _join(page_url, base.get("href", "")) if base is not None else page_url
    title = squeezed(root.findtext(".//title") or "")
    labels = {e.get("for"): visible_text(e) for e in root.iter("label") if e.get("for")}
    outside: dict[str, list[HtmlElement]] = {}
    for element in root.iter(*_CONTROLS):
        if element.get("form"):
            outside.setdefault(element.get("form", ""), []).append(element)
    found = []
    above = headings_above(root)
    for index, element in enumerate(root.iter("form")):
        if index >= _MAX_FORMS:
            break
        form = _read_form(element, page_url, base_url, labels, outside)
        parts = parts_of(element) if cut and len(form.of_kind("submit", "image")) > 1 else []
        for part in parts:
            own = _part_of(form, _read_form(part, page_url, base_url, labels, {}))
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
    outside: dict[str, list[HtmlElement]],
) -> Form:
    reader = _Reader(labels)
    reader.walk(element)
    for control in outside.get(element.get("id", "\0"), ()):
        if not any(parent is element for parent in control.iterancestors("form")):
            reader.control(control)
    action = (
        _join(base_url, element.get("action", ""))
        if element.get("action", "").strip()
        else page_url
    )
    method = element.get("method", "get").strip().lower()
    fields = tuple(
        replace(field, role=role_of(field.kind, field.name, field.words, len(field.options)))
        for field in reader.finished()
    )
    return Form(
        page_url=page_url,
        action=action.split("#")[0],
        method="post" if method == "post" else "get",
        fields=fields,
        enctype=element.get("enctype", "application/x-www-form-urlencoded").strip().lower(),
        css=_identity(element),
        text=squeezed(" ".join(reader.text))[:_MAX_TEXT],
        headings=squeezed(" ".join(reader.headings)),
        links=squeezed(" ".join(reader.links))[:_MAX_TEXT],
    )


class _Reader:
    """Reads the fields of a form in one pass in document order. The text since the last control is
    kept as a possible label."""

    def __init__(self, labels: dict[str, str]) -> None:
        self._labels = labels
        self._recent: list[str] = []
        self._fields: list[FormField] = []
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
            if node.tag in _CONTROLS:
                self.control(node)
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

    def control(self, element: HtmlElement) -> None:
        tag = element.tag
        kind = (element.get("type") or "text").strip().lower() if tag == "input" else tag
        if tag == "button":
            kind = {"button": "button", "reset": "reset"}.get(
                (element.get("type") or "submit").strip().lower(), "submit"
            )
        elif tag == "input" and kind not in _KINDS:
            kind = "text"
        if element.get("disabled") is not None and kind not in ("submit", "image"):
            return
        name = (element.get("name") or "").strip()
        label = self._label(element)
        field = FormField(
            name=name,
            kind=kind,
            label=label[:_MAX_LABEL],
            value=(_value_of(element) or "")[:2_000],
            placeholder=squeezed(
                element.get("placeholder") or element.get("title") or element.get("alt") or ""
            )[:_MAX_LABEL],
            css=_identity(element, with_name=False),
            required=element.get("required") is not None or element.get("aria-required") == "true",
            multiple=element.get("multiple") is not None,
            options=tuple(_options(element)) if tag == "select" else (),
            low=(element.get("min") or "").strip()[:40],
            high=(element.get("max") or "").strip()[:40],
        )
        if kind in ("radio", "checkbox"):
            self._choice(field, element)
            return
        self._waiting = None
        if kind != "hidden":
            self._recent.clear()
        self._fields.append(field)

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
        option = Option(field.value or "on", own[:_MAX_LABEL], element.get("checked") is not None)
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
        self._fields.append(
            replace(
                field,
                value="",
                label=squeezed(" ".join(self._recent[-2:]))[-_MAX_LABEL:],
                options=(option,),
            )
        )
        self._recent.clear()
        self._waiting = None if own else len(self._fields) - 1

    def finished(self) -> list[FormField]:
        """Returns the fields of the form; a group of only one checkbox gets that checkbox's
        label."""
        return [
            (
                replace(field, label=field.options[0].label or field.label)
                if field.kind == "checkbox" and len(field.options) == 1
                else field
            )
            for field in self._fields
        ]


_KINDS = {
    "text",
    "search",
    "password",
    "email",
    "url",
    "tel",
    "number",
    "date",
    "datetime-local",
    "month",
    "week",
    "time",
    "range",
    "checkbox",
    "radio",
    "file",
    "hidden",
    "submit",
    "image",
    "button",
    "reset",
    "color",
}


def _value_of(element: HtmlElement) -> str | None:
    if element.tag == "textarea":
        text: str | None = element.text
        return text
    if element.tag == "select":
        return next((option.value for option in _options(element) if option.selected), None)
    value: str | None = element.get("value")
    return value


def _options(element: HtmlElement) -> Iterator[Option]:
    for count, option in enumerate(element.iter("option")):
        if count >= MAX_OPTIONS:
            return
        label = visible_text(option)
        value = option.get("value")
        yield Option(
            label if value is None else value,
            label[:_MAX_LABEL],
            option.get("selected") is not None,
        )


def _identity(element: HtmlElement, with_name: bool = True) -> str:
    parts = [
        element.get("id"),
        element.get("class"),
        element.get("role"),
        element.get("name") if with_name else None,
    ]
    return squeezed(" ".join(part for part in parts if part))[:200]


def _join(base: str, href: str) -> str:
    try:
        return urljoin(base, href.strip())
    except ValueError:  # `urljoin` fails for brackets that are no valid address.
        return base
