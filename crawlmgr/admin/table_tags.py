"""Template tags that lay out tables and empty states. The heading and the cell of a column are
defined together in one tag.

    {% table events as one empty=_("No events have been recorded.") %}
      {% row class="soft" if one.old %} {% column _("When") class="nowrap" %}{{ one.at|ago }}{%
      endcolumn %} {% column _("Received") class="num" title=hint when may_see %}{{ one.bytes|size
      }}{% endcolumn %} {% column _("Failed") class="num" %}{% cell class="bad" if one.failed %}{{
      one.failed|number }}{% endcolumn %}
    {% endtable %}

The docstrings below name the tags without `{% %}`; the module `tags` registers them. They are
compiled to the same nodes as a table written in HTML with Django's own `for`, and therefore take no
more time per row."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple, cast

from django.template.base import (
    FilterExpression,
    Node,
    NodeList,
    Origin,
    Parser,
    TextNode,
    Token,
    VariableDoesNotExist,
    VariableNode,
    render_value_in_context,
)
from django.template.context import Context
from django.template.defaulttags import ForNode, IfNode, TemplateIfParser
from django.template.exceptions import TemplateSyntaxError
from django.template.smartif import TokenBase

OPTION = re.compile(r"([a-z][a-z-]*)=(.+)", re.DOTALL)
Options = dict[str, FilterExpression]
Text = FilterExpression | None


def _options(parser: Parser, bits: Iterable[str], known: Collection[str] | None = None) -> Options:
    """Compiles the `name=value` pieces of a tag; names may contain hyphens. `known` are the names
    that the tag accepts, None for any. Raises TemplateSyntaxError for any other piece."""
    found: Options = {}
    for bit in bits:
        option = OPTION.fullmatch(bit)
        if option is None or (known is not None and option[1] not in known):
            raise TemplateSyntaxError(f"not an option of this tag: {bit}")
        found[option[1]] = parser.compile_filter(option[2])
    return found


def _condition(parser: Parser, bits: list[str], word: str) -> tuple[list[str], TokenBase | None]:
    """Splits the pieces of a tag at `word`, "if" or "when": returns those before it, and the
    condition after it, compiled as by Django's `if`; the condition is None if the word is missing.
    """
    if word not in bits:
        return bits, None
    at = bits.index(word)
    return bits[:at], TemplateIfParser(parser, bits[at + 1 :]).parse()


def _holds(condition: Any, context: Context) -> bool:
    """Evaluates a condition as Django's `if` does. True if there is none; False if a variable used
    as a filter's argument is missing."""
    try:
        return condition is None or bool(condition.eval(context))
    except VariableDoesNotExist:
        return False


def _attributes(values: Iterable[tuple[str, Any]], context: Context) -> str:
    """Formats names and values as attributes of a start tag, each after a space and escaped; True
    makes an attribute without a value, None and False leave the attribute out."""
    parts = []
    for name, value in values:
        if value is True:
            parts.append(f" {name}")
        elif value is not None and value is not False:
            parts.append(f' {name}="{render_value_in_context(value, context)}"')
    return "".join(parts)


class AttributesNode(Node):
    """The template tag `row` or `cell` (`kind`): gives its options as attributes to a table's rows
    or a column's cells, if the `condition` holds (None: always). Classes are added to those of the
    column.

    The table or column that contains the tag puts its `nodes` into the start tag. Rendering the tag
    itself raises TemplateSyntaxError, because it then stands inside another tag."""

    def __init__(self, kind: str, options: Options, condition: TokenBase | None) -> None:
        self.kind, self.options, self.condition = kind, options, condition

    def render(self, context: Context) -> str:
        raise TemplateSyntaxError(
            f"{self.kind} stands directly in its table or column, not within another tag"
        )

    def nodes(self, name: str, before: str, after: str) -> list[Node]:
        """Returns the nodes of the option `name`: the texts `before` and `after` with the option's
        value between them, which are rendered only if the condition holds."""
        option = self.options[name]
        plain = isinstance(option.var, str) and not option.filters
        inside: list[Node] = [
            TextNode(before),
            TextNode(option.var) if plain else VariableNode(option),
            TextNode(after),
        ]
        nodes: list[Node] = inside
        if self.condition is not None:
            # the stubs allow no conditions
            nodes = [IfNode([(self.condition, NodeList(inside))])]  # type: ignore[list-item]
        for node in (*inside, *nodes):
            node.token, node.origin = self.token, self.origin  # error messages show them
        return nodes


