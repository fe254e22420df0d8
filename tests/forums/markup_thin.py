"""Pages with little content and pages that are not of a forum: lists of one to three threads,
threads of one to three posts at uninformative addresses, and other pages of sites with forums."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from html import escape

from tests.forums.boards import RandomForum, Topic

MAX_ROWS = 3  # maximum number of rows or posts of a page with little content


def few_topics(forum: RandomForum, count: int) -> RandomForum:
    """The forum with only its first `count` threads."""
    thin = copy(forum)
    thin.topics = forum.topics[:count]
    return thin


def few_posts(forum: RandomForum, at: int, count: int) -> Topic:
    """The first thread from index `at` on (cyclic) with at least `count` posts, cut to that many;
    the longest if none has."""
    turned = [*forum.topics[at % len(forum.topics) :], *forum.topics[: at % len(forum.topics)]]
    whole = next(
        (topic for topic in turned if len(topic.posts) >= count),
        max(turned, key=lambda topic: len(topic.posts)),
    )
    return replace(whole, posts=whole.posts[:count])


def few_boards(forum: RandomForum, count: int) -> RandomForum:
    """The forum with only its first `count` boards."""
    thin = copy(forum)
    thin.boards = forum.boards[:count]
    return thin


def subjects(forum: RandomForum, topic: Topic) -> str:
    """Returns the HTML of a page of posts: posts, each in a table, whose subjects link to the post
    itself."""
    shown = escape(topic.title)
    posts = "".join(
        f'<table class=p><tr><td><a name="m{p.number}"'
        f' href="/read/{topic.number}/{p.number}#m{p.number}">{shown if not at else "Re: " + shown}'
        f"</a><br><a"
        f' href="/people/{escape(p.author)}">{escape(p.author)}</a>'
        f" {forum.when(p.posted)}</td></tr><tr><td>{escape(p.text)}</td></tr></table>"
        for at, p in enumerate(topic.posts)
    )
    return (
        "<!DOCTYPE"
        f" html><html><head><title>{shown}</title></head><body><h1>{shown}</h1>{posts}</body>"
        f"</html>"
    )


def page(body: str, title: str = "Site") -> str:
    """A page of a site with a menu."""
    menu = "".join(
        f'<li><a href="/{name}">{name.title()}</a></li>'
        for name in ("home", "about", "contact", "shop", "news")
    )
    return (
        f"<!DOCTYPE html><html><head><title>{title}</title></head><body><ul"
        f" id=menu>{menu}</ul>{body}<p>© 2026 Site</p></body></html>"
    )


def not_forums(texts: Sequence[str], long: str) -> dict[str, str]:
    """Returns pages that are not of a forum, by kind: `texts` are the titles of a page's rows,
    `long` is their body text."""

    def rows(pattern: str) -> str:
        return "".join(
            pattern.format(
                at=at,
                text=escape(text),
                day=20 - at,
                slug=text.lower().replace(" ", "-").replace(",", ""),
                long=escape(long),
            )
            for at, text in enumerate(texts)
        )

    head = (
        '<h1>Index of /pub</h1><table><tr><th><a href="?C=N">Name</a></th><th><a href="?C=M">Last'
        ' modified</a></th><th><a href="?C=S">Size</a></th></tr>'
    )
    made = {
        "blog": rows(
            '<article><h2><a href="/{slug}/">{text}</a></h2><p class=meta>By <a'
            ' href="/author/anna/" rel=author>Anna</a> on <time>{day} March'
            ' 2026</time></p><p>{long}</p><a href="/{slug}/#comments">{at} comments</a></article>'
        ),
        "blog with dates in addresses": rows(
            '<div class=post><h3><a href="/2026/03/{slug}.html">{text}</a></h3><small>{day} March'
            " 2026 10:1{at} by Anna</small><p>{long}</p></div>"
        ),
        "news": rows(
            "<div class=item><span class=date>{day}.03.2026</span> <a"
            ' href="/news/{at}77-{slug}">{text}</a><p>{text} and more of it.</p></div>'
        ),
        "shop": rows(
            '<div class=product><a href="/product/{slug}"><img src="p.jpg"><h3>{text}</h3></a><span'
            " class=price>{day},90 €</span><span class=reviews>({at})</span><button>Add to"
            " cart</button></div>"
        ),
        "search results": rows(
            "<div class=result><h3><a"
            ' href="http://other{at}.example/{slug}">{text}</a></h3><cite>other{at}.example</cite>'
            "<p>Mar"
            " {day}, 2026 — {long}</p></div>"
        ),
        "article": (
            f"<h1>{escape(texts[0])}</h1><p class=byline>By Anna, 12 March"
            f" 2026</p><p>{escape(long)}</p><p>{escape(long)}</p><h2>References</h2><ol>"
            f"{rows('<li><a href=/ref/{at}>{text}</a>, retrieved {day} March 2026</li>')}</ol>"
        ),
        "directory": (
            head
            + rows(
                '<tr><td><a href="{slug}.tar.gz">{slug}.tar.gz</a></td><td>2026-03-{day}'
                " 10:0{at}</td><td>{day}K</td></tr>"
            )
            + "</table>"
        ),
        "sign in": (
            "<h1>Sign in</h1><form method=post><label>User name <input"
            " name=user></label><label>Password <input type=password name=p></label><button>Sign"
            " in</button></form>"
        ),
        "registration": (
            "<h1>Register</h1><div class=terms><p>Last changed by the site on 3 March"
            f" 2026.</p><p>{escape(long)}</p></div><form method=post><input name=user><input"
            " name=mail><input type=password name=a><input type=password name=b><input"
            " type=checkbox name=agree> I have read this</form>"
        ),
        "prices": (
            "<h1>Plans</h1>"
            + rows("<div class=plan><h3>{text}</h3><p>{long}</p><b>{day} €</b></div>")
        ),
    }
    return {name: page(body) for name, body in made.items()}
