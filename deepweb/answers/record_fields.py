"""Reads a record's named fields. The names come from table headers, labels, item properties and
class names, and are the same for corresponding fields of all records."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from lxml.html import HtmlElement

from crawlmgr.web.pages.outline import Outline
from crawlmgr.web.pages.records import Record

MAX_VALUE = 20_000
MAX_COLUMNS = 100  # all further columns of a table row count as one
_INLINE = frozenset(
    (
        "a",
        "b",
        "strong",
        "em",
        "i",
        "u",
        "mark",
        "font",
        "span",
        "small",
        "sub",
        "sup",
        "code",
        "abbr",
        "cite",
        "q",
        "wbr",
        "br",
    )
)
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_TITLES = _HEADINGS | {"dt"}
_LABELS = frozenset(("b", "strong", "span", "label", "dt", "th", "em", "i", "small", "div"))
_BESIDE = frozenset(("nav", "footer", "aside", "form", "select", "button", "noscript"))
_ITEMS = frozenset(("article", "li", "td", "dd"))
_MAX_LABEL = 40
NEAR = (
    12  # maximum number of elements around a field's value that are searched for the field's name
)
_LABEL = re.compile(r"^([^\W\d][^:：]{0,38}?)\s*[:：]\s*(.*)$", re.S)
_SPACES = re.compile(r"[ \t\r\f\v]+")
_PLAIN = re.compile(
    r"^(?:col|column|field|cell|td|item|list|row|entry|result|record|val|value|data)$", re.I
)
_NAME_PREFIX = re.compile(r"^(?:col|column|field|views-field)[-_]+", re.I)

_TITLE_WORDS = frozenset(
    (
        *("title", "titel", "titre", "título", "titolo", "tytuł", "название", "заголовок"),
        *("标题", "標題", "題名", "題目", "题名", "题目", "タイトル", "제목"),
    )
)

Cell = tuple[str, str]
"""The path of a field inside the record, and the field's value."""


def column_names(page: Outline, record: Record) -> list[str]:
    """Returns the names of a table's columns from its header row, if `record` is a row of a table;
    [] if there is no header. The column of titles is called "title" in every language."""
    row = page.elements[record[0]]
    table = next(row.iterancestors("table"), None) if row.tag == "tr" else None
    if table is None:
        return []
    for other in table.iter("tr"):
        cells = [cell for cell in other if isinstance(cell.tag, str)]
        if cells and all(cell.tag == "th" for cell in cells) and other is not row:
            names: list[str] = []
            for cell in cells:
                names += [_name(text_of(cell))] * max(1, _whole(cell.get("colspan")))
            return ["title" if name.casefold() in _TITLE_WORDS else name for name in names]
    return []


def _whole(text: str | None) -> int:
    return min(50, int(text)) if text and text.isdecimal() else 1


def _name(text: str) -> str:
    return " ".join(text.replace("▼", " ").replace("▲", " ").split()).strip(" :：")[:_MAX_LABEL]


def text_of(element: HtmlElement) -> str:
    """Returns the visible text of an element, each block on a line of its own, with runs of white
    space as one space. If the element has only one text node, its own line breaks, and the spaces
    inside its lines, are kept.
    """
    parts: list[str] = []
    for node in element.iter():
        if not isinstance(node.tag, str) or node.tag in ("script", "style"):
            if node is not element and node.tail:
                parts.append(node.tail)
            continue
        if node.tag not in _INLINE or node.tag == "br":
            parts.append("\n")
        if node.text:
            parts.append(node.text)
        if node is not element and node.tail:
            parts.append("\n" + node.tail if node.tag not in _INLINE else node.tail)
    filled = [part for part in parts if part.strip()]
    if len(filled) == 1:
        return "\n".join(line.strip() for line in filled[0].strip().splitlines() if line.strip())[
            :MAX_VALUE
        ]
    lines = (_SPACES.sub(" ", line).strip() for line in "".join(parts).splitlines())
    return "\n".join(line for line in lines if line)[:MAX_VALUE]


