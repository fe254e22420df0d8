"""A local forum with a feed linked on its front page and a sitemap named in its robots.txt; content
as in `forum.py`."""

from __future__ import annotations

from datetime import datetime
from html import escape

from tests.site.forum import ForumThread, LocalForum

Answer = tuple[int, dict[str, str], bytes]


class Feeds:
    """Adds an Atom feed and a sitemap to a LocalForum. `entries`: number of threads in the feed.
    `of_topics`: entries have the time of the first post, not the last. `categories`: entries name
    their boards. `sitemap`: robots.txt names a sitemap index.
    """

    def __init__(
        self,
        forum: LocalForum,
        url: str,
        *,
        entries: int = 12,
        of_topics: bool = False,
        categories: bool = True,
    ) -> None:
        self.forum, self.url, self.entries = forum, url.rstrip("/"), entries
        self.of_topics, self.categories = of_topics, categories
        self.sitemap = False
        self.closed = False
        forum.on_request = self.answer

    def answer(self, path: str) -> Answer | None:
        if path == "/robots.txt":
            rules = "Disallow: /feed\n" if self.closed else "Disallow: /private/\n"
            named = f"Sitemap: {self.url}/sitemap.xml\n" if self.sitemap else ""
            return 200, {"content-type": "text/plain"}, f"User-agent: *\n{rules}{named}".encode()
        if path == "/":
            status, headers, body = self.forum._page(path)
            link = (
                b'<link rel="alternate" type="application/atom+xml" title="News"'
                b' href="/feed"></head>'
            )
            return status, headers, body.replace(b"</head>", b"" if self.sitemap else link)
        pages = {
            "/feed": self._feed,
            "/sitemap.xml": self._sitemaps,
            "/sitemap-topics.xml": self._sitemap,
        }
        return (
            (200, {"content-type": "application/xml"}, pages[path]().encode())
            if path in pages
            else None
        )

    def _when(self, thread: ForumThread) -> datetime:
        return thread.posts[0].posted if self.of_topics else thread.last

    def _newest(self) -> list[ForumThread]:
        with self.forum.lock:
            return sorted(self.forum.all.values(), key=self._when, reverse=True)[: self.entries]

    def _feed(self) -> str:
        parts = []
        for thread in self._newest():
            name = escape(self.forum.names[thread.board])
            board = (
                f'<category term="{name}" scheme="{self.url}/board/{thread.board}" label="{name}"/>'
                if self.categories
                else ""
            )
            when = (
                f"<published>{thread.posts[0].posted.isoformat()}</published><updated>"
                f"{self._when(thread).isoformat()}</updated>"
            )
            parts.append(
                f"<entry><title>{escape(thread.title)}</title><link"
                f" href='{self.url}/topic/{thread.number}'/>{when}{board}"
                f"<author><name>{thread.posts[-1].author}</name></author></entry>"
            )
        return (
            '<?xml version="1.0"?><feed'
            f' xmlns="http://www.w3.org/2005/Atom"><title>News</title>{"".join(parts)}</feed>'
        )

    def _sitemaps(self) -> str:
        listed = (
            f"<sitemap><loc>{self.url}/sitemap-topics.xml</loc><lastmod>"
            f"{self.forum.now.isoformat()}</lastmod></sitemap>"
        )
        return (
            "<sitemapindex"
            f' xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</sitemapindex>'
        )

    def _sitemap(self) -> str:
        rows = [
            f"<url><loc>{self.url}/topic/{t.number}</loc><lastmod>{t.last.isoformat()}</lastmod>"
            f"</url>"
            for t in self._newest()
        ]
        return (
            f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{"".join(rows)}</urlset>'
        )
