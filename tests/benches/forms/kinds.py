"""The kinds of search form of the local web for `bench harvest --forms`: their inputs, and how
their sites match words, paginate and lay out results.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple


class Select(NamedTuple):
    """An input with given choices: a select element, radio buttons or checkboxes (`kind`). `name`
    is the name of the input, `field` the field of the records whose values are its choices."""

    name: str
    field: str
    kind: str = "select"
    required: bool = False
    label: str = ""


class Between(NamedTuple):
    """Two inputs, named `low` and `high`, for the ends of a range of the record field `field`;
    `kind` is "number" or "date"."""

    low: str
    high: str
    field: str
    kind: str = "number"
    required: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of form, and how its site answers.

    `box`: name of the input for words ("" for none). `matches`: how words find records: "words",
    "parts" (of words), "or" (any of the words) or "phrase". `cut`: the maximum number of records
    that an answer shows (None: all). `ranked`: whether all answers list records in one common
    order. `paging`: link, path, button, post, number, offset, more, cursor, postback, data or none.
    `layout`: list, table, cards, definitions, flat, bare or data. `answer`: page, script (the form
    is made by a script, records are JSON) or aspnet. `extra`: HTML of inputs that do not affect the
    records found. `least`: minimum length of a word. `states`: text with the number of results.
    `busy`: some requests are refused with status 429. `missing`: status of an answer without
    results. `leads_on`: a single result is shown by a redirect to its page. `filters`: a query
    names a field, an operator and a value. `everything`: an empty query returns all records.
    `also`: language of a third of the records. `by_script`: a script fills every answer.
    `invented`: answers go on with invented records after their end.

    Further values: `paging` "held" (the site keeps the query, the next page names a number alone),
    "ranges" (links 26–50 …), "all" (one link to all results); `layout` "passing" (rows without
    links, with a time counted back), "one_path" (records and lists at one path), "abroad" (titles
    lead to other sites, filters to this one).
    """

    name: str
    box: str = "q"
    matches: str = "words"
    box_type: str = "text"
    label: str = "Search"
    second: tuple[str, str] | None = None
    selects: tuple[Select, ...] = ()
    between: tuple[Between, ...] = ()
    cut: int | None = None
    ranked: bool = True
    a_page: int = 25
    paging: str = "link"
    layout: str = "list"
    method: str = "get"
    token: bool = False
    answer: str = "page"
    extra: str = ""
    least: int = 0
    states: str = "{n} results"
    busy: bool = False
    missing: int = 200
    leads_on: bool = False
    language: str = "en"
    filters: bool = False
    records: int = 2000
    everything: bool = False
    also: str = ""
    by_script: bool = False
    invented: bool = False

    @property
    def page_size(self) -> int:
        return self.cut or self.a_page if self.paging == "none" else self.a_page


WORDS_CUT = Kind("cut_ranked", cut=50, paging="none")
YEARS = Between("year_from", "year_to", "year")
DATES = Between("date_from", "date_to", "date", "date")
PRICES = Between("price_min", "price_max", "price")
GENRES = Select("genre", "genre")
PLACES = Select("place", "place")
SORTS = (
    '<label>Sort by <select name="sort"><option value="new">Newest</option><option'
    ' value="title">Title</option></select></label><label>Results per page <select'
    ' name="per_page"><option>25</option><option>50</option></select></label>'
)

