"""Forms as the HTML standard submits them: which controls a form owns, which of them are disabled,
the button that is pressed, the entry list, its encoding, and the request. No Django."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode, urljoin, urlsplit, urlunsplit

from lxml.html import HtmlElement

from crawlmgr.web.encoding import charset_name, output_codec

CONTROLS = ("input", "select", "textarea", "button")
BUTTONS = frozenset(("submit", "image"))
MAX_OPTIONS = 500
MAX_VALUE = 2_000
_KINDS = frozenset(
    """
        text search password email url tel number date datetime-local month week time range checkbox
        radio file hidden submit image button reset color
    """.split()
)
_DIRECTED = frozenset("text search hidden tel url email password submit textarea".split())
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Option:
    """One choice of a select, a radio group or a group of checkboxes. Of the disabled options only
    those are kept that the page has selected: they are never sent, but stand for their select."""

    value: str
    label: str
    selected: bool = False
    disabled: bool = False


@dataclass(frozen=True, slots=True)
class Control:
    """One control of a form, or a group of radio buttons or checkboxes with the same name. `kind`
    is the type of an input, or the tag of another control. `size` is the number of options that a
    select shows. `directed` is the name under which the direction of the text is sent, `action`
    and `method` are where a button sends the form, "" for where the form says."""

    name: str
    kind: str
    value: str = ""
    options: tuple[Option, ...] = ()
    multiple: bool = False
    size: int = 1
    disabled: bool = False
    directed: str = ""
    action: str = ""
    method: str = ""


@dataclass(frozen=True, slots=True)
class Submission:
    """One request: method, address, body (empty for GET) and content type of the body."""

    method: str
    url: str
    body: str
    content_type: str


def owned(root: HtmlElement) -> dict[HtmlElement, list[HtmlElement]]:
    """Returns the controls of each form of a page in document order. A control belongs to the form
    that its attribute `form` names, without that attribute to the form around it."""
    found: dict[HtmlElement, list[HtmlElement]] = {form: [] for form in root.iter("form")}
    named: dict[str, HtmlElement] = {}
    for element in root.iter():
        name = element.get("id") if isinstance(element.tag, str) else None
        if name:
            named.setdefault(name, element)
    for control in root.iter(*CONTROLS):
        told = control.get("form")
        form = next(control.iterancestors("form"), None) if told is None else named.get(told)
        if form in found:
            found[form].append(control)
    return found


def kind_of(element: HtmlElement) -> str:
    """Returns the kind of a control (see `Control`); "text" for an unknown type of an input."""
    told = (element.get("type") or "").strip().lower()
    if element.tag == "button":
        return told if told in ("button", "reset") else "submit"
    if element.tag == "input":
        return told if told in _KINDS else "text"
    return str(element.tag)


def is_disabled(element: HtmlElement) -> bool:
    """Tells whether a control is disabled: by its own attribute, inside a disabled fieldset (but
    not in the first legend of it), or as a suggestion in a datalist."""
    if element.get("disabled") is not None:
        return True
    below = element
    for above in element.iterancestors():
        if above.tag == "datalist":
            return True
        disables = above.tag == "fieldset" and above.get("disabled") is not None
        if disables and next(above.iterchildren("legend"), None) is not below:
            return True
        below = above
    return False


def control_of(element: HtmlElement, base_url: str) -> Control:
    """Reads a control of a page whose links are resolved against `base_url`."""
    kind = kind_of(element)
    value = element.text if kind == "textarea" else element.get("value")
    options: tuple[Option, ...] = ()
    multiple = element.get("multiple") is not None
    if kind == "select":
        options = tuple(_options(element, multiple))
        value = next((option.value for option in options if option.selected), "")
    elif kind in ("checkbox", "radio"):
        options = (Option(value or "on", "", element.get("checked") is not None),)
    button = kind in BUTTONS
    action = (element.get("formaction") or "").strip() if button else ""
    size = (element.get("size") or "").strip()
    return Control(
        name=(element.get("name") or "").strip(),
        kind=kind,
        value=(value or "")[:MAX_VALUE],
        options=options,
        multiple=multiple,
        size=int(size) if size.isdecimal() and len(size) < 6 else 1,
        disabled=is_disabled(element),
        directed=(element.get("dirname") or "").strip() if kind in _DIRECTED else "",
        action=join(base_url, action).split("#")[0] if action else "",
        method=_method(element.get("formmethod")) if button and element.get("formmethod") else "",
    )


def _options(select: HtmlElement, multiple: bool) -> Iterator[Option]:
    """Yields the options of a select; where several are selected although one can be, the last
    counts."""
    found: list[Option] = []
    for count, element in enumerate(select.iter("option")):
        if count >= MAX_OPTIONS:
            break
        label = " ".join("".join(element.itertext()).split())
        value, selected = element.get("value"), element.get("selected") is not None
        group = element.getparent()
        disabled = any(
            one is not None and one.get("disabled") is not None
            for one in (element, group if group is not None and group.tag == "optgroup" else None)
        )
        found.append(Option(label if value is None else value, label[:120], selected, disabled))
    last = max((at for at, option in enumerate(found) if option.selected), default=-1)
    for at, option in enumerate(found):
        selected = option.selected and (multiple or at == last)
        if selected or not option.disabled:
            yield Option(option.value, option.label, selected, option.disabled)


def target(form: HtmlElement, page_url: str, base_url: str) -> tuple[str, str]:
    """Returns the address, without a fragment, and the method ("get", "post") of a form; without an
    address it is sent to that of its page, with a malformed one ("") it is not sent."""
    action = (form.get("action") or "").strip()
    return (join(base_url, action) if action else page_url).split("#")[0], _method(
        form.get("method")
    )


def _method(told: str | None) -> str:
    return "post" if (told or "").strip().lower() == "post" else "get"


def join(base: str, href: str) -> str:
    """Returns the absolute address of a form's attribute; "" if it is malformed."""
    try:
        return urljoin(base, href.strip())
    except ValueError:  # `urljoin` fails for brackets that are no valid address.
        return ""


