"""The header cells above a list, such as "Replies" and "Last post", and the roles that they give to
the cells of its rows."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

from forums.reading.document import Page
from forums.reading.lists.rows import COUNTED, Row
from forums.reading.words import text_roles

_MENUS = frozenset({"menu", "menubar", "menuitem", "tab", "tablist", "navigation"})


class Heads:
    """The header cells above a list, each assigned to the cells of the rows below it. `roles` maps
    the column number of each header cell to the fields that it names (such as replies or author),
    `texts` to its text; both are empty if the list has no header."""

    def __init__(self, page: Page, rows: list[Row]) -> None:
        self.page = page
        self.roles: dict[int, frozenset[str]] = {}
        self.texts: dict[int, str] = {}
        self._in_table = self._leads_away = False
        # The first row with counts or times: a row without any may be the heading of a category.
        first = next((row for row in rows if row.counts or row.times), rows[0])
        width = Counter(self._width(row) for row in rows).most_common(1)[0][0]
        if width >= 2:
            self._find(first, width)
        if self.roles:
            self._align(rows, width)
        counts = sum(len(row.counts) for row in rows[:8])
        if (
            self.roles
            and not self._in_table
            and (self._leads_away or self._contradicts(rows) or 2 * self._fits(rows) < counts)
        ):
            self.roles, self.texts = {}, {}  # The supposed header is a menu of the page.
        self._name_titles(first)

    @property
    def all_roles(self) -> frozenset[str]:
        """All roles that the header cells name."""
        return frozenset(role for roles in self.roles.values() for role in roles)

    def roles_beside(self, row: Row) -> frozenset[str]:
        """Returns the fields that the header cells name (replies, views, author …). "topics" is
        left out if only the header cell above the title links names it, because that header means
        the titles, not a number of topics. `row` is any row of the list."""
        cells = self.cells(row.record[0])
        within = [
            at + self._lead(cell)
            for at, cell in enumerate(cells)
            if self.page.outline.contains(cell, row.title.node)
        ]
        own = within[0] if within else -1
        counted = (
            {"topics"} if own >= 0 and self.roles.get(own, frozenset()) & {"topics"} else set()
        )
        others = [
            roles
            for at, roles in self.roles.items()
            if at != own and not roles & {"author", "created"}
        ]
        return self.all_roles - (counted - frozenset[str]().union(*others))

    @property
    def first_text(self) -> str:
        """The text of the first non-empty header cell."""
        return next((text for _, text in sorted(self.texts.items()) if text), "")

    def cells(self, top: int) -> list[int]:
        """Returns the nodes of the cells of the row whose first element is `top`: the children of
        the first element from `top` downwards that has several. A table cell with a colspan is
        repeated for each column it spans.
        """
        known = self.page.row_cells
        if top not in known:
            known[top] = self._cells_below(top)
        return known[top]

    def _cells_below(self, top: int) -> list[int]:
        page, node = self.page.outline, top
        for _ in range(5):
            children = page.children(node)
            if len(children) == 1:
                node = children[0]
                continue
            if (
                page.tags[node] in ("li", "div")
                and len(children) == 2
                and page.tags[children[0]] in ("dl", "input", "span")
            ):
                inner = [child for child in children if len(page.children(child)) >= 3]
                if len(inner) == 1:
                    node = inner[0]
                    continue
            return self._spread(children)
        return []

    def _width(self, row: Row) -> int:
        cells = self.cells(row.record[0])
        return len(cells) + (self._lead(cells[0]) if cells else 0)

    def _spread(self, cells: list[int]) -> list[int]:
        page, wide = self.page.outline, []
        for cell in cells:
            if page.tags[cell] not in ("td", "th"):
                wide.append(cell)
                continue
            span = page.elements[cell].get("colspan") or "1"
            wide.extend([cell] * (min(int(span), 12) if span.isdigit() and int(span) else 1))
        return wide

    def _name_titles(self, row: Row) -> None:
        """Takes the last reply from the header cell above the titles if another one names it:
        "Active topics" are topics."""
        over = self.of(row, row.title.node)
        others = [roles for roles in self.roles.values() if roles != over]
        if {"topics", "last"} <= over and any("last" in roles for roles in others):
            self.roles = {
                at: roles - {"last"} if roles == over else roles for at, roles in self.roles.items()
            }

    def _find(self, first: Row, width: int) -> None:
        page, node = self.page.outline, first.record[0]
        for _ in range(5):
            parent = page.parents[node]
            if parent < 0:
                return
            before = [child for child in page.children(parent) if child < node][-4:]
            for sibling in reversed(before):
                if self._take(sibling, width):
                    return
            node = parent

    def _take(self, node: int, width: int) -> bool:
        page = self.page.outline
        end = min(page.ends[node], node + 60)
        for inside in range(node, end):
            cells = self._spread(page.children(inside))
            if not width - 1 <= len(cells) <= width + 1 or len(cells) < 2:
                continue
            tags = {page.tags[cell] for cell in cells}
            if tags & {"nav"} or any(
                page.elements[at].get("role") in _MENUS for at in (inside, *cells)
            ):
                continue
            if tags == {"a"} or (len(cells) < 4 and len(tags - {"th", "td"}) > 1):
                continue  # The cells are a bar of buttons, not a header.
            if len(set(cells)) < 2:
                # One cell spans the columns: the title of a section of the list, not column
                # headers.
                continue
            texts = {at: page.text(cell) for at, cell in enumerate(cells)}
            if any(len(text) > 60 for text in texts.values()):
                continue
            roles = {at: text_roles(text) for at, text in texts.items() if text}
            told = len({cells[at] for at, found in roles.items() if found})
            if told >= 2 or told and tags == {"th"} and len(texts) == width:
                self.roles, self.texts, self._in_table = roles, texts, bool(tags & {"th", "td"})
                self._leads_away = 2 * sum(map(self._leads_elsewhere, set(cells))) > len(set(cells))
                return True
        return False

    def _contradicts(self, rows: list[Row]) -> bool:
        """Tells whether the rows contradict the supposed header: more than a quarter of the counts
        in the rows are marked as views by a word or icon, although the header names something else
        for them."""
        found = [
            (one.roles & COUNTED, self.of(row, one.node) & COUNTED)
            for row in rows[:8]
            for one in row.counts
        ]
        return sum(
            own == {"views"} and bool(head - own) and "views" not in head for own, head in found
        ) * 4 > len(found)

    def _leads_elsewhere(self, cell: int) -> bool:
        """Tells whether a header cell contains a link to another page, not just to this one with
        other parameters, as for sorting."""
        own = self.page.url.partition("?")[0]
        return any(
            link.url.partition("?")[0] != own
            for link in self.page.links_in(cell, self.page.outline.ends[cell])
        )

    def _align(self, rows: list[Row], width: int) -> None:
        """Shifts the cells of a header that has fewer cells than the rows (`width`) to the right by
        the difference, if that puts more counts and times of the rows below header cells for counts
        or times."""
        missing = width - 1 - max(self.texts)
        if missing <= 0:
            return
        moved = {at + missing: roles for at, roles in self.roles.items()}
        fits = {}
        for name, roles in (("as is", self.roles), ("moved", moved)):
            self.roles = roles
            fits[name] = self._fits(rows)
        self.roles = (
            moved
            if fits["moved"] > fits["as is"]
            else {at - missing: found for at, found in moved.items()}
        )

    def _fits(self, rows: list[Row]) -> int:
        """Returns the number of counts and times in the first eight rows that are below a header
        cell that names a count or a time."""
        counts = sum(
            bool(self.of(row, found.node) & COUNTED) for row in rows[:8] for found in row.counts
        )
        return counts + sum(
            bool(self.of(row, time.node) & {"last", "created"})
            for row in rows[:8]
            for time in row.times
        )

    def of(self, row: Row, node: int) -> frozenset[str]:
        """Returns the roles named by the header cell above the cell of `row` that contains `node`;
        empty if there is none."""
        if not self.roles:
            return frozenset()
        cells = self.cells(row.record[0])
        unique = list(dict.fromkeys(cells))
        at = bisect_left(unique, node + 1) - 1
        if at < 0 or not self.page.outline.contains(unique[at], node):
            return frozenset()
        return self.roles.get(cells.index(unique[at]) + self._lead(unique[at]), frozenset())

    def _lead(self, cell: int) -> int:
        """Returns the number of first columns of this cell's table row that are taken by cells of
        rows above it (rowspan)."""
        return self.page.outline.rowspan_counts.get(self.page.outline.parents[cell], 0)

    def cell(self, row: Row, node: int) -> int:
        """Returns a number that identifies the cell of `row` that contains `node`, ascending in
        page order: the index of the cell or, if the row consists of several elements and the node
        is not in the first, 100 times the index of the element.
        """
        at = max(0, bisect_left(row.record, node + 1) - 1)
        if len(row.record) > 1 and at:
            return 100 * at
        cells = list(dict.fromkeys(self.cells(row.record[0])))
        inside = bisect_left(cells, node + 1) - 1
        return max(0, inside)