def _start(name: str, classes: str, parts: list[AttributesNode]) -> list[Node]:
    """Returns the nodes of a start tag: `name` is "tr" or "td", `classes` its constant classes
    separated by spaces ("" for none), `parts` are its further attributes (empty for none)."""
    dynamic = [part for part in parts if "class" in part.options]
    nodes: list[Node] = [TextNode(f"<{name}")]
    if (
        not classes and len(dynamic) == 1
    ):  # the whole attribute is conditional, so that it is never empty
        nodes += dynamic[0].nodes("class", ' class="', '"')
    elif classes or dynamic:
        words = [node for part in dynamic for node in part.nodes("class", " ", "")]
        nodes += [TextNode(f' class="{classes}'), *words, TextNode('"')]
    for part in parts:
        nodes += [
            node
            for option in part.options
            if option != "class"
            for node in part.nodes(option, f' {option}="', '"')
        ]
    return [*nodes, TextNode(">")]


def _line(nodes: Iterable[Node]) -> NodeList:
    """Returns the nodes with adjacent texts joined into one, so that fewer nodes are rendered for
    each row."""
    line = NodeList()
    for node in nodes:
        if line and type(node) is TextNode and type(line[-1]) is TextNode:
            line[-1] = TextNode(line[-1].s + node.s)
        else:
            line.append(node)
    return line


def _split(nodes: NodeList, kind: str) -> tuple[list[AttributesNode], list[Node]]:
    """Returns the `AttributesNode`s of a kind ("row" or "cell") among nodes, and the other nodes,
    in their order."""
    parts = [node for node in nodes if isinstance(node, AttributesNode) and node.kind == kind]
    return parts, [node for node in nodes if node not in parts]


def _trimmed(nodes: Iterable[Node]) -> list[Node]:
    """Returns the nodes without white space at both ends, where it only lays out the template: a
    cell without content stays empty, as style sheets expect of it."""
    kept = list(nodes)
    for end, strip in ((0, str.lstrip), (-1, str.rstrip)):
        while kept and isinstance(last := kept[end], TextNode):
            text = strip(last.s, " \n")
            if text:
                kept[end] = TextNode(text)
                break
            del kept[end]
    return kept


class ColumnNode(Node):
    """`column [heading] [class="…"] [title=…] [when condition] … endcolumn`: a column and the
    content of its cells.

    `classes` are the constant classes of the cells, "" for none; with "num" (numbers, aligned to
    the right) the heading gets this class too. `heading` and its explanation `title` are None if
    there is none; a heading that is marked as safe may be HTML. `when` is evaluated once for the
    table, not for each row; a column without it (None) is always shown. `inside` is the content of
    a cell, with `cell` tags, which set further attributes of the cell."""

    def __init__(
        self, heading: Text, classes: str, title: Text, when: TokenBase | None, inside: NodeList
    ) -> None:
        self.heading, self.title, self.when = heading, title, when
        self.head_class = "num" if heading is not None and "num" in classes.split() else None
        parts, content = _split(inside, "cell")
        self.nodes = [*_start("td", classes, parts), *_trimmed(content), TextNode("</td>")]

    def head(self, context: Context) -> str:
        """Returns the `th` element, an empty one if the column has no heading."""
        title = None if self.title is None else self.title.resolve(context)
        text = (
            ""
            if self.heading is None
            else render_value_in_context(self.heading.resolve(context), context)
        )
        return (
            f"<th{_attributes((('class', self.head_class), ('title', title)), context)}>{text}</th>"
        )


class EmptyStateNode(Node):
    """Template tag `placeholder text [steps …] endplaceholder` for the place of an empty list.
    Renders the text and below it the steps that would fill the list; only the text if there are no
    steps (None) or they render to white space.
    """

    def __init__(self, text: NodeList, steps: NodeList | None = None) -> None:
        self.text, self.steps = text, steps

    def render(self, context: Context) -> str:
        steps = "" if self.steps is None else self.steps.render(context)
        below = f'<div class="begin-steps">{steps}</div>' if steps.strip() else ""
        return f'<p class="empty">{self.text.render(context)}</p>{below}'


class _Given(NamedTuple):
    """Rows that were evaluated already, wrapped like a template expression, because Django's
    `ForNode` calls `resolve` on its sequence."""

    rows: Collection[Any]

    def resolve(self, context: Context, ignore_failures: bool = False) -> Collection[Any]:
        return self.rows


