"""Finds the authors of the threads of a list, and of their last replies."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple
from urllib.parse import unquote

from forums.reading.lists.rows import Row
from forums.reading.lists.thread_columns import ThreadFields
from forums.reading.page_times import Time, time_words
from forums.reading.patterns import leads_to
from forums.reading.values import clean_name, count, ends_by, is_name, starts_by
from forums.reading.words import NOT_NAMES, PINNED, class_roles, text_roles

_AUTHOR = re.compile(
    r"(?:author|autor[aei]?|auteur|автор|作者|楼主|樓主|作成者|投稿者|yazar)(?:\s*[:：]\s*|\s+|$)",
    re.I,
)
_TALLY = re.compile(
    r"\d[\d.,]*\s+[^\W\d_]+$"
)  # a number followed by one word, such as "273 points"
_PARTS = re.compile(r"[,，、;；]")
_SIGNS = 8  # largest number of characters of a name without letters and digits


class Person(NamedTuple):
    """A person named in a row: the name, the node of its element, and the roles (author, created,
    last) that its surroundings suggest."""

    name: str
    node: int
    roles: frozenset[str]


class ThreadPeople(ThreadFields):
    """Finds the people named in a list of threads, and tells the author of a thread from that of
    its last reply by the words, header cells and class names around each name."""

    def _people(self, row: Row) -> list[Person]:
        """Returns the people named in a row, without the words that begin the texts of a name's
        column in all rows."""
        made = []
        for person in self._named(row):
            words = person.name.split()[self._labelling.get(row.column(person.node), 0) :]
            made.append(person._replace(name=" ".join(words)) if words else person)
        return made

    def _named(self, row: Row) -> list[Person]:
        found: list[Person] = []
        whole: dict[str, str] = {}
        for link in row.links:
            if link.is_user and len(link.text) > len(whole.get(link.url, "")):
                whole[link.url] = link.text
        for link in row.links:
            if link.is_user and link.key != row.title.key:
                name = link.text or self._image_name(link.node)
                told = whole.get(link.url, "")
                if len(name) == 1 or (not link.text and told and told in name):
                    # The letter or tooltip of an avatar is not used, because another link has the
                    # whole name.
                    name = told
                name = clean_name(name) if starts_by(name) else name.strip(" :：,，")
                if name and not self._again(row, found, name, link.node):
                    roles = self._titled_roles(link.node) or self._person_roles(
                        row, link.node, self.page.outline.piece_from[link.node]
                    )
                    found.append(Person(name, link.node, roles))
        named = [person for person in found if self.page.outline.text_length(person.node)]
        if len({person.name for person in named}) >= len({person.name for person in found}):
            found = named
        cell = self.heads.cell(row, row.title.node)
        if any(
            self.heads.cell(row, person.node) <= cell or person.roles & {"author", "created"}
            for person in found
        ):
            return found
        known = {person.name for person in found}
        unlinked = self._unlinked_people(row)
        cells = {
            self.heads.cell(row, other.node) for other in unlinked if other.name not in self._same
        }
        # A text that is the same in all rows is a label if its cell has another possible name.
        others = [
            person
            for person in unlinked
            if person.name not in known
            and (person.name not in self._same or self.heads.cell(row, person.node) not in cells)
        ]
        return sorted(found + others, key=lambda person: person.node)

    def _again(self, row: Row, people: list[Person], name: str, node: int) -> bool:
        """Tells whether `name` at `node` repeats the last of `people`, which is just before it in
        the same cell: for example an avatar's alternative text and the name beside it."""
        if not people or people[-1].name != name or node - people[-1].node > 6:
            return False
        outline = self.page.outline
        between = outline.pieces[outline.piece_to[people[-1].node] : outline.piece_from[node]]
        if any(char.isalnum() for piece in between for char in piece.text):
            return False
        return self.heads.cell(row, node) == self.heads.cell(row, people[-1].node)

    def _titled_roles(self, node: int) -> frozenset[str]:
        """Returns "created" and "last" if the tooltip of the link at `node`, or of its image, says
        in two parts that a person began the thread and wrote last; empty otherwise."""
        elements = self.page.outline.elements
        for inside in range(node, min(self.page.outline.ends[node], node + 6)):
            parts = _PARTS.split(elements[inside].get("title") or "")
            told = [text_roles(part) for part in parts] if len(parts) > 1 else []
            if any("last" in roles for roles in told) and any(
                roles & {"author", "created"} and "last" not in roles for roles in told
            ):
                return frozenset({"created", "last"})
        return frozenset()

    def _image_name(self, node: int) -> str:
        outline = self.page.outline
        own = unquote(self.page.link_at[node].url.rstrip("/").rsplit("/", 1)[-1]).lstrip("@~")
        for inside in range(node, min(outline.ends[node], node + 6)):
            element = outline.elements[inside]
            name = element.get("title") or element.get("alt") or ""
            if name:
                if (
                    len(own) > 1
                    and name.startswith(own)
                    and not name[len(own) : len(own) + 1].isalnum()
                ):
                    return own  # the title is a sentence such as "anna started this on Monday"
                return re.split(r"\s+[-–|]\s+|'s avatar| 的头像|,", name)[0]
        return ""

    def _unlinked_people(self, row: Row) -> list[Person]:
        found = self._said_people(row)
        cell = self.heads.cell(row, row.title.node)
        told = any(
            self.heads.cell(row, person.node) <= cell or person.roles & {"author", "created"}
            for person in found
        )
        if self._name_column and not told:
            pieces, (by_shape, column) = self.page.outline.pieces, self._name_column
            texts = [
                at
                for at in reversed(row.pieces)
                if self._may_be_name(row, at) or _is_sign(pieces[at].text)
            ]
            named = {self._place(row, pieces[at].node, by_shape): at for at in texts}
            at = named.get(column)
            # An icon before the name (in pinned rows) shifts its sibling index: compare positions
            # without these indices.
            if at is None:
                alike = [other for other in named if _bare(other) == _bare(column)]
                at = named[alike[0]] if len(alike) == 1 else None
            if at is not None:
                text, node, _ = pieces[at]
                return [
                    Person(clean_name(text) or text.strip(), node, frozenset()),
                    *(other for other in found if other.node != node),
                ]
        return found

    @cached_property
    def _same(self) -> frozenset[str]:
        """The texts that occur in nearly all rows."""
        pieces = self.page.outline.pieces
        held = Counter(
            text for row in self.rows for text in {clean_name(pieces[at].text) for at in row.pieces}
        )
        return frozenset(
            text for text, number in held.items() if number >= max(3, 0.8 * len(self.rows))
        )

    @cached_property
    def _labelling(self) -> dict[str, int]:
        """The number of words with which all texts of a column begin, by column, for columns of at
        least three rows: such words are a label in any language."""
        said: dict[str, list[list[str]]] = defaultdict(list)
        for row in self.rows:
            for at in row.pieces:
                text, node, _ = self.page.outline.pieces[at]
                if " " in text and len(text) <= 60:
                    said[row.column(node)].append(clean_name(text).split())
        return {
            column: sum(
                1 for _ in takewhile(lambda words: len(set(words)) == 1, zip(*texts, strict=False))
            )
            for column, texts in said.items()
            if len(texts) >= max(3, 0.8 * len(self.rows))
        }

    def _may_be_name(self, row: Row, at: int) -> bool:
        text, node, _ = self.page.outline.pieces[at]
        link = self.page.piece_link.get(at)
        title = range(
            self.page.outline.piece_from[row.title.node], self.page.outline.piece_to[row.title.node]
        )
        if (
            at in title
            or link is not None
            and (link.key == row.title.key or leads_to(link.pattern))
            or not is_name(text)
            or len(text) > 30
            or count(text) is not None
        ):
            return False
        if (
            any(char in "()[]:" for char in clean_name(text))
            or not any(map(str.isalpha, text))
            or _TALLY.match(text)
        ):
            return False
        if self.page.moment(text) is not None or PINNED.search(text):
            return False
        if (
            text.lower() in NOT_NAMES
            or starts_by(text)
            or not (text[0].isalnum() or text[0] in "_-.~(")
        ):
            return False
        return not text_roles(text) & {"replies", "views", "posts", "topics", "last"}

    def _place(self, row: Row, node: int, by_shape: bool) -> str:
        """Returns the column of a node in its row; with `by_shape`, the shape of its element (tag
        and class names) instead."""
        return self.page.outline.shapes[node] if by_shape else row.column(node)

    @cached_property
    def _name_column(self) -> tuple[bool, str] | None:
        """The position of names without label or link in the rows, as (by_shape, key): `key` is a
        column or, if `by_shape` because the rows differ in structure, the shape of the names'
        elements. None if there are no such names.
        """
        for by_shape in (False, True):
            column = self._column_of_names(by_shape)
            if column is not None:
                return by_shape, column
        return None

    def _column_of_names(self, by_shape: bool) -> str | None:
        """Returns the column in which at least 80 % of the rows have a text that can be a name, and
        not always the same one; None if there is none. Of several, the column with the best
        position relative to the title (rank of `_name_places`) is taken, of equal rank the first.
        With `by_shape`, texts in elements of the same shape count as one column. Up to half of the
        names may consist of signs: "*", "---".
        """
        names: dict[str, list[str]] = defaultdict(list)
        signs = Counter(
            column
            for row in self.rows
            for column in {
                self._place(row, self.page.outline.pieces[at].node, by_shape)
                for at in row.pieces
                if _is_sign(self.page.outline.pieces[at].text)
            }
        )
        places: dict[str, Counter[int]] = defaultdict(Counter)
        for row in self.rows:
            for at, place in self._name_places(row, by_shape):
                column = self._place(row, self.page.outline.pieces[at].node, by_shape)
                names[column].append(self.page.outline.pieces[at].text)
                places[column][place] += 1
        found = [
            (places[column].most_common(1)[0][0], order, column)
            for order, (column, texts) in enumerate(names.items())
            if len(texts) + min(signs[column], len(texts)) >= 0.8 * len(self.rows)
            and len(set(texts)) >= min(3, len(self.rows))
        ]
        return min(found)[2] if found else None

    def _name_places(self, row: Row, by_shape: bool) -> Iterator[tuple[int, int]]:
        """Yields (text number, rank) of those texts of a row that can be a person's name: the first
        one of each column or, with `by_shape`, of each shape of element. The rank tells where the
        text is, 0 being best. 0: in the title's cell, after the title. 1: after the title, in
        another cell that does not hold the last reply. 2: before the title, in another cell. 3:
        after the title, in the cell of the last reply but not next to a time; only in lists without
        a header.
        """
        cell, seen = self.heads.cell(row, row.title.node), set()
        end = self.page.outline.piece_to[row.title.node]
        lasts = {
            self.heads.cell(row, time.node) for time in row.times if self._role(row, time) == "last"
        } - {cell}
        for at in row.pieces:
            node = self.page.outline.pieces[at].node
            column = self._place(row, node, by_shape)
            if column in seen or not self._may_be_name(row, at):
                continue
            seen.add(column)
            own = self.heads.cell(row, node)
            if own == cell and at in self.page.piece_link:
                continue  # beside the title, a link may lead anywhere
            if own == cell and at >= end:
                yield at, 0
            elif at >= end and own not in lasts:
                yield at, 1
            elif at < end and own != cell:
                yield at, 2
            elif (
                at >= end
                and not self.heads.roles
                and all(abs(time.piece - at) > 1 for time in row.times)
            ):
                yield (
                    at,
                    3,
                )  # the text is in the same cell as a time, but other texts are between them

    def _said_people(self, row: Row) -> list[Person]:
        outline, found = self.page.outline, []
        timed = {time.piece for time in row.times if not time.is_attribute}
        title = range(outline.piece_from[row.title.node], outline.piece_to[row.title.node])
        for at in row.pieces:
            if at in title:
                continue
            text, node, line = outline.pieces[at]
            previous = (
                outline.pieces[at - 1] if at - 1 in row.pieces and at - 1 not in title else None
            )
            follows = (
                previous is not None
                and ends_by(previous.text)
                and (previous.line == line or ends_by(row.text_before(at)))
            )
            name = ""
            after = self._after_time(row, at) if at in timed else []
            if after:
                name = self._before_time(text) if starts_by(text) else ""
                if name and is_name(name) and self.page.moment(name) is None:
                    found.append(Person(name, node, self._person_roles(row, node, at)))
                found.extend(after)
                continue
            if follows and at not in timed:
                name = clean_name(text)
            elif ends_by(text):
                continue
            elif starts_by(text):
                name = self._before_time(text)
            elif at not in timed and self._is_person_cell(row, node):
                name = clean_name(text)
            if name and is_name(name) and self.page.moment(name) is None:
                found.append(Person(name, node, self._person_roles(row, node, at)))
        return found

    def _after_time(self, row: Row, at: int) -> list[Person]:
        """Returns the name after "by" that follows the only time in text number `at`, as in "Last
        post: 2014-3-1 10:15 by anna", as a list of one person; empty if there is none."""
        text, node, _ = self.page.outline.pieces[at]
        times = [time for time in row.times if time.piece == at and not time.is_attribute]
        span = time_words(text, self.page.moment) if len(times) == 1 and len(text) <= 90 else None
        rest = " ".join(text.split())[span[1] :].strip() if span else ""
        name = self._before_time(rest) if starts_by(rest) and not ends_by(rest) else ""
        if not name or not is_name(name):
            return []
        role = self._role(row, times[0])
        return [
            Person(name, node, frozenset({role}) if role in ("last", "created") else frozenset())
        ]

    def _is_person_cell(self, row: Row, node: int) -> bool:
        outline, at, steps, head = self.page.outline, node, 0, self.heads.of(row, node)
        if "author" in head and "topics" not in head:
            return True
        if node in self.page.link_at and leads_to(self.page.link_at[node].pattern):
            return False
        while at >= row.start and steps < 3:
            if class_roles(outline.classes[at]) & {"author"} and outline.text_length(at) <= 60:
                return True
            at = outline.parents[at]
            steps += 1
        return False

    def _before_time(self, text: str) -> str:
        """Returns the name at the beginning of texts such as "by anna » Tue Mar 04" or "Started by
        anna, 3 days ago", without words such as "by"."""
        name = clean_name(text)
        span = time_words(name, self.page.moment) if any(map(str.isdigit, name)) else None
        if span and span[0]:
            name = clean_name(" ".join(name.split())[: span[0]])
        parts = re.split(
            r"\s*[»«,|·•@(（]\s*|\s+[-–—]\s+|\s+(?:on|am|le|el|at|il|em|op|vor|il y"
            r" a|hace)\s+(?=\S*\d)",
            name,
        )
        for end in range(len(parts), 0, -1):
            if end == len(parts) and self.page.moment(name) is not None:
                continue
            return clean_name(parts[0])
        return clean_name(parts[0])

    def _person_roles(self, row: Row, node: int, at: int) -> frozenset[str]:
        outline = self.page.outline
        if (
            at in row.pieces
            and "last" not in self.heads.of(row, node)
            and self._is_called_author(row, at)
        ):
            return frozenset({"author"})
        told = self._role_after_time(row, at)
        if not told and at in row.pieces:
            told = text_roles(row.text_before(at)[-40:]) & {"last", "created"}
        if not told:
            told = self.heads.of(row, node) & {"last", "created", "author"}
            if "last" in told:
                told = frozenset({"last"})
        if not told:
            above, steps = node, 0
            while above > row.start and steps < 6 and not told:
                told = class_roles(outline.classes[above]) & {"last", "created"}
                above = outline.parents[above]
                steps += 1
        return frozenset({"last"}) if "last" in told else told

    def _belongs_to(self, row: Row, person: Person, last: Time) -> bool:
        """Tells whether the only name of a row belongs to `last`, the time of the last reply: the
        header cell above the name says "last", or name and time are neighbours with at most
        separators or a word such as "by" between them.
        """
        if "last" in self.heads.of(row, person.node):
            return True
        pieces, at = self.page.outline.pieces, self.page.outline.piece_from[person.node]
        if at < last.piece:
            return not last.own_label and last.piece - at <= 1
        between = pieces[row.time_end(last) : at]
        return all(
            len(piece.text) < 12 and (ends_by(piece.text) or not piece.text.strip("·|•- "))
            for piece in between
        )

    def _is_called_author(self, row: Row, at: int) -> bool:
        """Tells whether text number `at` begins with, or directly follows, a label such as
        "Author"; "by" is not enough."""
        pieces = self.page.outline.pieces
        if _AUTHOR.match(pieces[at].text):
            outline, node = self.page.outline, pieces[at].node
            # In a definition list, "Last reply": 10:15 作者 anna names the author of the last
            # reply, not of the thread.
            defined = "dd" in (outline.tags[node], outline.tags[outline.parents[node]])
            return not (defined and "last" in self._role_after_time(row, at))
        return (
            at - 1 in row.pieces
            and bool(row.text_before(at))
            and bool(_AUTHOR.fullmatch(pieces[at - 1].text))
        )

    def _role_after_time(self, row: Row, at: int) -> frozenset[str]:
        """Returns the role ("last" or "created") of the time before text number `at` on its line,
        with at most a word such as "by" between, as in "2014-3-1 10:15 by anna"; empty if there is
        no such time or its role is unknown.
        """
        pieces = self.page.outline.pieces
        for back in (at, at - 1):
            for time in row.times:
                if row.time_end(time) != back or pieces[time.piece].line != pieces[at].line:
                    continue
                if not time.is_attribute and self._after_time(row, time.piece):
                    return (
                        frozenset()
                        # the text of the time contains a name itself, so the name after the time
                        # has no role
                    )
                if back == at or ends_by(pieces[at - 1].text) and len(pieces[at - 1].text) < 12:
                    role = self._role(row, time)
                    return frozenset({role}) if role in ("last", "created") else frozenset()
        return frozenset()

    def _names(self, row: Row, last: Time | None) -> tuple[str | None, str | None]:
        """Returns the names of a thread's author and of the author of its last reply, each None if
        not found. `last` is the time of the last reply in the row, None if unknown."""
        people = self._people(row)
        if not people:
            return None, None
        lasts = [person for person in people if "last" in person.roles]
        firsts = [p for p in people if "last" not in p.roles or "created" in p.roles]
        firsts.sort(key=lambda person: not person.roles & {"author", "created"})
        if last is not None and len(firsts) > 1 and not lasts:
            near = [
                p
                for p in firsts
                if self.heads.cell(row, p.node) == self.heads.cell(row, last.node)
                and p is not firsts[0]
            ]
            lasts = near or [firsts[-1]]
            firsts = [person for person in firsts if person not in lasts]
        elif last is not None and len(firsts) == 1 and not lasts and not firsts[0].roles:
            person = firsts[0]
            title_cell = self.heads.cell(row, row.title.node)
            cell = self.heads.cell(row, person.node)
            # The name is in a cell of its own, not in the text around the title.
            apart = not self.page.outline.contains(person.node, row.title.node)
            same = cell == self.heads.cell(row, last.node) != title_cell
            if (
                apart
                and same
                and self._role(row, last) == "last"
                and self._belongs_to(row, person, last)
            ):
                firsts, lasts = [], [person]
        return (firsts[0].name if firsts else None), (lasts[0].name if lasts else None)


def _is_sign(text: str) -> bool:
    """Tells whether a text has no letter or digit and is short, as the names of some people are."""
    return 0 < len(text.strip()) <= _SIGNS and not any(map(str.isalnum, text))


def _bare(column: str) -> str:
    """Returns a column's key without sibling indices, equal for corresponding positions in rows of
    different length."""
    return re.sub(r"#\d+", "", column)