def fields_of_rows(page: Outline, records: Sequence[Record]) -> list[dict[str, str]]:
    """Returns the fields of each record of one list; corresponding fields have the same name in all
    records.

    In a table, the header names the cells. Elsewhere the smallest elements with text are compared
    over the records by their path inside the record, and named by item property, by a label before
    the value ("Author: …"), by heading, time or class, or else by their tag.
    """
    if not records:
        return []
    names = column_names(page, records[0])
    if names:
        return [_table_row(page.elements[record[0]], names) for record in records]
    return _titled(
        _named(
            [_leaves([page.elements[node] for node in record]) for record in records], columns=True
        )
    )


def with_link_title(fields: Mapping[str, str], linked: str) -> Mapping[str, str]:
    """Returns the fields of a record with the words of its link, `linked`, as title, if it has none
    and these words begin a longer value: a cell that holds title and text together."""
    if "title" in fields or not is_wording(linked):
        return fields
    if any(value.startswith(linked) and value != linked for value in fields.values()):
        return {"title": linked, **fields}
    return fields


def is_wording(text: str) -> bool:
    """Tells whether a text is a title of words, and not only an identifier."""
    return len(text.split()) > 1 or sum(letter > "\u2e7f" for letter in text) > 3


def _table_row(row: HtmlElement, names: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    place = 0
    for cell in row:
        if cell.tag not in ("td", "th"):
            continue
        name = names[place] if place < len(names) and names[place] else f"column {place + 1}"
        value = text_of(cell)
        if value:
            found[name if name not in found else f"{name} {place + 1}"] = value
        place += max(1, _whole(cell.get("colspan")))
    return found


def _leaves(tops: Sequence[HtmlElement]) -> list[tuple[str, str, HtmlElement]]:
    """Returns the smallest elements inside `tops` that have a value of their own ("leaves"), as
    (path, text, element); the path consists of the tags and names from the top element to the leaf,
    and of the places of cells in their table row.
    """
    found: list[tuple[str, str, HtmlElement]] = []
    stack: list[tuple[HtmlElement, str]] = [
        (top, f"{place}" if len(tops) > 1 else "") for place, top in enumerate(tops)
    ]
    stack.reverse()
    while stack:
        element, path = stack.pop()
        if (
            not isinstance(element.tag, str)
            or element.tag in ("script", "style")
            or _is_of_the_page(element)
        ):
            continue
        here = f"{path}/{element.tag}.{_class(element)}{_place_in_row(element)}"
        if _is_leaf(element):
            text = text_of(element)
            if text:
                found.append((here, text, element))
            continue
        if element.text and element.text.strip():
            found.append((here + "/#text", element.text.strip()[:MAX_VALUE], element))
        stack.extend((child, here) for child in reversed(element))
        for child in element:
            if child.tail and len(child.tail.strip()) > 1:
                found.append((here + "/#text", " ".join(child.tail.split())[:MAX_VALUE], element))
    return found


def _place_in_row(cell: HtmlElement) -> str:
    """Returns the place of a table cell in its row, "" for other elements: without a header, only
    the place tells the cells of a row apart. All further ones have the place `MAX_COLUMNS`."""
    if cell.tag != "td":
        return ""
    before = islice(cell.itersiblings("td", preceding=True), MAX_COLUMNS)
    return f"#{sum(1 for _ in before)}"


def _is_of_the_page(element: HtmlElement) -> bool:
    """Tells whether an element belongs to the page (navigation and the like), so that it is no
    field of a record. A footer inside a record is a field."""
    if element.tag == "footer":
        return not any(parent.tag in _ITEMS for parent in element.iterancestors())
    return element.tag in _BESIDE


def _is_leaf(element: HtmlElement) -> bool:
    """Tells whether an element is one value: it contains only text, or only text and inline
    elements of which none has a name (class or item property), or text of its own and at most three
    inline elements."""
    inside = []
    for node in element.iterdescendants():
        if isinstance(node.tag, str):
            if node.tag not in _INLINE:
                return False
            inside.append(node)
    if not inside:
        return True
    own = sum(
        len(part.strip()) for part in (element.text or "", *(child.tail or "" for child in element))
    )
    return (
        all(not _class(node) and not node.get("itemprop") for node in inside)
        or own > 0
        and len(inside) <= 3
    )


def _class(element: HtmlElement) -> str:
    named = (
        element.get("itemprop")
        or element.get("data-label")
        or element.get("data-title")
        or element.get("data-field")
    )
    if named:
        return _name(named)
    for token in (element.get("class") or "").split():
        bare = _NAME_PREFIX.sub("", token).strip("-_")
        if (
            len(bare) > 1
            and not any(letter.isdigit() for letter in bare)
            and not _PLAIN.match(bare)
        ):
            return bare[:_MAX_LABEL]
    return ""


def _named(
    rows: Sequence[Sequence[tuple[str, str, HtmlElement]]], columns: bool = False
) -> list[dict[str, str]]:
    """Returns the fields of each record by name; `rows` are the leaves of each record (see
    `_leaves`). The values of leaves with the same name are joined; with `columns`, leaves with the
    same name but different paths become fields with numbered names."""
    labels = _shared_labels(rows)
    named: list[list[tuple[str, str, str]]] = []  # (name, path, value) of each leaf
    for row in rows:
        found: list[tuple[str, str, str]] = []
        waiting, scope = "", None
        for path, text, element in row:
            if scope is not None and not any(parent is scope for parent in element.iterancestors()):
                # The table row or list that contains the last label has ended, and the label got no
                # value.
                waiting = ""
            label = _LABEL.match(text)
            if (
                label
                and not label.group(2)
                and element.tag in _LABELS
                or element.tag in ("dt", "th")
                and not _has_link(element)
            ):
                waiting, scope = _name(text), _scope(element)
                continue
            if (
                label
                and label.group(2)
                and ((path, label.group(1)) in labels or _is_marked(element, label.group(1)))
            ):
                name, text = _name(label.group(1)), label.group(2).strip()
            else:
                name = waiting or _own_name(element, path, in_list=columns)
            waiting, scope = "", None
            found.append((name, path, text))
        named.append(found)
    named = _links_apart(named) if columns else named
    numbers = _numbers_of_columns(named) if columns else {}
    return [_joined(row, numbers) for row in named]


def _titled(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Renames the field "link" of each record to "title", if at least half of the records have a
    link and none has a title."""
    linked = sum("link" in row for row in rows)
    if 2 * linked < len(rows) or any("title" in row for row in rows):
        return rows
    return [
        {"title" if name == "link" else name: value for name, value in row.items()} for row in rows
    ]


def _links_apart(
    rows: Sequence[Sequence[tuple[str, str, str]]],
) -> list[list[tuple[str, str, str]]]:
    """Gives each of several links with one path a path of its own, if that path occurs equally
    often in all records: the first of them may be the title, and the second a genre."""
    counts = [Counter(path for name, path, _ in row if name == "link") for row in rows]
    even = {path for path in counts[0] if all(one[path] == counts[0][path] for one in counts)}
    found: list[list[tuple[str, str, str]]] = []
    for row in rows:
        places: Counter[str] = Counter()
        found.append([])
        for name, path, text in row:
            places[path] += name == "link" and path in even and len(rows) > 1
            here = f"{path} {places[path]}" if places[path] > 1 else path
            found[-1].append((name, here, text))
    return found


def _numbers_of_columns(
    rows: Sequence[Sequence[tuple[str, str, str]]],
) -> dict[tuple[str, str], int]:
    """Tells apart fields with the same name but different paths: returns for each (name, path) a
    number from 1, which becomes part of the displayed name ("author", "author 2"). `rows` are
    records as (name, path, text); paths that occur in fewer than half of them are left out."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        counts.update(list(dict.fromkeys((name, path) for name, path, _ in row)))
    numbers: dict[tuple[str, str], int] = {}
    for name, path in counts:
        if 2 * counts[name, path] >= len(rows):
            numbers[name, path] = 1 + sum(other == name for other, _ in numbers)
    return numbers


def _joined(
    row: Sequence[tuple[str, str, str]], numbers: Mapping[tuple[str, str], int]
) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, path, text in row:
        number = numbers.get((name, path), 1)
        column = f"{name} {number}" if number > 1 else name
        found[column] = (
            f"{found[column]}; {text}"[:MAX_VALUE]
            if column in found and found[column] != text
            else text
        )
    return found


def _scope(label: HtmlElement) -> HtmlElement | None:
    """Returns the element that must contain the value of a label: for a heading cell its table row,
    for a term (`dt`) its list; None for other labels, whose value is not limited in this way."""
    return (
        next(label.iterancestors({"th": "tr", "dt": "dl"}[label.tag]), None)
        if label.tag in ("th", "dt")
        else None
    )


def _has_link(element: HtmlElement) -> bool:
    """Tells whether a term or heading cell contains a link; it is then taken for a record's title,
    not for the label of a value.
    """
    return element.find(".//a[@href]") is not None


def _is_marked(element: HtmlElement, label: str) -> bool:
    """Tells whether the label at the beginning of an element's text ("Author: …") is an element of
    its own."""
    first = next((child for child in element if isinstance(child.tag, str)), None)
    if first is None or (element.text or "").strip():
        return False
    said = text_of(first).strip()
    return first.tag in _LABELS and said.rstrip(":： ") == label.strip()


def _own_name(element: HtmlElement, path: str, *, in_list: bool) -> str:
    named = _class(element)
    around = list(islice(element.iterancestors(), NEAR))
    if (
        in_list
        and element.tag == "a"
        and not element.get("itemprop")
        and any(p.tag in _TITLES for p in around[:2])
    ):
        return "title"  # A link in a heading or a <dt> is the title, whatever its class.
    if named and not path.endswith("#text"):
        return named
    if element.tag in _HEADINGS or any(parent.tag in _HEADINGS for parent in around):
        return "title"
    if element.tag in ("dt", "th") or any(parent.tag in ("dt", "th") for parent in around):
        return "title"  # A <dt> or <th> without a link would have been read as a label before.
    if element.tag in ("a", "time", "p", "td", "li"):
        return {"a": "link", "time": "time", "p": "text", "td": "cell", "li": "item"}[element.tag]
    return next(filter(None, map(_class, around)), "text")


def _shared_labels(rows: Sequence[Sequence[tuple[str, str, HtmlElement]]]) -> set[tuple[str, str]]:
    """Returns the (path, label) pairs of labels inside a text ("Year: 1999") that are taken for
    field names. Such a label occurs in at least two records; if it has several words, also in at
    least half of the records with that path.
    """
    with_path: Counter[str] = Counter()
    with_label: Counter[tuple[str, str]] = Counter()
    for row in rows:
        with_path.update({path for path, _, _ in row})
        said = ((path, _LABEL.match(text)) for path, text, _ in row)
        with_label.update(
            {(path, match.group(1)) for path, match in said if match and match.group(2)}
        )
    return {
        key
        for key, count in with_label.items()
        if count >= 2 and (count * 2 >= with_path[key[0]] or len(key[1].split()) == 1)
    }


def fields_of_page(
    root: HtmlElement, page_template: frozenset[str] = frozenset()
) -> dict[str, str]:
    """Returns the fields of a detail page by name: the pairs of its tables and definition lists,
    labelled and named elements, the heading ("title"), and the main text ("text").

    Text in navigation, footers and forms is left out, and so is every text in `page_template`
    (lines that pages without records contain too).
    """
    found: dict[str, str] = {}
    used: set[HtmlElement] = set()
    for table in root.iter("table"):
        pairs = _pairs_of_table(table)
        if pairs and not _is_beside(table):
            used.add(table)
            for name, value in pairs:
                _put(found, name, value)
    for definitions in root.iter("dl"):
        if not _is_beside(definitions) and not any(
            parent in used for parent in definitions.iterancestors()
        ):
            used.add(definitions)
            for name, value in _pairs_of_definitions(definitions):
                _put(found, name, value)
    body = root.find(".//body")
    rest = _leaves_outside(body if body is not None else root, used)
    rest = [
        leaf
        for leaf in rest
        if leaf[1] not in page_template and not page_template.issuperset(leaf[1].splitlines())
    ]
    heading = next(
        (text for _, text, element in rest if element.tag == "h1" or _within_h1(element)), ""
    )
    if heading:
        _put(found, "title", heading)
    paragraphs = _main_text(rest)
    if paragraphs:
        _put(found, "text", "\n".join(text for _, text, _ in paragraphs)[:MAX_VALUE])
    own = {element for _, _, element in paragraphs}
    named = _named([[leaf for leaf in rest if leaf[2] not in own]])[0] if rest else {}
    for name, value in named.items():
        _put(found, "text 2" if name == "text" and paragraphs else name, value)
    return found


def _within_h1(element: HtmlElement) -> bool:
    return next(element.iterancestors("h1"), None) is not None


def _main_text(
    leaves: Sequence[tuple[str, str, HtmlElement]],
) -> list[tuple[str, str, HtmlElement]]:
    """Returns the leaves with the main text of a detail page: the paragraphs without a class in the
    element that contains most text in such paragraphs. Empty if fewer than two elements contain
    any."""
    groups: dict[HtmlElement, list[tuple[str, str, HtmlElement]]] = {}
    for leaf in leaves:
        if leaf[2].tag == "p" and not _class(leaf[2]) and not leaf[0].endswith("#text"):
            groups.setdefault(leaf[2].getparent(), []).append(leaf)
    return (
        max(groups.values(), key=lambda group: sum(len(text) for _, text, _ in group))
        if len(groups) > 1
        else []
    )


def _put(found: dict[str, str], name: str, value: str) -> None:
    if name and value:
        found.setdefault(name, value)


def _leaves_outside(
    body: HtmlElement, used: set[HtmlElement]
) -> list[tuple[str, str, HtmlElement]]:
    leaves = _leaves([body])
    inside: set[HtmlElement] = set()
    for element in body.iter(*{one.tag for one in used}) if used else ():
        if element in used and element not in inside:
            inside.update(element.iter())
    return [leaf for leaf in leaves if leaf[2] not in inside]


def _is_beside(element: HtmlElement) -> bool:
    return any(parent.tag in _BESIDE for parent in element.iterancestors())


def _own_rows(table: HtmlElement) -> Iterator[HtmlElement]:
    """Yields the rows of a table, without the rows of tables nested in it."""
    stack = list(reversed(table))
    while stack:
        element = stack.pop()
        if element.tag == "tr":
            yield element
        elif element.tag != "table":
            stack.extend(reversed(element))


def _pairs_of_table(table: HtmlElement) -> list[tuple[str, str]]:
    rows = [[cell for cell in row if cell.tag in ("td", "th")] for row in _own_rows(table)]
    rows = [row for row in rows if row]
    if (
        len(rows) == 2
        and len(rows[0]) == len(rows[1]) > 1
        and all(cell.tag == "th" for cell in rows[0])
    ):
        return [
            (_name(text_of(name)), text_of(value))
            for name, value in zip(rows[0], rows[1], strict=True)
        ]
    if len(rows) == 2 and len(rows[0]) == len(rows[1]) == 1 and rows[0][0].tag == "th":
        return [(_name(text_of(rows[0][0])), text_of(rows[1][0]))]
    pairs = [row for row in rows if len(row) == 2 and len(text_of(row[0])) <= _MAX_LABEL]
    labelled = sum(row[0].tag == "th" or text_of(row[0]).endswith((":", "：")) for row in pairs)
    if (
        pairs
        and len(pairs) * 2 >= len(rows)
        and (labelled * 2 >= len(pairs) or len(pairs) == len(rows) >= 3)
    ):
        return [(_name(text_of(name)), text_of(value)) for name, value in pairs]
    return []


def _pairs_of_definitions(definitions: HtmlElement) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    name = ""
    for child in definitions.iter("dt", "dd"):
        if child.tag == "dt":
            name = _name(text_of(child))
        elif name:
            pairs.append((name, text_of(child)))
    return pairs
