"""`records_around`: finds the elements that form one record with each anchor node, from repeated
structure."""

from __future__ import annotations

from lxml.html import document_fromstring

from crawlmgr.web.pages.outline import MAX_NODES, Outline, lasting_classes, outline
from crawlmgr.web.pages.records import records_around


def page(html: str) -> Outline:
    return outline(document_fromstring(html))


def anchors(made: Outline, tag: str = "a") -> list[tuple[int, str]]:
    return [
        (node, made.elements[node].get("href", ""))
        for node in range(len(made))
        if made.tags[node] == tag
    ]


def texts(made: Outline, records: list[tuple[object, tuple[int, ...]]]) -> list[str]:
    return [" ".join(made.text(node) for node in record) for _, record in records]


def test_rows_of_a_table() -> None:
    made = page(
        "<table><tr><th>Name</th></tr><tr><td><a href=1>One</a></td><td>4</td></tr><tr><td><a"
        " href=2>Two</a></td><td>5</td></tr></table>"
    )
    assert texts(made, records_around(made, anchors(made))) == ["One 4", "Two 5"]


def test_a_category_with_one_row_does_not_swallow_its_heading() -> None:
    made = page(
        "<div><h2>First</h2><ul><li><a href=1>One</a>"
        " 1</li></ul></div><div><h2>Second</h2><ul><li><a href=2>Two</a> 2</li><li><a"
        " href=3>Three</a> 3</li></ul></div>"
    )
    assert texts(made, records_around(made, anchors(made))) == ["One 1", "Two 2", "Three 3"]


def test_flat_rows_take_their_siblings() -> None:
    rows = "".join(
        f"<tr class=a><td><a href={n}>T{n}</a></td></tr><tr class=b><td>by p{n}</td></tr>"
        for n in range(4)
    )
    made = page(f"<table>{rows}</table>")
    assert texts(made, records_around(made, anchors(made))) == [f"T{n} by p{n}" for n in range(4)]


def test_siblings_before_the_anchor_belong_to_it() -> None:
    rows = "".join(f"<dt>n{n}</dt><dd><a href={n}>T{n}</a></dd>" for n in range(4))
    made = page(f"<dl>{rows}</dl>")
    assert texts(made, records_around(made, anchors(made))) == [f"n{n} T{n}" for n in range(4)]


def test_further_keys_inside_a_record_have_none_of_their_own() -> None:
    rows = "".join(f"<tr><td><b><a href={n}>B{n}</a></b></td><td>x</td></tr>" for n in range(6))
    made = page(
        f"<table>{rows}<tr><td><b><a href=8>B8</a></b> <i><a"
        " href=9>sub</a></i></td><td>x</td></tr></table>"
    )
    assert [key for key, _ in records_around(made, anchors(made))] == [
        "0",
        "1",
        "2",
        "3",
        "4",
        "5",
        "8",
    ]


def test_a_lone_key_takes_what_it_is_told_to() -> None:
    made = page("<body><div class=list><p><a href=1>One</a> today</p></div></body>")
    assert texts(
        made, records_around(made, anchors(made), lambda node: made.tags[node] == "p")
    ) == ["One today"]
    assert records_around(made, anchors(made), lambda node: False) == []


def test_lines_and_relative_paths() -> None:
    made = page("<div><p>a<br>b</p><p class='x y2'><b>c</b> d</p></div>")
    assert [piece.text for piece in made.pieces] == ["a", "b", "c", "d"]
    assert len({piece.line for piece in made.pieces}) == 3
    inner = made.tags.index("b")
    assert made.relative(inner, made.tags.index("div")) == "p#1/b"


def test_what_is_not_shown_is_left_out() -> None:
    made = page(
        "<div>a<script>b</script><style>c</style><template>d</template><textarea>e</textarea></div>"
    )
    assert made.text(0) == "a"


def test_a_noscript_that_carries_the_page_counts() -> None:
    assert page("<body><noscript><img src=x>please enable</noscript>z</body>").text(0) == "z"
    links = "".join(f"<li><a href={n}>t{n}</a>" for n in range(6))
    assert page(f"<body><noscript><ul>{links}</ul></noscript></body>").text(0).startswith("t0 t1")


def test_classes_that_last() -> None:
    assert lasting_classes("row1 odd topic-title unread") == "topic-title"
    assert lasting_classes("bg2 post has-profile") == "post.has-profile"


def test_size_is_bounded() -> None:
    made = page("<body>" + "<p><b>x</b></p>" * (MAX_NODES // 2 + 5_000) + "</body>")
    assert made.is_cut and len(made) == MAX_NODES