def default_button(controls: Sequence[Control]) -> Control | None:
    """Returns the button that is pressed if nobody chooses one: the first that is not disabled,
    whether it has a name or not."""
    return next((one for one in controls if one.kind in BUTTONS and not one.disabled), None)


def accepted_charset(form: HtmlElement) -> str:
    """Returns the name of the encoding that a form asks for (`accept-charset`), UTF-8 if it knows
    none of those named there; "" if it asks for none."""
    told = form.get("accept-charset")
    if told is None:
        return ""
    return next(
        (name for label in re.split(r"[\s,]+", told) if (name := charset_name(label))), "utf-8"
    )


def entries(
    controls: Sequence[Control], bound: Mapping[str, str], pressed: Control | None, charset: str
) -> list[tuple[str, str]]:
    """Returns the entry list of a form, in order: the names and values that are sent if its
    controls hold the values that the page gives them, except for those in `bound` (by name), and
    the button `pressed` is pressed. `charset` is the encoding in which they are sent."""
    made: list[tuple[str, str]] = []
    for control in controls:
        button = control.kind in BUTTONS
        if control.disabled or control.kind in ("button", "reset"):
            continue
        if button and control is not pressed:
            continue
        if control.kind == "image":
            prefix = f"{control.name}." if control.name else ""
            made += [(f"{prefix}x", "1"), (f"{prefix}y", "1")]
            continue
        if not control.name:
            continue
        if control.name in bound and not button:
            made.append((control.name, bound[control.name]))
        else:
            made += [(control.name, value) for value in _values(control, charset)]
        if control.directed:
            made.append((control.directed, "ltr"))
    return made


def _values(control: Control, charset: str) -> list[str]:
    """Returns what a control sends that nobody has changed."""
    if control.kind in ("radio", "checkbox", "select"):
        chosen = [one for one in control.options if one.selected]
        if control.kind == "select" and not chosen and not control.multiple and control.size < 2:
            chosen = [one for one in control.options if not one.disabled][:1]
        return [one.value for one in chosen if not one.disabled]
    if control.kind == "hidden" and control.name.lower() == "_charset_":
        return [_shown_name(charset)]
    return [control.value]


def _shown_name(charset: str) -> str:
    """Returns the name of an encoding as the encoding standard writes it."""
    if output_codec(charset) == "utf-8":
        return "UTF-8"
    known = {"gb18030": "GBK", "big5": "Big5", "shift_jis": "Shift_JIS", "mac-roman": "macintosh"}
    return known.get(charset) or (charset if charset.startswith("windows") else charset.upper())


def submission(
    method: str, action: str, pairs: Sequence[tuple[str, str]], charset: str
) -> Submission:
    """Returns the request that sends an entry list to an address, in an encoding; characters that
    the encoding lacks are sent as references (&#21271;). GET replaces the query of the address."""
    lines = [(name, _LINE_END.sub("\r\n", value)) for name, value in pairs]
    encoded = urlencode(lines, encoding=output_codec(charset), errors="xmlcharrefreplace", safe="*")
    encoded = encoded.replace("~", "%7E")
    if method == "post":
        return Submission("POST", action, encoded, "application/x-www-form-urlencoded")
    parts = urlsplit(action)
    return Submission(
        "GET", urlunsplit((parts.scheme, parts.netloc, parts.path, encoded, "")), "", ""
    )
