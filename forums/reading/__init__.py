"""Reading any forum's pages by their content: `read_page` finds the kind, the records and the pager of a page.

document (tree, links), pagetimes > rows > heads, lists, posts > kinds (choice of the reading) > threadrows, boardrows, postrows.

A page is a tree of elements; a node is an element by its number in document order, a piece a single text by its number in page
order. A column is a key for a position inside a record: elements of two records with one column correspond to each other. The
words beside a value, its class names and the header above it suggest its role, that is the field it belongs to (replies, views,
last …).
"""

from forums.reading.addresses import board_key, first_page, thread_key
from forums.reading.jsonform import to_json
from forums.reading.model import BoardRecord, PageKind, PageReading, PostRecord, ThreadRecord
from forums.reading.page import read_page, read_regions

__all__ = [
    "BoardRecord",
    "PageKind",
    "PageReading",
    "PostRecord",
    "ThreadRecord",
    "board_key",
    "first_page",
    "read_page",
    "read_regions",
    "thread_key",
    "to_json",
]
