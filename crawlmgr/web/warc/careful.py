"""Reads records one by one with all that other programs write: heads whose lines end with LF only,
ARC, several records in one member. Finds what is damaged, and where the next record begins."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from crawlmgr.web.warc.record import ENDS, MAX_HEADER_BYTES, Head, WarcRecord, head_of, with_message
from crawlmgr.web.warc.stream import PIECE_BYTES, Place, Source, Undecodable

_PADDING = b"\r\n\0"
_LONGEST_LINE = 5_000  # of a head, to tell that it is one


@dataclass(frozen=True, slots=True)
class Damage:
    """Where reading stopped, and why. The next record is searched for in the unpacked bytes after
    `place`, or if the member there cannot be unpacked, from byte `resume` of the file on. `torn` if
    the file ends too early. `near`: about where this is in the file, if inside a member."""

    place: Place
    reason: str
    resume: int | None = None
    torn: bool = False
    near: int = 0


class _Window:
    """The unpacked bytes from a place on, of which only those still needed are kept."""

    def __init__(self, source: Source, place: Place) -> None:
        self.source = source
        self.buffer = bytearray()
        self.at = 0  # position of the buffer's first byte, counted from the member at `place`
        self.members = [(0, place.frame)]  # where members begin: (position, place in the file)
        self.broken: Undecodable | None = None  # why there are no more bytes
        self.torn = False
        self.swallows = False  # the last fill was refused: see `fill`
        self._pieces = source.pieces(place.frame)
        self._advance()
        self.skip(place.inner, inside=False)

    def fill(self, *, inside: bool = False) -> bool:
        """Adds bytes to the buffer; returns False if there are none. With `inside` a member that
        begins with a record is refused: a record with a wrong length would swallow it."""
        if self._next is None:
            return False
        here, piece = self._next
        if here != self.members[-1][1]:
            self.swallows = inside and self.source.begins(piece)
            if self.swallows:
                return False
            self.members.append((self.at + len(self.buffer), here))
        self._advance()
        self.torn = self.torn or not piece
        self.buffer += piece
        return bool(piece)

    def _advance(self) -> None:
        try:
            self._next = next(self._pieces, None)
        except Undecodable as error:
            self._next, self.broken = None, error

    def need(self, size: int, *, inside: bool = False) -> bool:
        """Fills the buffer to at least `size` bytes; returns False if there are fewer."""
        while len(self.buffer) < size:
            if not self.fill(inside=inside):
                return False
        return True

    def take(self, size: int) -> bytes:
        """Removes the first `size` bytes from the buffer and returns them."""
        with memoryview(self.buffer) as view:
            data = bytes(view[:size])
        del self.buffer[:size]
        self.at += len(data)
        return data

    def skip(self, size: int, *, inside: bool = True) -> bool:
        """Skips `size` bytes without keeping them; returns False if there are fewer."""
        while size:
            if not self.buffer and not self.fill(inside=inside):
                return False
            size -= len(self.take(min(size, PIECE_BYTES)))
        return True

    def skip_padding(self) -> bool:
        """Skips line ends and zeros; returns False if nothing else is left."""
        while self.buffer or self.fill():
            bare = self.buffer.lstrip(_PADDING)
            self.take(len(self.buffer) - len(bare))
            if bare:
                return True
        return False

    def place(self) -> Place:
        """Returns the place of the buffer's first byte."""
        while len(self.members) > 1 and self.members[1][0] <= self.at:
            self.members.pop(0)
        position, frame = self.members[0]
        inner = self.at - position
        return Place(frame, inner) if self.source.magic else Place(frame + inner)

    def head(self) -> Head | str:
        """Returns the head with which the buffer begins, or what is wrong with it."""
        more = True
        while True:
            found = head_of(bytes(self.buffer[: 2 * MAX_HEADER_BYTES]), last=not more)
            if found is not None:
                return found
            more = self.fill()

    def begins(self) -> bool:
        """Tells whether a record seems to begin here."""
        self.need(_LONGEST_LINE)
        if self.buffer.startswith(b"WARC/") or self.source.begins(self.buffer):
            return True
        return len(self.buffer) < 5 and b"WARC/".startswith(self.buffer)


