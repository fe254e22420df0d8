"""Texts for the codes in a site's model: kinds of pages, names of fields, changes between versions,
and reasons why pages no longer fit the model."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

KINDS = {
    "index": gettext_noop("board index"),
    "list": gettext_noop("list of threads"),
    "threadlist": gettext_noop("list of threads"),
    "thread": gettext_noop("thread"),
    "alias": gettext_noop("other addresses of a thread"),
    "profile": gettext_noop("profile"),
    "other": gettext_noop("other page"),
}
ROLES = {
    "url": gettext_noop("address"),
    "title": gettext_noop("title"),
    "name": gettext_noop("name"),
    "author": gettext_noop("author"),
    "replies": gettext_noop("replies"),
    "views": gettext_noop("views"),
    "threads": gettext_noop("number of threads"),
    "posts": gettext_noop("number of posts"),
    "created": gettext_noop("creation time"),
    "last_reply": gettext_noop("last reply"),
    "last_author": gettext_noop("last author"),
    "last_post_url": gettext_noop("link to the last post"),
    "board_url": gettext_noop("link to the board"),
    "board_name": gettext_noop("name of the board"),
    "pinned": gettext_noop("pinned"),
    "locked": gettext_noop("locked"),
    "posted": gettext_noop("time of the post"),
    "text": gettext_noop("text"),
    "post_id": gettext_noop("post id"),
    "number": gettext_noop("position in the thread"),
    "description": gettext_noop("description"),
    "parent": gettext_noop("parent board"),
}
REASONS = {
    "marks": gettext_noop("the pages look different (other class names)"),
    "kind": gettext_noop("pages are recognised as different kinds than before"),
    "rows": gettext_noop("far fewer rows on a page"),
    "roles": gettext_noop("fields that were present are missing"),
    "addresses": gettext_noop("addresses have a different form"),
    "contradiction": gettext_noop(
        "the model's rule relating reply counts to post counts no longer holds"
    ),
    "rules": gettext_noop("corrected fields are no longer found"),
    "boards_lost": gettext_noop("boards were not found again"),
    "threads_unknown": gettext_noop("the threads listed differ from the stored ones"),
    "posts_differ": gettext_noop("the posts read differ from the stored ones"),
    "roles_lost": gettext_noop("fields that were present are missing"),
    "nothing_read": gettext_noop("no list of threads could be read"),
}
WHAT = {
    "engine": gettext_noop("software"),
    "timezone": gettext_noop("time zone"),
    "day_first": gettext_noop("order of day and month"),
    "posts_per_page": gettext_noop("posts per page"),
    "counts_posts": gettext_noop("meaning of the counts"),
    "list_flip": gettext_noop("further pages of a list"),
    "thread_flip": gettext_noop("further pages of a thread"),
    "patterns": gettext_noop("addresses"),
    "pager": gettext_noop("position of the link to the next page"),
    "rows": gettext_noop("rows per page"),
    "roles": gettext_noop("fields"),
    "marks": gettext_noop("class names"),
    "version": gettext_noop("version"),
    "rule": gettext_noop("correction"),
}
ORDERS = {
    None: gettext_noop("not determined: no date shows it"),
    True: gettext_noop("day before month"),
    False: gettext_noop("month before day"),
}
COUNTS = {
    None: gettext_noop("not determined"),
    True: gettext_noop("all posts, including the first one"),
    False: gettext_noop("replies"),
}
SORTS = {
    "last_reply": gettext_noop("by last reply"),
    "created": gettext_noop("by creation time"),
    "": gettext_noop("not recognised"),
}


def kind(code: str) -> str:
    """Returns the display name of a kind of page."""
    return _(KINDS[code]) if code in KINDS else code


def role(code: str) -> str:
    """Returns the display name of a field."""
    return _(ROLES[code]) if code in ROLES else code


def reason(code: str) -> str:
    """Returns the text for the code of a reason why pages no longer fit the model, or why a new
    model was not accepted."""
    return _(REASONS[code]) if code in REASONS else code


def what(code: str) -> str:
    """Returns a text that names the part of a model that a version changed. Codes such as
    "rule.threadlist.replies" name a part, a kind of page and a field."""
    head, *rest = code.split(".")
    if head not in WHAT:
        return code
    parts = [kind(rest[0])] if rest else []
    parts += [role(rest[1])] if len(rest) > 1 else []
    return f"{_(WHAT[head])} ({', '.join(parts)})" if parts else _(WHAT[head])