class TableNode(Node):
    """`table rows as name[, name] [options] … [empty …] endtable`: a table with a line for each of
    the rows; see the module.

    The option `class` adds classes to the table; `wrap` sets the classes of the element around it
    ("scroll" by default, no element if it is ""); all other options become attributes of the table.
    `names` are the loop variables, as in Django's `for`. `row` are the nodes of a row's start tag.
    If there are no rows (None or empty), `empty` is shown instead of the table; if `empty` is None,
    the table is shown with headings only. If no shown column has a heading, there is no `<thead>`.
    """

    def __init__(
        self,
        names: list[str],
        rows: FilterExpression,
        options: Options,
        row: list[Node],
        columns: list[ColumnNode],
        empty: EmptyStateNode | None,
    ) -> None:
        self.names, self.rows, self.row, self.columns, self.empty = names, rows, row, columns, empty
        self.classes, self.wrap = options.pop("class", None), options.pop("wrap", None)
        self.attributes = options
        self.lines: dict[
            tuple[bool, ...], NodeList
        ] = {}  # cached nodes of a row; the key tells for each column if it is shown

    def render(self, context: Context) -> str:
        rows = self.rows.resolve(context, ignore_failures=True)
        rows = [] if rows is None else rows if hasattr(rows, "__len__") else list(rows)
        if self.empty is not None and len(rows) == 0:
            return self.empty.render(context)
        visible = tuple(_holds(one.when, context) for one in self.columns)
        columns = [one for one, holds in zip(self.columns, visible, strict=True) if holds]
        if visible not in self.lines:
            self.lines[visible] = _line(
                [*self.row, *(node for one in columns for node in one.nodes), TextNode("</tr>\n")]
            )
        body = ForNode(
            self.names, cast("FilterExpression", _Given(rows)), False, self.lines[visible]
        ).render(context)
        head = ""
        if any(one.heading is not None for one in columns):
            head = f"<thead><tr>{''.join(one.head(context) for one in columns)}</tr></thead>"
        more = "" if self.classes is None else f" {self.classes.resolve(context)}"
        values = (
            ("class", f"list{more}"),
            *((name, option.resolve(context)) for name, option in self.attributes.items()),
        )
        table = f"<table{_attributes(values, context)}>{head}<tbody>\n{body}</tbody></table>"
        wrap = "scroll" if self.wrap is None else self.wrap.resolve(context)
        return f'<div class="{wrap}">{table}</div>' if wrap else table


def attributes(parser: Parser, token: Token) -> AttributesNode:
    """Compiles the template tags `row` and `cell`; see `AttributesNode`."""
    kind, *bits = token.split_contents()
    bits, condition = _condition(parser, bits, "if")
    return AttributesNode(kind, _options(parser, bits), condition)


def column(parser: Parser, token: Token) -> ColumnNode:
    """Compiles `column … endcolumn`; see `ColumnNode`."""
    bits, when = _condition(parser, token.split_contents()[1:], "when")
    heading = parser.compile_filter(bits.pop(0)) if bits and not OPTION.fullmatch(bits[0]) else None
    options = _options(parser, bits, ("class", "title"))
    classes = options.get("class")
    if classes is not None and classes.is_var:  # type: ignore[attr-defined]  # missing in the stubs
        raise TemplateSyntaxError(
            "the class of a column is constant; cell adds one that depends on the row"
        )
    content = parser.parse(("endcolumn",))
    parser.delete_first_token()
    return ColumnNode(
        heading, "" if classes is None else str(classes.var), options.get("title"), when, content
    )


def _empty_state(parser: Parser, end: str) -> EmptyStateNode:
    """Parses what a template shows instead of an empty table or list, up to and including the tag
    named `end`: a text and, after an optional tag `steps`, what the user can do about it."""
    text, steps = parser.parse(("steps", end)), None
    if parser.next_token().contents == "steps":
        steps = parser.parse((end,))
        parser.delete_first_token()
    return EmptyStateNode(NodeList(_trimmed(text)), steps)


def placeholder(parser: Parser, token: Token) -> EmptyStateNode:
    """Compiles `placeholder … [steps …] endplaceholder`; see `EmptyStateNode`."""
    return _empty_state(parser, "endplaceholder")


def table(parser: Parser, token: Token) -> TableNode:
    """Compiles `table … endtable`; see `TableNode`. The content for an empty table is given as a
    text in the option `empty`, or as the part of the template after the tag `empty`."""
    bits = token.split_contents()[1:]
    first = next((at for at, bit in enumerate(bits) if OPTION.fullmatch(bit)), len(bits))
    names = "".join(bits[2:first]).split(",")
    if bits[1:2] != ["as"] or not all(name.isidentifier() for name in names):
        raise TemplateSyntaxError("a table begins with: table rows as name")
    rows, options = parser.compile_filter(bits[0]), _options(parser, bits[first:])
    empty = None
    if "empty" in options:
        text = VariableNode(options.pop("empty"))
        text.token, text.origin = token, cast("Origin", parser.origin)
        empty = EmptyStateNode(NodeList([text]))
    inside = parser.parse(("empty", "endtable"))
    if parser.next_token().contents == "empty":
        empty = _empty_state(parser, "endtable")
    columns = [node for node in inside if isinstance(node, ColumnNode)]
    parts, others = _split(inside, "row")
    if any(
        node not in columns and not (isinstance(node, TextNode) and not node.s.strip())
        for node in others
    ):
        raise TemplateSyntaxError(
            "a table consists of row, columns and empty; nothing else stands between them"
        )
    return TableNode(names, rows, options, _start("tr", "", parts), columns, empty)