KINDS = (
    Kind("plain"),
    WORDS_CUT,
    Kind("cut_unranked", cut=50, ranked=False, paging="none", layout="table"),
    Kind("cut_silent", cut=40, paging="none", states="", layout="cards"),
    Kind("box_p", box="p", label="", layout="table", paging="button"),
    Kind("box_from", box="from", label="Look for", cut=60, paging="none"),
    Kind("box_start", box="start", label="Catalogue", layout="flat"),
    Kind("box_page", box="page", label="Find", cut=50, ranked=False, paging="none"),
    Kind(
        "two_boxes",
        box="title",
        second=("author", "author"),
        label="Title",
        cut=50,
        paging="none",
        layout="table",
    ),
    Kind(
        "required_select", selects=(Select("genre", "genre", required=True),), cut=50, paging="none"
    ),
    Kind(
        "required_unmarked",
        selects=(Select("place", "place", "radio", required=True),),
        layout="cards",
    ),
    Kind("text_and_select", selects=(GENRES, PLACES), cut=40, paging="none", layout="cards"),
    Kind("date_range", box="", between=(DATES,), cut=50, paging="none"),
    Kind("number_range", box="", between=(PRICES,), cut=50, paging="none", layout="table"),
    Kind("text_and_dates", between=(DATES,), cut=50, paging="none"),
    Kind("text_and_years", between=(YEARS,), cut=40, paging="none", layout="table", states=""),
    Kind("selects_alone", box="", selects=(GENRES, PLACES), layout="table"),
    Kind("radio_and_text", selects=(Select("genre", "genre", "radio"),), cut=50, paging="none"),
    Kind(
        "checkboxes",
        selects=(Select("place", "place", "checkbox"),),
        cut=50,
        paging="none",
        layout="definitions",
    ),
    Kind("post_token", method="post", token=True, paging="post"),
    Kind("get_token", token=True, paging="button", layout="table"),
    Kind("data_in_page", layout="data", paging="data"),
    Kind("script_form", answer="script", layout="data", paging="none", cut=50),
    Kind("load_more", paging="more", layout="cards"),
    Kind("cursor", paging="cursor", layout="list"),
    Kind("path_pages", paging="path", layout="table"),
    Kind("typed_page", paging="number", layout="bare"),
    Kind("offsets", paging="offset", layout="list"),
    Kind("least_letters", least=4, cut=50, paging="none"),
    Kind("any_word", matches="or", layout="table", cut=50, paging="none"),
    Kind("phrase", matches="phrase", cut=60, paging="none", layout="flat"),
    Kind("parts_of_words", matches="parts", cut=50, paging="none", layout="list"),
    Kind("busy", busy=True, cut=50, paging="none"),
    Kind(
        "aspnet",
        box="ctl00$Main$txtFind",
        answer="aspnet",
        method="post",
        paging="postback",
        layout="table",
        label="",
    ),
    Kind("sorted", extra=SORTS, cut=50, paging="none", layout="table"),
    Kind("not_found_404", missing=404, leads_on=True, layout="flat"),
    Kind(
        "chinese",
        language="zh",
        matches="parts",
        cut=50,
        paging="none",
        label="关键词",
        states="共{n}条记录",
    ),
    Kind(
        "chinese_pages",
        language="zh",
        matches="parts",
        box="kw",
        label="检索",
        states="共有 {n} 条结果",
        layout="table",
    ),
    Kind(
        "traps",
        states="ISO 9660 files, {n} records found",
        layout="cards",
        cut=50,
        ranked=False,
        paging="none",
    ),
    Kind("column_filters", box="value", filters=True, layout="table", cut=50, paging="none"),
    Kind("open_filters", box="value", filters=True, layout="table", everything=True, a_page=100),
    Kind("one_path", layout="one_path"),
    Kind("passing", layout="passing"),
    Kind("held_get", paging="held"),
    Kind("held_post", method="post", token=True, paging="held"),
    Kind(
        "postback_login",
        box="ctl00$Main$txtFind",
        answer="aspnet",
        method="post",
        paging="postback",
        layout="table",
        label="",
        extra='<div id="login"><input name="ctl00$Top$user" placeholder="User name"><input'
        ' type="password" name="ctl00$Top$pass"><input type="submit" name="ctl00$Top$btnLogin"'
        ' value="Log in"></div>',
    ),
    Kind("empty_lists_all", everything=True, paging="held"),
    Kind("abroad", layout="abroad"),
    Kind("two_scripts", also="zh", cut=50, paging="none"),
    Kind("three_letters", language="zh", matches="parts", least=3, label="检索"),
    Kind("script_page", by_script=True),
    Kind("invented_pages", invented=True, states="", layout="bare"),
    Kind("ranges", paging="ranges"),
    Kind("all_at_once", paging="all", layout="table"),
)
BY_NAME = {kind.name: kind for kind in KINDS}


def small(kind: Kind, records: int) -> Kind:
    """Returns the same kind of form with fewer records, for tests."""
    return replace(kind, records=records)
