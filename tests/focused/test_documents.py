"""Documents, feeds and linked sitemaps are read as pages; files that cannot be read cost no page,
but are bounded in number."""

from __future__ import annotations

import io
import zipfile

import pytest

from crawlmgr import installation
from crawlmgr.web.pages import documents
from crawlmgr.web.traps import file_shape
from focused.crawler import MOST_REQUESTS
from focused.models import TopicPage, TopicRun
from focused.run import sessions
from focused.run.stored_pages import UNREAD_ANSWERS
from tests.focused.small_runs import crawled
from tests.site.server import LocalSite, Reply

db = pytest.mark.django_db(transaction=True)
TEXT = "The lantern of the harbour 港口的灯"
NEXT = "http://docs.example/next.html"
DOCX, ODT = (
    next(one for one, kind in documents.KINDS.items() if kind == k) for k in ("docx", "odt")
)
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OFFICE = "urn:oasis:names:tc:opendocument:xmlns"


def zipped(**files: str) -> bytes:
    """A zip file; "__" in a name stands for "/", "_" for "."."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in files.items():
            made.writestr(name.replace("__", "/").replace("_", "."), text)
    return out.getvalue()


def pdf(*texts: str) -> bytes:
    """A PDF with a page for each text; the first links to NEXT."""
    pages = " ".join(f"{3 + 2 * n} 0 R" for n in range(len(texts)))
    note = f"/Annots [<</Type /Annot /Subtype /Link /Rect [0 0 9 9] /A <</S /URI /URI ({NEXT})>>>>]"
    made = [
        "<</Type /Catalog /Pages 2 0 R>>",
        f"<</Type /Pages /Kids [{pages}] /Count {len(texts)}>>",
    ]
    for n, text in enumerate(texts):
        shown = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET"
        made += [
            f"<</Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {4 + 2 * n} 0 R {note}"
            " /Resources <</Font <</F1 <</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>>>>>>>",
            f"<</Length {len(shown)}>> stream\n{shown}\nendstream",
        ]
        note = ""
    body, places = "%PDF-1.4\n", []
    for n, one in enumerate(made, 1):
        places.append(len(body))
        body += f"{n} 0 obj {one} endobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(made) + 1
    end = f"trailer <</Size {size} /Root 1 0 R>>\nstartxref\n{len(body)}\n%%EOF"
    return f"{body}xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode("latin-1")


def docx(text: str) -> bytes:
    link = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="r1" Type="x/hyperlink" Target="{NEXT}" TargetMode="External"/>'
        "</Relationships>"
    )
    run = f"<w:r><w:t>{text}</w:t></w:r>"
    hyper = '<w:hyperlink r:id="r1"><w:r><w:t>further</w:t></w:r></w:hyperlink>'
    space = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    document = (
        f'<w:document xmlns:w="{WORD}" xmlns:r="{space}"><w:body><w:p>{run}{hyper}</w:p></w:body>'
        "</w:document>"
    )
    core = (
        '<c:coreProperties xmlns:c="x" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        "<dc:title>Lamps</dc:title></c:coreProperties>"
    )
    rels = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="r1" Type="{space}/officeDocument" Target="word/document.xml"/>'
        "</Relationships>"
    )
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/></Types>'
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        made.writestr("[Content_Types].xml", types)
        made.writestr("_rels/.rels", rels)
        made.writestr("word/document.xml", document)
        made.writestr("word/_rels/document.xml.rels", link)
        made.writestr("docProps/core.xml", core)
    return out.getvalue()


def odt(text: str) -> bytes:
    content = (
        f'<o:document-content xmlns:o="{OFFICE}:office:1.0" xmlns:t="{OFFICE}:text:1.0"'
        f' xmlns:xlink="http://www.w3.org/1999/xlink"><o:body><o:text><t:p>{text}'
        f' <t:a xlink:href="{NEXT}">further</t:a></t:p></o:text></o:body></o:document-content>'
    )
    meta = '<m xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Lamps</dc:title></m>'
    return zipped(content_xml=content, meta_xml=meta)


def epub(text: str) -> bytes:
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        '<metadata><dc:title>Lamps</dc:title></metadata><manifest><item id="a" href="a.xhtml"/>'
        '<item id="b" href="b.xhtml"/></manifest><spine><itemref idref="b"/>'
        '<itemref idref="a"/></spine></package>'
    )
    page = '<html xmlns="http://www.w3.org/1999/xhtml"><body>{}</body></html>'
    return zipped(
        **{
            "META-INF__container_xml": (
                '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
                '<rootfile full-path="OPS/book.opf"/></rootfiles></container>'
            ),
            "OPS__book_opf": opf,
            "OPS__a_xhtml": page.format(f'<p>last <a href="{NEXT}">further</a></p>'),
            "OPS__b_xhtml": page.format(f"<p>{text}</p>"),
        }
    )


FILES = {
    "application/pdf": pdf("The lantern of the harbour", "second"),
    DOCX: docx(TEXT),
    ODT: odt(TEXT),
    "application/epub+zip": epub(TEXT),
}


@pytest.mark.parametrize("media_type", FILES)
def test_a_document_becomes_a_page_with_its_text_and_links(media_type: str) -> None:
    made = documents.converted(FILES[media_type], media_type)
    assert (made.problem, made.is_cut) == ("", False)
    assert "The lantern of the harbour" in made.html and NEXT in made.html
    assert media_type == "application/pdf" or "港口的灯" in made.html and "Lamps" in made.html
    if media_type.endswith("epub+zip"):
        assert made.html.index("lantern") < made.html.index("last"), "in the order of the spine"


@pytest.mark.parametrize("media_type", FILES)
def test_a_damaged_document_is_one_code(media_type: str) -> None:
    whole = FILES[media_type]
    for body in (b"", b"no document", whole[: len(whole) // 3]):
        made = documents.converted(body, media_type)
        assert made.problem == documents.UNREADABLE and not made.html


def test_what_a_document_may_cost_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("content.xml", b" " * (documents.MAX_UNPACKED + 1))
    assert documents.converted(bomb.getvalue(), ODT).problem == documents.TOO_COSTLY
    monkeypatch.setattr(documents, "WAIT_SECONDS", 0.01)
    assert documents.converted(FILES[ODT], ODT).problem == documents.TOO_COSTLY


def test_a_long_document_is_read_in_part_and_says_so() -> None:
    made = documents.converted(pdf(*["page"] * (documents.MAX_PAGES + 1)), "application/pdf")
    assert made.is_cut and made.html.count("<pre>") == documents.MAX_PAGES
    long = documents.converted(odt("word " * documents.MAX_CHARS), ODT)
    assert long.is_cut and len(long.html) <= documents.MAX_CHARS + 100


def linked(*links: str) -> str:
    return f"<title>Lamps</title>lantern{''.join(f'<a href={one}>x</a>' for one in links)}"


@db
def test_documents_feeds_and_sitemaps_are_pages_of_a_run() -> None:
    feed = (
        "<rss version='2.0'><channel><title>News</title><item><title>A lantern</title>"
        "<link>/of-feed.html</link></item></channel></rss>"
    )
    with LocalSite() as site:
        named = {f"/{documents.KINDS[kind]}": kind for kind in FILES}
        site.add("/", linked(*named, "/feed.xml", "/map.xml", "/other.xml", "/broken.pdf"))
        for path, kind in named.items():
            site.add(path, Reply(FILES[kind], content_type=kind))
        site.add("/broken.pdf", Reply(b"%PDF-", content_type="application/pdf"))
        site.add("/feed.xml", Reply(feed.encode(), content_type="application/rss+xml"))
        listed = f"<urlset><url><loc>{site.url('/of-map.html')}</loc></url></urlset>"
        site.add("/map.xml", Reply(listed.encode(), content_type="text/xml"))
        site.add("/other.xml", Reply(b"<menu><dish/></menu>", content_type="text/xml"))
        for path in ("/of-feed.html", "/of-map.html"):
            site.add(path, linked())
        run = crawled(site, pages=100)
        pages = TopicPage.objects.filter(run=run, kind=TopicPage.Kind.PAGE)
        paths = {page.url.removeprefix(site.url("")) for page in pages}
        failed = {
            page.url.removeprefix(site.url("")): page.detail
            for page in TopicPage.objects.filter(run=run, kind=TopicPage.Kind.FAILED)
        }
        found = pages.get(url=site.url("/of-feed.html"))
    assert paths >= {"/", *named, "/feed.xml", "/map.xml", "/of-feed.html", "/of-map.html"}
    assert failed["/other.xml"] == "type" and failed["/broken.pdf"] == documents.UNREADABLE
    assert found.parent is not None and found.parent.url.endswith("/feed.xml")


@db
@pytest.mark.parametrize("graph", ["memory", "database"])
def test_files_that_cannot_be_read_cost_no_page_and_their_shape_is_given_up(graph: str) -> None:
    with LocalSite() as site:
        site.add("/", linked(*(f"/disk-{n}.iso" for n in range(9)), "/last.html"))
        site.add("/disk-*", Reply(b"\0\1", content_type="application/x-iso9660-image"))
        site.add("/last.html", linked())
        run = crawled(site, pages=2 + UNREAD_ANSWERS, graph=graph)
        asked = [path for path in site.paths() if path.startswith("/disk")]
        row = TopicRun.objects.get(pk=run.pk)
        # those on the way when the third answer arrived are not called back
        assert UNREAD_ANSWERS <= len(asked) < 9 and "/last.html" in site.paths()
        assert run.stopped_by == "frontier" and row.asked == row.pages == 2
        assert row.refused == {"unread_type": 9 - len(asked)}, "what is left out is counted"
        again = sessions._rebuilt(run, row, sessions.no_pulse)
        assert again.parameters.scope.refusal(site.url("/disk-99.iso"), 1) == "unread_type"
        assert again.progress.requests == 2 + len(asked) and again.progress.asked == 2


@db
def test_a_run_ends_after_three_requests_for_each_page() -> None:
    with LocalSite() as site:
        site.add("/", linked(*(f"/{chr(97 + n)}/x" for n in range(20))))
        for n in range(20):
            site.add(f"/{chr(97 + n)}/x", Reply(b"\0", content_type="image/png"))
        run = crawled(site, pages=4, ahead=1)
        asked = [path for path in site.paths() if path != "/robots.txt"]
    assert run.stopped_by == "requests" and len(asked) == 4 * MOST_REQUESTS


def test_pages_by_script_are_not_given_up_by_their_ending() -> None:
    assert file_shape("http://a.example/get.php?id=7") != file_shape(
        "http://a.example/show.php?id=7"
    )
    assert file_shape("http://a.example/about.html") == ""
    assert file_shape("http://a.example/x/one.zip") == file_shape("http://a.example/two.ZIP")


def test_without_the_libraries_documents_are_an_unread_type(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(installation, "missing", lambda extra: extra == documents.EXTRA)
    documents.types.cache_clear()
    assert documents.types() == ()
    documents.types.cache_clear()
