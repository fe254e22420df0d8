"""A local forum that responds like Discourse: pages for browsers without scripts, and the same
content as JSON; content as in `forum.py`."""

from __future__ import annotations

import json
from html import escape
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.site.forum import ForumThread, LocalForum

Answer = tuple[int, dict[str, str], bytes]
POSTS_A_PAGE = 20


class Discourse:
    """Makes a LocalForum respond like Discourse, as its `on_request`. If `api` is False, JSON
    requests get 403."""

    def __init__(self, forum: LocalForum) -> None:
        self.forum = forum
        self.api = True
        forum.on_request = self.answer

    def answer(self, path: str) -> Answer | None:
        parts = urlsplit(path)
        number = int(parse_qs(parts.query).get("page", ["0"])[0])
        words = parts.path.strip("/").removesuffix(".json").split("/")
        wants_json = parts.path.endswith(".json")
        if parts.path == "/robots.txt":
            return None
        if wants_json and not self.api:
            return (
                403,
                {"content-type": "application/json"},
                b'{"errors":["no"],"error_type":"invalid_access"}',
            )
        if wants_json and words[0] == "latest":
            return self._json(
                self._topics(
                    sorted(self.forum.all.values(), key=lambda t: t.last, reverse=True)[:20], None
                )
            )
        if wants_json and words[0] == "categories":
            return self._json(
                {
                    "category_list": {
                        "categories": [self._category(board) for board in self.forum.names]
                    }
                }
            )
        if words[0] == "c":
            return self._list(int(words[-1]), number, wants_json)
        if words[0] == "t":
            return self._topic(self.forum.all[int(words[-1])], max(1, number), wants_json)
        return self._index() if parts.path == "/" else None

    def _html(self, title: str, body: str) -> Answer:
        head = (
            f'<head><meta name="generator" content="Discourse 3.4.0"><title>{escape(title)} - Local'
            " forum</title></head>"
        )
        return (
            200,
            {"content-type": "text/html; charset=utf-8"},
            f"<!doctype html><html lang=en>{head}<body>{body}</body></html>".encode(),
        )

    def _json(self, value: Any) -> Answer:
        return 200, {"content-type": "application/json; charset=utf-8"}, json.dumps(value).encode()

    def _index(self) -> Answer:
        rows = "".join(
            '<tr class="category-list-item"><td><h3><a'
            f' href="/c/{name.split()[0].lower()}/{key}">{escape(name)}</a></h3><div'
            f" class=category-description>All about {name.split()[0].lower()} and what belongs to"
            " it.</div></td><td"
            f" class=topics>{sum(t.board == key for t in self.forum.all.values())}</td><td"
            f" class=posts>{self._newest(key)}</td></tr>"
            for key, name in self.forum.names.items()
        )
        return self._html(
            "Local forum",
            "<table"
            f' class="category-list"><thead><tr><th>Category</th><th>Topics</th><th>Latest</th>'
            f"</tr></thead>{rows}</table>",
        )

    def _newest(self, board: int) -> str:
        last = max((t for t in self.forum.all.values() if t.board == board), key=lambda t: t.last)
        return (
            f'<a href="/t/topic-{last.number}/{last.number}">{escape(last.title)}</a>'
            f" {self.forum._time(last.last)}"
        )

    def _list(self, board: int, page: int, wants_json: bool) -> Answer:
        mine = sorted(
            (t for t in self.forum.all.values() if t.board == board),
            key=lambda t: (t.pinned, t.last),
            reverse=True,
        )
        size = self.forum.threads_a_page
        shown, more = mine[page * size : (page + 1) * size], len(mine) > (page + 1) * size
        name = self.forum.names[board].split()[0].lower()
        if wants_json:
            return self._json(
                self._topics(shown, f"/c/{name}/{board}?page={page + 1}" if more else None)
            )
        rows = "".join(
            '<tr class="topic-list-item"><td class="main-link"><a class="title"'
            f' href="/t/topic-{t.number}/{t.number}">{escape(t.title)}</a></td><td class=posters><a'
            f' href="/u/{t.posts[0].author}">{t.posts[0].author}</a></td><td class=replies><span'
            f" class=posts>{len(t.posts) - 1}</span></td><td>{self.forum._time(t.last)}</td></tr>"
            for t in shown
        )
        onward = (
            f'<div role=navigation><a rel=next href="/c/{name}/{board}?page={page + 1}">next'
            " page</a></div>"
            if more
            else ""
        )
        head = "<thead><tr><th>Topic</th><th></th><th>Replies</th><th>Activity</th></tr></thead>"
        return self._html(
            self.forum.names[board], f'<table class="topic-list">{head}{rows}</table>{onward}'
        )

    def _topics(self, shown: list[ForumThread], more: str | None) -> dict[str, Any]:
        people = sorted({post.author for thread in shown for post in thread.posts})
        topics = [
            {
                "id": t.number,
                "title": t.title,
                "slug": f"topic-{t.number}",
                "posts_count": len(t.posts),
                "views": 5,
                "pinned": t.pinned,
                "closed": False,
                "created_at": t.posts[0].posted.isoformat(),
                "last_posted_at": t.last.isoformat(),
                "highest_post_number": len(t.posts),
                "category_id": t.board,
                "last_poster_username": t.posts[-1].author,
                "posters": [{"user_id": people.index(t.posts[0].author)}],
            }
            for t in shown
        ]
        listed = {"topics": topics, "more_topics_url": more}
        return {
            "users": [{"id": n, "username": who} for n, who in enumerate(people)],
            "topic_list": listed,
        }

    def _category(self, board: int) -> dict[str, Any]:
        mine = [t for t in self.forum.all.values() if t.board == board]
        newest = [{"last_posted_at": max(t.last for t in mine).isoformat()}]
        counts = {
            "topic_count": len(mine),
            "post_count": sum(len(t.posts) for t in mine),
            "topics": newest,
        }
        name = self.forum.names[board]
        return {"id": board, "slug": name.split()[0].lower(), "name": name, **counts}

    def _topic(self, thread: ForumThread, page: int, wants_json: bool) -> Answer:
        shown = thread.posts[(page - 1) * POSTS_A_PAGE : page * POSTS_A_PAGE]
        first = (page - 1) * POSTS_A_PAGE + 1
        if wants_json:
            posts = [
                {
                    "id": p.number,
                    "username": p.author,
                    "created_at": p.posted.isoformat(),
                    "cooked": f"<p>{escape(p.text)}</p>",
                    "post_number": first + n,
                    "post_type": 1,
                }
                for n, p in enumerate(shown)
            ]
            stream = {"posts": posts, "stream": [p.number for p in thread.posts]}
            return self._json(
                {
                    "id": thread.number,
                    "slug": f"topic-{thread.number}",
                    "title": thread.title,
                    "category_id": thread.board,
                    "post_stream": stream,
                }
            )
        posts_html = "".join(
            f'<div id="post_{first + n}" class="topic-body crawler-post" itemprop=comment><div'
            ' class="crawler-post-meta"><span class=creator itemprop=author><a'
            f' href="/u/{p.author}"><span itemprop=name>{p.author}</span></a></span>'
            f" {self.forum._time(p.posted)} <span itemprop=position>{first + n}</span></div><div"
            f" class=post itemprop=text><p>{escape(p.text)}</p></div></div>"
            for n, p in enumerate(shown)
        )
        more = len(thread.posts) > page * POSTS_A_PAGE
        onward = (
            "<div role=navigation><a rel=next"
            f' href="/t/topic-{thread.number}/{thread.number}?page={page + 1}">next page</a></div>'
            if more
            else ""
        )
        crumbs = (
            "<div id=breadcrumbs><a"
            f' href="/c/{self.forum.names[thread.board].split()[0].lower()}/{thread.board}">'
            f"{escape(self.forum.names[thread.board])}</a></div>"
        )
        return self._html(
            thread.title, f"<h1>{escape(thread.title)}</h1>{crumbs}{posts_html}{onward}"
        )
