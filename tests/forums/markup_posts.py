"""Pages of a thread in a dozen markups: tables, articles, nested comments, flat rows, definition
lists."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from tests.forums.boards import RandomForum, Reply, Topic
from tests.forums.markup_lists import frame

Render = Callable[[RandomForum, Topic], str]


def _e(text: object) -> str:
    return escape(str(text))


def _join(topic: Topic, one: Callable[[int, Reply], str]) -> str:
    return "".join(one(at + 1, post) for at, post in enumerate(topic.posts))


def _page(topic: Topic, body: str) -> str:
    reply = (
        "<form action='/reply' method=post><textarea"
        " name=text></textarea><button>Reply</button></form>"
    )
    return frame(
        topic.title,
        "<div class=crumbs><a href='/'>Forum</a> &gt; <a"
        f" href='/board-3'>Board</a></div><h1>{_e(topic.title)}</h1>{body}{reply}",
    )


def tables(forum: RandomForum, topic: Topic) -> str:
    """Returns the HTML of a page of posts. A table per post: a header row with time and number, a
    cell with the author beside the text."""

    def one(number: int, p: Reply) -> str:
        quote = (
            "<div class=quote_wrap><div>Quote:</div><table><tr><td>Originally Posted by"
            f" <strong>{_e(p.quote[0])}</strong><div>{_e(p.quote[1])}</div></td></tr></table></div>"
            if p.quote
            else ""
        )
        return (
            f"<div id='edit{p.number}'><table id='post{p.number}' class=tborder><tr><td"
            f" class=thead><a name='post{p.number}'><img src='i/post_old.gif'></a>"
            f" {forum.when(p.posted)}</td><td class=thead align=right>#<a"
            f" href='showpost.php?p={p.number}&amp;postcount={number}'"
            f" id='postcount{p.number}'><strong>{number}</strong></a></td></tr><tr><td class=alt2"
            f" width=175><div id='postmenu_{p.number}'><a class=bigusername"
            f" href='member.php?u={len(p.author)}3'>{_e(p.author)}</a></div><div"
            " class=smallfont>Senior Member</div><div class=smallfont><div>Join Date: Mar"
            f" 2006</div><div>Posts: {len(p.author) * 37}</div></div></td><td class=alt1"
            f" id='td_post_{p.number}'><div"
            f" id='post_message_{p.number}'>{quote}{_e(p.text)}</div><div>__________________<br>my"
            " signature, always the same words</div></td></tr></table></div>"
        )

    return _page(topic, f"<div id=posts>{_join(topic, one)}</div>")


def wrappers(forum: RandomForum, topic: Topic) -> str:
    """Returns the HTML of a page of posts: divisions with a column for the author and a subject
    before each text."""

    def one(number: int, p: Reply) -> str:
        quote = (
            f"<div class=quoteheader><a href='#'>Quote from: {_e(p.quote[0])}</a></div><blockquote"
            f" class=bbc_standard_quote>{_e(p.quote[1])}</blockquote>"
            if p.quote
            else ""
        )
        return (
            f"<div class='windowbg{number % 2 + 1}'><div class=post_wrapper><div"
            f" class=poster><h4><a href='/index.php?action=profile;u={len(p.author)}1' title='View"
            f" the profile'>{_e(p.author)}</a></h4><ul class=reset><li"
            " class=postgroup>Newbie</li><li class=postcount>Posts:"
            f" {len(p.author)}9</li></ul></div><div class=postarea><div class=keyinfo><h5"
            f" id='subject_{p.number}'><a"
            f" href='/index.php?topic={topic.number}.msg{p.number}#msg{p.number}'>Re:"
            f" {_e(topic.title)}</a></h5><div class=smalltext>&#171; <strong>Reply #{number}"
            f" on:</strong> {forum.when(p.posted)} &#187;</div></div><div class=post><div"
            f" class=inner id='msg_{p.number}'>{quote}{_e(p.text)}</div></div></div><div"
            " class=moderatorbar><div class=signature>ever the same line</div></div></div></div>"
        )

    return _page(topic, f"<div id=forumposts>{_join(topic, one)}</div>")


def halves(forum: RandomForum, topic: Topic) -> str:
    """Returns the HTML of a page of posts: a table per post with the time in a separate label and
    the text in a deeply nested table cell."""

    def one(number: int, p: Reply) -> str:
        quote = (
            f"<div class=quote><blockquote><font color=#999>{_e(p.quote[0])} 发表于 2009-3-1"
            f" 08:15</font><br>{_e(p.quote[1])}</blockquote></div>"
            if p.quote
            else ""
        )
        return (
            f"<div id='post_{p.number}'><table id='pid{p.number}' class=plhin><tr><td class=pls"
            f" rowspan=2><div class=pi><div class=authi><a href='space-uid-{len(p.author)}2.html'"
            f" class=xw1>{_e(p.author)}</a></div></div><div class='tns xg2'><table><tr><th><p><a"
            f" href='space-uid-1.html'>{len(p.author)}</a></p>主题</th><th><p>88</p>帖子</th></tr>"
            f"</table></div><dl><dt>注册时间</dt><dd>2008-7-1</dd></dl></td><td"
            " class=plc><div class=pi><strong><a"
            f" href='forum.php?mod=redirect&amp;goto=findpost&amp;ptid={topic.number}&amp;"
            f"pid={p.number}'"
            f" id='postnum{p.number}'>{number}<sup>#</sup></a></strong><div class=pti><div"
            f" class=authi><em id='authorposton{p.number}'>发表于 {forum.when(p.posted)}</em> | <a"
            f" href='thread-{topic.number}-1-1.html?authorid=2'>只看该作者</a></div></div></div><div"
            " class=pct><div class=pcb><div class=t_fsz><table><tr><td class=t_f"
            f" id='postmessage_{p.number}'>{quote}{_e(p.text)}</td></tr></table></div></div></div>"
            f"</td></tr><tr><td"
            " class=plc><div class=sign>签名档总是这一句</div></td></tr></table></div>"
        )

    return _page(topic, f"<div id=postlist>{_join(topic, one)}</div>")


def floors(forum: RandomForum, topic: Topic) -> str:
    """Returns a page of posts that have their number and time below the text."""

    def one(number: int, p: Reply) -> str:
        return (
            f"<div class='l_post l_post_bright' data-pid='{p.number}'><div class=d_author><ul"
            " class=p_author><li class=icon><img src='x.jpg' alt=''></li><li class=d_name><a"
            " class='p_author_name j_user_card'"
            f" href='/home/main?un={_e(p.author)}'>{_e(p.author)}</a></li><li"
            " class=l_badge>初级粉丝</li></ul></div>"
            "<div class=d_post_content_main><div class=p_content><cc><div"
            f" id='post_content_{p.number}' class='d_post_content"
            f" j_d_post_content'>{_e(p.text)}</div></cc></div><div class=core_reply><ul"
            f" class=p_tail><li><span>{number}楼</span></li><li><span>{forum.when(p.posted)}</span>"
            f"</li></ul></div></div></div>"
        )

    return _page(topic, f"<div id=j_p_postlist>{_join(topic, one)}</div>")


def articles(forum: RandomForum, topic: Topic) -> str:
    """Returns a page of <article> elements with exact times in attributes and dates as text."""

    def one(number: int, p: Reply) -> str:
        quote = (
            f"<blockquote class=ipsQuote data-ipsquote-username='{_e(p.quote[0])}'><div"
            f" class=ipsQuote_citation>On 1/2/2020 at 3:04 PM, {_e(p.quote[0])}"
            f" said:</div><p>{_e(p.quote[1])}</p></blockquote>"
            if p.quote
            else ""
        )
        return (
            f"<article id='elComment_{p.number}' class='cPost ipsBox'><aside"
            " class=ipsComment_author><h3 class=cAuthorPane_author><a"
            f" href='/profile/{len(p.author)}-x/'>{_e(p.author)}</a></h3><ul><li>Members</li><li>"
            f"{len(p.author)}4"
            " posts</li></ul></aside><div class=ipsComment_content><div class=ipsComment_meta><a"
            f" href='/topic/{topic.number}-x/?do=findComment&amp;comment={p.number}'>Posted <time"
            f" datetime='{p.posted:%Y-%m-%dT%H:%M:%SZ}' title='x'>{p.posted:%B}"
            f" {p.posted.day}</time></a></div><div data-role=commentContent"
            f" class='ipsType_richText'>{quote}<p>{_e(p.text)}</p></div><ul"
            " class=ipsComment_controls><li><a href='#'"
            " data-action=quoteComment>Quote</a></li></ul></div></article>"
        )

    return _page(topic, f"<div class=cTopic>{_join(topic, one)}</div>")


def blocks(forum: RandomForum, topic: Topic) -> str:
    """Returns the HTML of a page of posts: blocks whose header contains number and time, with a
    definition list for the author."""

    def one(number: int, p: Reply) -> str:
        quote = (
            f"<div class=quotebox><cite>{_e(p.quote[0])}"
            f" wrote:</cite><blockquote><div><p>{_e(p.quote[1])}</p></div></blockquote></div>"
            if p.quote
            else ""
        )
        return (
            f"<div id='p{p.number}' class='blockpost rowodd'><h2><span><span"
            f" class=conr>#{number}</span> <a"
            f" href='viewtopic.php?pid={p.number}#p{p.number}'>{forum.when(p.posted)}</a></span>"
            f"</h2><div"
            " class=box><div class=inbox><div class=postbody><div"
            " class=postleft><dl><dt><strong><a"
            f" href='profile.php?id={len(p.author)}'>{_e(p.author)}</a></strong></dt><dd"
            " class=usertitle><strong>Member</strong></dd><dd><span>Registered:"
            " 2009-01-02</span></dd><dd><span>Posts: 12</span></dd></dl></div><div"
            f" class=postright><h3>Re: {_e(topic.title)}</h3><div"
            f" class=postmsg>{quote}<p>{_e(p.text)}</p></div></div></div></div></div></div>"
        )

    return _page(topic, _join(topic, one))


def flat(forum: RandomForum, topic: Topic) -> str:
    """Returns the HTML of a page of posts. Three table rows per post in one table: author and time,
    text, a separator."""

    def one(number: int, p: Reply) -> str:
        quote = (
            f"<table class=quotes><tr><td><b>{_e(p.quote[0])} wrote:</b></td></tr><tr><td"
            f" class=quote>{_e(p.quote[1])}</td></tr></table>"
            if p.quote
            else ""
        )
        return (
            f"<tr><td class=row1><a name='{p.number}'></a><b>{_e(p.author)}</b></td><td"
            f" class=row1><span class=postdetails>Posted: {forum.when(p.posted)} &nbsp; Post"
            f" subject: {_e(topic.title)}</span></td></tr><tr><td class=row1><span"
            " class=postdetails>Joined: 12 Mar 2004<br>Posts: 31</span></td><td class=row1><span"
            f" class=postbody>{quote}{_e(p.text)}</span></td></tr><tr><td class=spaceRow"
            " colspan=2><img src='spacer.gif' alt=''></td></tr>"
        )

    return _page(
        topic,
        "<table"
        f" class=forumline><tr><th>Author</th><th>Message</th></tr>{_join(topic, one)}</table>",
    )


def nested(forum: RandomForum, topic: Topic) -> str:
    """Returns a thread page with comments in nested lists: two of three comments are one level
    below the comment before them."""
    depth = 0
    made = []
    for number, p in enumerate(topic.posts, 1):
        inner = (
            f"<div class='comment' id='c_{p.number}'><div class=byline><a"
            f" href='/u/{_e(p.author)}'>{_e(p.author)}</a> <span"
            f" title='{p.posted:%Y-%m-%d %H:%M:%S} +0000'>{forum.when(p.posted)}</span> | <a"
            f" href='/s/x/y#c_{p.number}'>link</a></div><div"
            f" class=comment_text><p>{_e(p.text)}</p></div></div>"
        )
        if number % 3 == 1:
            made.append(
                "</li></ol>" * depth
                + ("</li>" if number > 1 and not depth else "")
                + f"<li>{inner}"
            )
            depth = 0
        else:
            made.append(f"<ol class=comments><li>{inner}")
            depth += 1
    return _page(topic, f"<ol class='comments top'>{''.join(made)}{'</li></ol>' * depth}</li></ol>")


def definitions(forum: RandomForum, topic: Topic) -> str:
    """Returns the HTML of a page of posts. A definition list: author and time as term, the text as
    definition."""

    def one(number: int, p: Reply) -> str:
        return (
            f"<dt id='r{p.number}'><b>{_e(p.author)}</b>,"
            f" {forum.when(p.posted)}</dt><dd><p>{_e(p.text)}</p></dd>"
        )

    return _page(topic, f"<dl>{_join(topic, one)}</dl>")


def modules(forum: RandomForum, topic: Topic) -> str:
    """Returns the HTML of a page of posts: posts as `<div>` elements with meaningless class names,
    without links to members."""

    def one(number: int, p: Reply) -> str:
        return (
            "<div class='sc-b1 qqW'><div class='sc-b2 eeR'><img class='sc-b3' src='/a.png'"
            f" alt='{_e(p.author)}'><div class='sc-b4'><div class='sc-b5"
            f" ttY'>{_e(p.author)}</div><div class='sc-b6"
            f" uuI'>{forum.when(p.posted)}</div></div></div><div class='sc-b7"
            f" ooP'><p>{_e(p.text)}</p></div><div"
            " class='sc-b8'><button>Like</button><button>Reply</button></div></div>"
        )

    return _page(topic, f"<div class='sc-a0'>{_join(topic, one)}</div>")


def ruled(forum: RandomForum, topic: Topic) -> str:
    """Returns a page with each post as a heading and a paragraph, followed by an <hr>."""

    def one(number: int, p: Reply) -> str:
        return (
            f"<h4>{_e(p.author)} <small>{forum.when(p.posted)}</small></h4><p>{_e(p.text)}</p><hr>"
        )

    return _page(topic, f"<div class=thread>{_join(topic, one)}</div>")


def streams(forum: RandomForum, topic: Topic) -> str:
    """Returns a page of list items with authors as text and in attributes, and with exact times in
    title attributes."""

    def one(number: int, p: Reply) -> str:
        return (
            f"<li component=post class='posts-list-item' data-index='{number - 1}'"
            f" data-pid='{p.number}' data-username='{_e(p.author)}'><a class=anchor"
            f" id='{number - 1}'></a><div class=post-header><strong><a"
            f" href='/user/{_e(p.author.lower())}'"
            f" data-username='{_e(p.author)}'>{_e(p.author)}</a></strong><span"
            " class=group-label>Global Moderator</span><a class=permalink"
            f" href='/post/{p.number}'><span class=timeago"
            f" title='{p.posted:%Y-%m-%dT%H:%M:%S.000Z}'></span></a><span>last edited"
            " by</span></div><div class=content component='post/content'><p"
            f" dir=auto>{_e(p.text)}</p></div><div class=post-footer><a component='post/reply'"
            " href='#'>Reply</a> <span class=votes>0</span></div></li>"
        )

    return _page(topic, f"<ul component=topic class=posts>{_join(topic, one)}</ul>")


POSTS: dict[str, Render] = {
    made.__name__: made
    for made in (
        tables,
        wrappers,
        halves,
        floors,
        articles,
        blocks,
        flat,
        nested,
        definitions,
        modules,
        ruled,
        streams,
    )
}
EXACT_POSTS = frozenset({"articles", "nested", "streams"})
WITHOUT_IDS = frozenset({"modules", "ruled"})