def careful(source: Source, place: Place, limit: int) -> Generator[WarcRecord, None, Damage | None]:
    """Yields the records from a place on, with at most `limit` bytes of each block, up to damage,
    which it returns; None at the end of the file."""
    window = _Window(source, place)
    while window.skip_padding():
        at = window.place()
        head = window.head()
        if isinstance(head, str):
            return _short(window, at) if head == ENDS else Damage(at, head)
        window.take(head.size)
        kept = min(head.length, limit)
        wrong = Damage(at, f"its Content-Length of {head.length} is wrong")
        whole = window.need(kept, inside=True)
        block = window.take(kept)
        if not whole or not window.skip(head.length - kept):
            return wrong if window.swallows else _short(window, at)
        ended = _line_ends(window)
        more = window.skip_padding()
        if not more and window.broken and window.broken.frame == at.frame and not at.inner:
            return _short(window, at)
        if more and not ended and not window.begins():
            return wrong
        fields = with_message(head, block)
        length, cut = _length(window, at), head.length - kept
        yield WarcRecord(head.version, fields, block, at.frame, length, cut)
    after = window.place()
    if window.broken:
        return _short(
            window, after if after.frame == window.broken.frame else Place(window.broken.frame)
        )
    if window.torn and not after.inner:
        return _short(window, after)
    if window.torn:
        said = "the file ends inside the checksum of its last record"
        return Damage(Place(source.size), said, torn=True)
    return None


def _line_ends(window: _Window) -> bool:
    """Skips the two line ends after a record; tells whether there was any."""
    window.need(4)
    before = window.at
    for _ in range(2):
        if window.buffer[:2] == b"\r\n":
            window.take(2)
        elif window.buffer[:1] == b"\n":
            window.take(1)
    return window.at > before


def _length(window: _Window, at: Place) -> int:
    """Returns the bytes of the record at `at`, which the window has passed; 0 if it does not fill
    whole members."""
    after = window.place()
    if at.inner:
        return 0
    if not after.inner and after.frame != at.frame:
        return after.frame - at.frame
    if window.buffer or window.members[-1][1] != at.frame:
        return 0
    end = window.broken.frame if window.broken else window.source.size
    return end - at.frame


def _short(window: _Window, at: Place) -> Damage:
    """Returns why the bytes end inside the record at `at`."""
    if window.broken:
        said = "its compressed data are damaged, or their checksum or length is wrong"
        near = window.broken.near if at.inner else 0
        return Damage(at, said, resume=window.broken.frame + 1, near=near)
    near = window.source.size if at.inner else 0
    return Damage(at, "the file ends inside this record", torn=True, near=near)


def next_record(source: Source, damage: Damage) -> Place | None:
    """Returns where the next record begins after damage; None if there is none."""
    if damage.resume is not None:
        return _place(source.next_frame(damage.resume))
    if source.magic and not damage.place.inner:
        # a page in the damaged member may quote what looks like a record: other members first
        found, only = _next_member(source, damage.place.frame)
        if found is not None or not only:
            return _place(found)
    window = _Window(source, damage.place)
    window.skip(1)
    while True:
        if (begin := source.find(window.buffer)) >= 0:
            window.take(begin)
            return window.place()
        window.take(max(0, len(window.buffer) - _LONGEST_LINE))
        if not window.fill():
            break
    return _place(source.next_frame(window.broken.frame + 1)) if window.broken else None


def _next_member(source: Source, frame: int) -> tuple[int | None, bool]:
    """Returns the first member after the one at byte `frame` that begins with a record, and whether
    that one is the file's only member."""
    last = frame
    try:
        for here, piece in source.pieces(frame):
            if here != last and source.begins(piece):
                return here, False
            last = here
    except Undecodable as error:
        return source.next_frame(error.frame + 1), False
    return None, last == frame == source.start


def _place(frame: int | None) -> Place | None:
    return None if frame is None else Place(frame)
