"""Further templates of the local forum: the same boards, threads and addresses with other markup
and class names.

`cards` shows lists as cards and posts with ids of another form; `plain` shows posts without any id;
`broken` shows threads only by script, so that nothing can be read.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.site.forum import ForumPost, ForumThread, LocalForum


def frame(title: str, body: str) -> str:
    menu = (
        '<ul class="topbar"><li><a href="/">Start</a></li><li><a'
        ' href="/members">People</a></li><li><a href="/login">Sign in</a></li></ul>'
    )
    return (
        f"<!doctype html><html lang=en><head><title>{escape(title)} | Local"
        f" forum</title></head><body class=fresh-look><header class=masthead>{menu}</header>"
        f'<main class="page-shell"><div class="column-wide">{body}</div></main><footer'
        " class=page-foot><span class=foot-note>The local forum</span></footer></body></html>"
    )


def when(forum: LocalForum, thread: ForumThread) -> str:
    return (
        '<time class="moment"'
        f' datetime="{thread.last.isoformat()}">{thread.last:%d %B %Y %H:%M}</time>'
    )


def index(forum: LocalForum) -> str:
    tiles = []
    for board, name in forum.names.items():
        mine = [t for t in forum.all.values() if t.board == board]
        last = max(mine, key=lambda t: t.last)
        tiles.append(
            '<div class="tile"><h3 class="tile-name"><a'
            f' href="/board/{board}">{escape(name)}</a></h3><p class="tile-about">All about'
            f' {name.split()[0].lower()}.</p><div class="figures"><span>{len(mine)} topics</span>'
            f" <span>{sum(len(t.posts) for t in mine)} posts</span></div><div"
            f' class="latest">Latest: <a href="/topic/{last.number}">{escape(last.title)}</a> by'
            f" <span class=who>{last.posts[-1].author}</span> {when(forum, last)}</div></div>"
        )
    return frame(
        "Start",
        f'<h2 class="shell-title">Local forum</h2><div class="tiles">{"".join(tiles)}</div>',
    )


def pager(base: str, number: int, pages: int) -> str:
    if pages < 2:
        return ""
    links = "".join(
        (
            f'<li class="step now"><span>{n}</span></li>'
            if n == number
            else f'<li class="step"><a href="{base}?page={n}">{n}</a></li>'
        )
        for n in range(1, pages + 1)
    )
    onward = (
        f'<li class="step onward"><a rel="next" href="{base}?page={number + 1}">Older</a></li>'
        if number < pages
        else ""
    )
    return f'<nav class="stepper"><ol>{links}{onward}</ol></nav>'


def board(forum: LocalForum, number: int, shown: list[ForumThread], page: int, pages: int) -> str:
    name = forum.names[number]
    crumbs = (
        '<ol class="breadcrumb"><li><a href="/">Local'
        f' forum</a></li><li>{escape(name)}</li></ol><h2 class="shell-title">{escape(name)}</h2>'
    )
    if forum.skin == "broken":
        return frame(
            name,
            f'{crumbs}<div class="app-root" data-board="{number}"></div><script>start()</script>',
        )
    rows = []
    for thread in shown:
        pin = '<span class="pin-mark" title="Pinned">Pinned</span> ' if thread.pinned else ""
        rows.append(
            f'<li class="entry"><div class="entry-main">{pin}<a class="entry-title"'
            f' href="/topic/{thread.number}">{escape(thread.title)}</a><div'
            ' class="entry-by">started by <a class="who"'
            f' href="/user/{thread.posts[0].author}">{thread.posts[0].author}</a></div></div><div'
            f' class="entry-figures"><span class="answers">{len(thread.posts) - 1} replies</span>'
            f' <span class="seen">{thread.number * 37 % 900 + 12} views</span></div><div'
            ' class="entry-last"><a class="who"'
            f' href="/user/{thread.posts[-1].author}">{thread.posts[-1].author}</a>'
            f" {when(forum, thread)}</div></li>"
        )
    return frame(
        name,
        f'{crumbs}<ul class="entries">{"".join(rows)}</ul>{pager(f"/board/{number}", page, pages)}',
    )


def topic(
    forum: LocalForum, thread: ForumThread, shown: list[ForumPost], page: int, pages: int
) -> str:
    name = forum.names[thread.board]
    crumbs = (
        '<ol class="breadcrumb"><li><a href="/">Local forum</a></li><li><a'
        f' href="/board/{thread.board}">{escape(name)}</a></li></ol>'
    )
    if forum.skin == "broken":
        return frame(
            thread.title,
            f'{crumbs}<div class="app-root"'
            f' data-topic="{thread.number}"></div><script>start()</script>',
        )
    notes = []
    for post in shown:
        own = f' id="message-{post.number}"' if forum.skin == "cards" else ""
        notes.append(
            f'<div class="note-card"{own}><div class="note-side"><a class="who"'
            f' href="/user/{post.author}">{post.author}</a></div><div class="note-body"><div'
            ' class="note-when"><time class="moment"'
            f' datetime="{post.posted.isoformat()}">{post.posted:%d %B %Y %H:%M}</time></div><div'
            f' class="note-text">{escape(post.text)}</div></div></div>'
        )
    return frame(
        thread.title,
        f'{crumbs}<h2 class="shell-title">{escape(thread.title)}</h2><div'
        f' class="notes">{"".join(notes)}</div>{pager(f"/topic/{thread.number}", page, pages)}',
    )
