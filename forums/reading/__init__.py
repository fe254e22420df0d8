"""Reads the pages of any forum by their content: `read_page` returns the kind of a page, its
records and its next pages.

Order of the modules: `document` (element tree and links) and `page_times`; `lists/rows`,
`lists/header_cells`, `lists/row_sets` and `posts/post_sets` (candidate records); `best_candidates`
(choice between the candidates) and `kind_scores` (kind of the page); `lists/thread_records`,
`lists/board_records` and `posts/post_records` (fields of the chosen records). `learned` reads the
page a second time by trained models; `apis` reads JSON and feeds; `corrections` are an operator's.

Terms: a page is a tree of elements. A node is an element by its number in document order. A piece
is a single text by its number in page order. A column is a key for a position inside a record:
elements of two records that have the same column correspond to each other. The role of a value is
the field that it belongs to (replies, views, last reply …), as suggested by the words beside the
value, its class names and the header above it.
"""

from forums.reading.addresses import board_key, first_page, names_post, post_key, thread_key
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
    "names_post",
    "post_key",
    "read_page",
    "read_regions",
    "thread_key",
    "to_json",
]
