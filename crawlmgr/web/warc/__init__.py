"""Archive files: those of our own are written and read at random; WARC, ARC and WACZ of other
programs are read from beginning to end."""

from crawlmgr.web.warc.reader import (
    PAGE_BYTES,
    TORN,
    FileReport,
    Reading,
    Skipped,
    check_file,
    iter_records,
    read_record,
    record_of,
)
from crawlmgr.web.warc.record import WarcError, WarcRecord
from crawlmgr.web.warc.writer import RecordPointer, WarcWriter, append_records, payload_digest

__all__ = [
    "PAGE_BYTES",
    "TORN",
    "FileReport",
    "Reading",
    "RecordPointer",
    "Skipped",
    "WarcError",
    "WarcRecord",
    "WarcWriter",
    "append_records",
    "check_file",
    "iter_records",
    "payload_digest",
    "read_record",
    "record_of",
]
