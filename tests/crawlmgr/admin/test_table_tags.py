"""The template tags for tables, which define heading and cell of a column together, and for
messages in place of empty tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.template import Context, Template, TemplateSyntaxError
from django.utils import translation
from django.utils.safestring import mark_safe
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parents[3]
BY_HAND = {  # templates with tables written by hand; a comment in each gives the reason
    "desk/export_new.html",
    "desk/palette.html",
    "desk/table_rows.html",
    "focused/comparison_live.html",
    "focused/page.html",
    "forums/simulation_live.html",
}


def shown(text: str, **values: Any) -> str:
    """The HTML of a template, without space between tags."""
    html = Template("{% load i18n desk %}" + text).render(Context(values))
    return re.sub(r">\s+<", "><", html).strip()


def test_headings_and_cells_come_from_the_same_columns() -> None:
    text = '{% table rows as a, b %}{% column _("Run") class="nowrap" %}{{ a }}{% endcolumn %}'
    text += (
        '{% column _("Pages") class="num soft" title=hint %}{{ b|number }}{% endcolumn %}{% column'
        " %}!{% endcolumn %}{% endtable %}"
    )
    assert (
        shown(text, rows=[("<1>", 2000), ("3", 4)], hint="<of it>")
        == '<div class="scroll"><table class="list"><thead><tr><th>Run</th><th class="num"'
        ' title="&lt;of it&gt;">Pages</th><th></th></tr></thead><tbody><tr><td'
        ' class="nowrap">&lt;1&gt;</td><td class="num soft">2,000</td><td>!</td></tr><tr><td'
        ' class="nowrap">3</td><td class="num soft">4</td><td>!</td></tr></tbody></table></div>'
    )


@pytest.mark.parametrize(("may_see", "heads", "cells"), [(True, 2, 4), (False, 1, 2), (None, 1, 2)])
def test_a_column_is_left_out_with_its_heading(
    may_see: bool | None, heads: int, cells: int
) -> None:
    text = (
        '{% table rows as one %}{% column "A" when may_see and not hidden %}{{ one }}{% endcolumn'
        ' %}{% column "B" %}b{% endcolumn %}{% endtable %}'
    )
    html = shown(text, rows="xy", **({} if may_see is None else {"may_see": may_see}))
    assert html.count("<th>") == heads and html.count("<td>") == cells


def test_rows_and_cells_have_attributes_by_condition() -> None:
    text = (
        '{% table rows as one %}{% row class="soft" if one == 2 %}{% row tabindex="-1" %}{% column'
        ' class="num" %}{% cell class="bad" if one > 1 %}'
    )
    text += '{% cell title=name data-kind="a" %}{{ forloop.counter }}{% endcolumn %}{% endtable %}'
    html = shown(text, rows=[1, 2], name='"<i>"')
    assert "<thead>" not in html
    rows = re.findall("<tr.*?</tr>", html)
    more = 'title="&quot;&lt;i&gt;&quot;" data-kind="a"'
    assert rows == [
        f'<tr tabindex="-1"><td class="num" {more}>1</td></tr>',
        f'<tr class="soft" tabindex="-1"><td class="num bad" {more}>2</td></tr>',
    ]


def test_classes_of_several_conditions_add_up() -> None:
    text = (
        '{% table rows as one %}{% column %}{% cell class="a" if one %}{% cell class=name %}{%'
        " endcolumn %}{% endtable %}"
    )
    assert re.findall('<td class="([^"]*)"', shown(text, rows=[0, 1], name="b")) == [" b", " a b"]


def test_the_table_has_attributes_and_an_element_around_it() -> None:
    column = '{% column "A" %}{{ one }}{% endcolumn %}{% endtable %}'
    html = shown(
        '{% table rows as one class="cards" wrap="scroll tall" id="it" data-marks=yes hidden=no'
        " title=none %}" + column,
        rows=[1],
        yes=True,
        no=False,
        none=None,
    )
    assert html.startswith('<div class="scroll tall"><table class="list cards" id="it" data-marks>')
    assert shown('{% table rows as one wrap="" %}' + column, rows=[1]).startswith(
        '<table class="list"><thead>'
    )


@pytest.mark.parametrize("rows", [[], (), None, iter(()), {}.items()])
def test_a_table_without_rows_is_an_empty_state(rows: Any) -> None:
    column = '{% column "A" %}{{ one }}{% endcolumn %}'
    assert (
        shown(
            '{% table rows as one empty=_("Nothing matches.") %}' + column + "{% endtable %}",
            rows=rows,
        )
        == '<p class="empty">Nothing matches.</p>'
    )
    text = column + "{% empty %}None, {{ user }}.{% steps %}<b>Add</b>{% endtable %}"
    assert (
        shown("{% table rows as one %}" + text, rows=rows, user="<x>")
        == '<p class="empty">None, &lt;x&gt;.</p><div class="begin-steps"><b>Add</b></div>'
    )
    alone = shown("{% table missing as one %}" + column + "{% endtable %}")
    assert (
        alone == '<div class="scroll"><table'
        ' class="list"><thead><tr><th>A</th></tr></thead><tbody></tbody></table></div>'
    )


def test_rows_are_read_once_and_names_end_with_the_table() -> None:
    def numbers() -> Iterator[int]:
        yield from (1, 2)

    assert shown(
        '{% table rows as one empty="–" %}{% column %}{{ one }}{% endcolumn %}{% endtable %}[{{'
        " one }}]",
        rows=numbers(),
    ).endswith("[]")


def test_an_empty_state_has_steps_only_if_there_are_any() -> None:
    text = "{% placeholder %}None.{% steps %} {% if may %}<b>Add</b>{% endif %}{% endplaceholder %}"
    assert shown(text) == '<p class="empty">None.</p>'
    assert (
        shown(text, may=True)
        == '<p class="empty">None.</p><div class="begin-steps"><b>Add</b></div>'
    )
    assert shown("{% placeholder %}None.{% endplaceholder %}") == '<p class="empty">None.</p>'


def test_a_heading_may_be_safe_html() -> None:
    text = "{% table rows as one %}{% column head %}{{ one }}{% endcolumn %}{% endtable %}"
    assert "<th><i>x</i></th>" in shown(
        text, rows=[1], head=mark_safe("<i>x</i>")
    ) and "<th>&lt;i&gt;" in shown(text, rows=[1], head="<i>")
    assert 'data-tick-all="board"' in shown('{% tick_all "board" as head %}' + text, rows=[1])


@pytest.mark.parametrize(
    "text",
    [
        "{% table rows %}{% endtable %}",
        "{% table rows in one %}{% endtable %}",
        "{% table rows as 1 %}{% endtable %}",
        "{% table rows as one %}text{% endtable %}",
        "{% table rows as one %}{{ one }}{% endtable %}",
        "{% table rows as one %}{% cell id=1 %}{% endtable %}",
        "{% table rows as one %}{% column A b %}{% endcolumn %}{% endtable %}",
        "{% table rows as one %}{% column id=1 %}{% endcolumn %}{% endtable %}",
        "{% table rows as one %}{% column class=one %}{% endcolumn %}{% endtable %}",
        "{% table rows as one %}",
        "{% row 5 %}",
    ],
)
def test_what_cannot_be_a_table_is_refused(text: str) -> None:
    with pytest.raises(TemplateSyntaxError):
        shown(text)


@pytest.mark.parametrize(
    "text",
    [
        (
            "{% table rows as one %}{% column %}{% if 1 %}{% cell id=1 %}{% endif %}{% endcolumn"
            " %}{% endtable %}"
        ),
        "{% row id=1 %}",
    ],
)
def test_attributes_out_of_place_are_refused(text: str) -> None:
    with pytest.raises(TemplateSyntaxError):
        shown(text, rows=[1])


def test_texts_in_the_tags_are_extracted_and_translated() -> None:
    text = (
        '{% table rows as one empty=_("Nothing matches.") %}{% column _("Run") title=_("Pages")'
        ' when 1 %}{% cell title=_("State") %}{% endcolumn %}{% endtable %}'
    )
    assert set(re.findall(r'_\("([^"]+)"\)', templatize(text))) == {
        "Nothing matches.",
        "Run",
        "Pages",
        "State",
    }
    with translation.override("zh-hans"):
        html = shown(text, rows=[1])
        assert "<th" in html and not re.search("Run|Pages|State", html)
        assert shown(text, rows=[]) != '<p class="empty">Nothing matches.</p>'


def test_line_breaks_at_the_ends_of_a_cell_or_an_empty_state_vanish() -> None:
    text = """{% table rows as one %}
      {% row class='a' %}
      {% column 'Run' %}
        {% cell title=one %}
        {% if one %}
          run
          {{ one }}
        {% endif %}
      {% endcolumn %}
    {% empty %}
      None
      yet.
    {% endtable %}"""
    zero = shown(text, rows=[0])
    assert '<td title="0"></td>' in zero, "a cell without content is empty to a style sheet too"
    assert re.search(r'<td title="1">\s+run\s+1\s+</td>', shown(text, rows=[1]))
    assert re.fullmatch(r'<p class="empty">None\s+yet\.</p>', shown(text, rows=[]))


def _templates(part: str) -> dict[str, str]:
    """The templates that contain this text, by their names."""
    found = {
        str(path.relative_to(ROOT / "templates")): path.read_text(encoding="utf-8")
        for path in (ROOT / "templates").rglob("*.html")
    }
    return {name: source for name, source in found.items() if part in source}


def test_templates_lay_out_no_table_by_hand_without_a_reason() -> None:
    found = _templates("<table")
    assert set(found) == BY_HAND and all("{# by hand: " in source for source in found.values())


def test_templates_lay_out_no_empty_state_by_hand() -> None:
    """The only exceptions are an empty state that a script shows, and a note that merely uses the
    same class."""
    assert set(_templates('<p class="empty"')) == {"desk/palette.html", "desk/capture.html"}
