"""Converts documents (PDF, DOCX, ODT, EPUB) to HTML, so that they are read like other pages.

Their files come from strangers, so that the libraries work in a child process
(`python -m crawlmgr.web.pages.documents`) whose CPU time and memory the kernel limits. It gets the
file on standard input and answers with a line of JSON: {"html", "cut"} or {"problem"}.
"""

from __future__ import annotations

import io
import json
import posixpath
import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from lxml import etree

from crawlmgr import installation

EXTRA = "documents"
KINDS = {
    "application/pdf": "pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/epub+zip": "epub",
}
UNREADABLE = "document_unreadable"
TOO_COSTLY = "document_too_costly"
CPU_SECONDS = 20
WAIT_SECONDS = 180.0  # by the clock, on a busy machine: the CPU time is used up long before
MEMORY_BYTES = 1 << 30  # address space of the child
MAX_PAGES = 300  # of a PDF
MAX_UNPACKED = 100_000_000  # bytes of all files in a zip archive, by its directory
MAX_CHARS = 2_000_000  # of the HTML
_ROOT = Path(__file__).resolve().parents[3]


class Converted(NamedTuple):
    """A document as HTML; `is_cut` if only its beginning was converted. `problem` is the code of
    the reason why it could not be converted, "" if it was."""

    html: str = ""
    is_cut: bool = False
    problem: str = ""


@cache  # asked for each request
def types() -> tuple[str, ...]:
    """Returns the media types of the documents that can be converted; () if the libraries of the
    extra are not installed."""
    return () if installation.missing(EXTRA) else tuple(KINDS)


def converted(body: bytes, media_type: str) -> Converted:
    """Converts a document to HTML in a child process.

    Parameters
    ----------
    body : bytes
        The file.
    media_type : str
        One of `types()`, in lower case and without parameters.

    Returns
    -------
    Converted
        With the problem UNREADABLE for a file that the library cannot read, TOO_COSTLY for one that
        takes more than CPU_SECONDS or MEMORY_BYTES.
    """
    command = [sys.executable, "-m", "crawlmgr.web.pages.documents", KINDS[media_type]]
    try:
        # in a session of its own, so that signals for this process's group do not reach it
        done = subprocess.run(  # noqa: S603 - a fixed command
            command,
            cwd=_ROOT,
            input=body,
            capture_output=True,
            timeout=WAIT_SECONDS,
            start_new_session=True,
            check=False,
        )
        answer = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):  # killed by a limit: it said nothing
        return Converted(problem=TOO_COSTLY)
    return Converted(answer.get("html", ""), answer.get("cut", False), answer.get("problem", ""))


def _pdf(body: bytes) -> Iterator[str]:
    from pypdf import PdfReader  # of an extra, and needed in the child process only

    reader = PdfReader(io.BytesIO(body))
    if reader.is_encrypted:
        reader.decrypt("")  # documents that only forbid printing have an empty password
    title = reader.metadata.title if reader.metadata else ""
    yield f"<title>{escape(title or '')}</title>"
    for number, page in enumerate(reader.pages):
        if number >= MAX_PAGES:
            raise _Cut
        yield f"<pre>{escape(page.extract_text())}</pre>"
        for note in page.get("/Annots") or ():
            action = note.get_object().get("/A") or {}
            if target := action.get("/URI"):
                yield f'<a href="{escape(str(target))}"></a>'


def _docx(body: bytes) -> Iterator[str]:
    import mammoth  # of an extra, and needed in the child process only

    names = _unpacked(body)
    if "docProps/core.xml" in names.namelist():
        title = _tree(names.read("docProps/core.xml")).findtext("{*}title")
        yield f"<title>{escape(title or '')}</title>"
    # pictures would come as data: addresses
    picture = mammoth.images.img_element(lambda _image: {"src": ""})
    yield mammoth.convert_to_html(io.BytesIO(body), convert_image=picture).value


def _odt(body: bytes) -> Iterator[str]:
    """Yields the paragraphs and headings of an ODT file, with their links."""
    names = _unpacked(body)
    if "meta.xml" in names.namelist():
        title = next((one.text for one in _tree(names.read("meta.xml")).iter("{*}title")), "")
        yield f"<title>{escape(title or '')}</title>"
    href = "{http://www.w3.org/1999/xlink}href"
    for block in _tree(names.read("content.xml")).iter("{*}p", "{*}h"):
        yield f"<p>{escape(' '.join(block.itertext()))}</p>"
        for link in block.iter("{*}a"):
            yield f'<a href="{escape(link.get(href, ""))}">{escape("".join(link.itertext()))}</a>'


def _epub(body: bytes) -> Iterator[str]:
    """Yields the title and the chapters of an EPUB file in the order of its spine; the chapters are
    XHTML."""
    names = _unpacked(body)
    container = _tree(names.read("META-INF/container.xml"))
    place = next(container.iter("{*}rootfile")).get("full-path", "")
    book = _tree(names.read(place))
    yield f"<title>{escape(next((one.text or '' for one in book.iter('{*}title')), ''))}</title>"
    files = {item.get("id"): item.get("href", "") for item in book.iter("{*}item")}
    for chapter in book.iter("{*}itemref"):
        href = unquote(files[chapter.get("idref")])
        page = _tree(names.read(posixpath.join(posixpath.dirname(place), href)))
        for content in page.iter("{*}body"):
            yield etree.tostring(content, encoding="unicode", method="html")


def _unpacked(body: bytes) -> zipfile.ZipFile:
    found = zipfile.ZipFile(io.BytesIO(body))
    if sum(one.file_size for one in found.infolist()) > MAX_UNPACKED:
        raise MemoryError
    return found


def _tree(xml: bytes) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True, huge_tree=False)
    return etree.fromstring(xml, parser)


class _Cut(Exception):
    """The rest of the document is left out."""


_CONVERTERS: dict[str, Callable[[bytes], Iterator[str]]] = {
    "pdf": _pdf,
    "docx": _docx,
    "odt": _odt,
    "epub": _epub,
}


def _answer(kind: str, body: bytes) -> dict[str, Any]:
    parts, chars, is_cut = [], 0, False
    try:
        for part in _CONVERTERS[kind](body):
            parts.append(part[: MAX_CHARS - chars])
            chars += len(part)
            if chars > MAX_CHARS:
                raise _Cut
    except _Cut:
        is_cut = True
    except MemoryError:
        return {"problem": TOO_COSTLY}
    except Exception:  # noqa: BLE001 - whatever a library raises for a damaged file
        if not any(part and not part.startswith("<title>") for part in parts):
            return {"problem": UNREADABLE}
        is_cut = True
    return {"html": "\n".join(parts), "cut": is_cut}


def main() -> None:
    """Reads a document of the kind in the first argument from standard input, and prints the
    answer."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    json.dump(_answer(sys.argv[1], sys.stdin.buffer.read()), sys.stdout)


if __name__ == "__main__":
    main()
