"""Lists of threads in the style of widespread forum software: which fields are in which cell, in
which order, with which labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import NamedTuple

from tests.forums.boards import RandomForum, Reply, Topic
from tests.forums.markup_lists import frame


class Software(NamedTuple):
    """How a list is rendered, the addresses of the list and of a thread, and the fields shown:
    r(eplies), a(uthor), l(ast post)."""

    render: Callable[[RandomForum], str]
    url: str
    link: Callable[[Topic], str]
    shows: str = "ral"


def _e(text: object) -> str:
    return escape(str(text))


def _id(post: Reply) -> int:
    return sum(ord(char) for char in post.author)


def class_name(style: str, what: str, seed: int, semantic: Mapping[str, str]) -> str:
    """The class attribute of an element: none with style "bare", otherwise a word of `semantic`, or
    meaningless letters."""
    if style == "bare":
        return ""
    name = (
        semantic[what]
        if style == "semantic"
        else f"x{sum(ord(c) * 31**i for i, c in enumerate(what + str(seed))) % 99999:05x}"
    )
    return f" class='{name}'"


def slug(topic: Topic) -> str:
    words = "".join(
        char if char.isascii() and char.isalnum() else "-" for char in topic.title.lower()
    )
    return "-".join(part for part in words.split("-") if part) or "x"


def _rows(forum: RandomForum, one: Callable[[Topic, Reply, Reply], str]) -> str:
    return "".join(one(topic, topic.posts[0], topic.posts[-1]) for topic in forum.topics)


def _z(post: Reply) -> str:
    return f"{post.posted:%Y-%m-%dT%H:%M:%SZ}"


def _heads(*words: str, tag: str = "th") -> str:
    return f"<tr>{''.join(f'<{tag}>{word}</{tag}>' for word in words)}</tr>"


def threadbits(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads. List items with a header row of spans; the last post
    in a definition list that begins with a hidden label."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        link = f"showthread.php?{t.number}-{slug(t)}"
        day, _, clock = forum.when(b.posted).rpartition(", ")
        when = f"{day}, <em class=time>{clock}</em>" if day else f"<em class=time>{clock}</em>"
        return (
            f"<li class='threadbit {'' if t.replies else 'new'}' id='thread_{t.number}'><div"
            f" class='rating0 {'sticky' if t.pinned else 'nonsticky'}'><div class=threadinfo"
            f" title='{_e(a.text[:60])}'><a class=threadstatus rel=vB::AJAX></a><div"
            " class=inner><h3"
            f" class=threadtitle>{'<span class=prefix><b>Sticky:</b></span>' if t.pinned else ''}<a"
            f" class=title href='{link}' id='thread_title_{t.number}'>{_e(t.title)}</a></h3><div"
            " class=threadmeta><div class=author><span class=label>Started by <a"
            f" href='member.php?{_id(a)}-x' class='username understate' title='Started by"
            f" {_e(a.author)} on {forum.when(a.posted)}'>{_e(a.author)}</a>,"
            f" {forum.when(a.posted)}</span></div></div></div></div><ul class='threadstats td"
            f" alt'><li>Replies: <a href='misc.php?do=whoposted&amp;t={t.number}'"
            f" class=understate>{t.replies}</a></li><li>Views: {t.views:,}</li><li"
            " class=hidden>Rating0 / 5</li></ul><dl class='threadlastpost td'><dt"
            " class='lastpostby hidden'>Last Post By</dt><dd><div class='popupmenu"
            f" memberaction'><a class='username offline popupctrl' href='member.php?{_id(b)}-x'"
            f" title='{_e(b.author)} is offline'><strong>{_e(b.author)}</strong></a><ul"
            f" class='popupbody'><li><a href='member.php?{_id(b)}-x'>View Profile</a></li><li><a"
            f" href='search.php?u={_id(b)}'>View Forum Posts</a></li></ul></div></dd><dd>{when} <a"
            f" href='{link}&amp;p={b.number}#post{b.number}' class='lastpostdate understate'><img"
            " src='i/lastpost.png' alt='Go to last post'></a></dd></dl></div></li>"
        )

    head = (
        "<div class=threadlisthead><div><span class=threadinfo><a href='?sort=title'>Title</a> / <a"
        " href='?sort=postusername'>Thread Starter</a></span><span class=threadstats><a"
        " href='?sort=replycount'>Replies</a> / <a href='?sort=views'>Views</a></span><span"
        " class=threadlastpost><a href='?sort=lastpost'>Last Post By</a></span></div></div>"
    )
    return frame(
        "Board",
        f"<div class=threadlist>{head}<ol id=threads class=threads>{_rows(forum, one)}</ol></div>",
    )


def topic_items(forum: RandomForum) -> str:
    """Returns a list of threads as a table with replies, views and likes in one cell."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        link = f"/forum/main-forum/general/{t.number}-{slug(t)}"
        return (
            f"<tr class='topic-item {'sticky' if t.pinned else ''}' data-node-id='{t.number}'><td"
            " class=cell-icon><span class='icon'></span></td><td class=cell-topic><div"
            f" class=topic-wrapper>{'<span class=topic-prefix>Sticky:</span> ' if t.pinned else ''}"
            f"<a"
            f" href='{link}' class='topic-title js-topic-title'>{_e(t.title)}</a><div"
            f" class=topic-info>Started by <a href='/member/{_id(a)}-x'"
            f" data-vbnamecard={_id(a)}>{_e(a.author)}</a>, <span"
            f" class=date>{forum.when(a.posted)}</span></div></div></td><td class=cell-count><div"
            f" class=posts-count>{t.replies} response{'' if t.replies == 1 else 's'}</div><div"
            f" class=views-count>{t.views:,} views</div><div class=votes-count>{t.number % 5}"
            " likes</div></td><td class=cell-lastpost><div class=lastpost-wrapper><div"
            " class=lastpost-by>Last Post <span>by <a"
            f" href='/member/{_id(b)}-x'>{_e(b.author)}</a></span></div><span"
            f" class=post-date>{forum.when(b.posted)}</span> <a"
            f" href='{link}?p={b.number}#post{b.number}'"
            " class=go-to-last-post><span></span></a></div></td><td class=cell-selecttopic><input"
            " type=checkbox></td></tr>"
        )

    heads = (
        "<thead><tr class=topic-list-header><th></th><th class=header-topic>Topics</th><th"
        " class=header-count>Statistics</th><th class=header-lastpost>Last"
        " Post</th><th></th></tr></thead>"
    )
    return frame(
        "Board",
        f"<table class=topic-list-container>{heads}<tbody"
        f" class=topic-list>{_rows(forum, one)}</tbody></table>",
    )


def columns(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads. A table with lists in its cells: "5 replies" above
    "120 views", the last author above the time."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        return (
            f"<tr class='__topic expandable' id='trow_{t.number}'><td class=col_f_icon><img"
            " src='/i/t_read.png' alt='Topic'></td><td"
            f" class=col_f_content>{'<span class=ipsBadge>Pinned</span> ' if t.pinned else ''}<h4>"
            f"<a"
            f" itemprop=url id='tid-link-{t.number}' href='/topic/{t.number}-{slug(t)}/'"
            f" title='View topic, started {a.posted:%d %B %Y - %I:%M %p}'><span"
            f" itemprop=name>{_e(t.title)}</span></a></h4><br><span class='desc lighter"
            f" blend_links'>Started by <a hovercard-ref=member href='/user/{_id(a)}-x/'"
            f" class='_hovertrigger url fn name'><span itemprop=name>{_e(a.author)}</span></a>,"
            f" {a.posted:%d %b %Y}</span></td><td class=col_f_preview><a href='#' class=expander"
            " title='Preview this topic'></a></td><td class='col_f_views desc"
            " blend_links'><ul><li><meta itemprop=interactionCount"
            f" content='UserComments:{t.replies}'>{t.replies} replies</li><li class='views"
            f" desc'>{t.views:,} views</li></ul></td><td class=col_f_post><a"
            f" href='/user/{_id(b)}-x/' class='ipsUserPhotoLink left'><img src='/p/{_id(b)}.jpg'"
            " class=ipsUserPhoto></a><ul class='last_post ipsType_small'><li><a"
            f" href='/user/{_id(b)}-x/'><span itemprop=name>{_e(b.author)}</span></a></li><li><a"
            f" href='/topic/{t.number}-{slug(t)}/?view=getlastpost' title='Go to last"
            f" post'>{forum.when(b.posted)}</a></li></ul></td></tr>"
        )

    return frame(
        "Board",
        "<table class='ipb_table topic_list hover_rows'"
        f" id=forum_table>{_heads('', 'Topic', '', 'Stats', 'Last Post Info')}{_rows(forum, one)}"
        f"</table>",
    )


def last_action(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads. An old table: replies before the author, "Last post
    by:" as a link before the name."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        pages = (
            f"<span class=small>(Pages <a href='/index.php?showtopic={t.number}&amp;st=0'>1</a> <a"
            f" href='/index.php?showtopic={t.number}&amp;st=15'>2</a> )</span>"
            if t.replies > 8
            else ""
        )
        return (
            "<tr><td align=center class=row4><img src='/s/f_norm.gif' alt='No New Posts'></td><td"
            f" class=row4>&nbsp;</td><td class=row4>{'Pinned: ' if t.pinned else ''}<a"
            f" href='/index.php?showtopic={t.number}' class=linkthru title='This topic was started:"
            f" {forum.when(a.posted)}'>{_e(t.title)}</a> {pages}<br><span"
            f" class=desc>{_e(a.text[:20])}</span></td><td align=center"
            f" class=row4>{t.replies}</td><td align=center class=row4><a"
            f" href='/index.php?showuser={_id(a)}'>{_e(a.author)}</a></td><td align=center"
            f" class=row4>{t.views}</td><td class=row4><span"
            f" class=desc>{forum.when(b.posted)}<br><a"
            f" href='/index.php?showtopic={t.number}&amp;view=getlastpost'>Last post by:</a> <b><a"
            f" href='/index.php?showuser={_id(b)}'>{_e(b.author)}</a></b></span></td></tr>"
        )

    heads = _heads(
        "&nbsp;",
        "&nbsp;",
        "Topic Title",
        "Replies",
        "Topic Starter",
        "Views",
        "Last Action",
        tag="td",
    )
    return frame(
        "Board",
        f"<div class=tableborder><table class=tablebasic>{heads}{_rows(forum, one)}</table></div>",
    )


def aspx_tables(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads. A table with a tbody per thread; counts are
    "replies/views" in two elements; the last post's time precedes its author."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        mark = (
            "<img src='t_top1.gif' alt='置顶'>"
            if t.pinned
            else "<img src='folder_common.gif' alt='主题'>"
        )
        return (
            f"<tbody><tr><td class=folder><a href='showtopic-{t.number}.aspx'"
            f" target=_blank>{mark}</a></td><td class=icon></td><th class=subject><label><a"
            " href='showforum-7-12.aspx'>[分享]</a></label> <a"
            f" href='showtopic-{t.number}.aspx'>{_e(t.title)}</a></th><td class=author><cite><a"
            f" href='userinfo-{_id(a)}.aspx'>{_e(a.author)}</a></cite><em>{a.posted:%Y-%m-%d}</em>"
            f"</td><td"
            f" class=nums><strong>{t.replies}</strong>/<em>{t.views}</em></td><td"
            " class=lastpost><em><a"
            f" href='showtopic.aspx?topicid={t.number}&amp;page=end#lastpost'>"
            f"{forum.when(b.posted)}</a></em><cite>by"
            f" <a href='userinfo-{_id(b)}.aspx'>{_e(b.author)}</a></cite></td></tr></tbody>"
        )

    heads = f"<thead>{_heads('&nbsp;', '&nbsp;', '标题', '作者', '回复/查看', '最后发表', tag='td')}</thead>"
    return frame("版块", f"<table class=datatable>{heads}{_rows(forum, one)}</table>")


def wind(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads. A table with some headers missing. Columns: type,
    subject, author with date, "replies/views", last author with time."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        top = (
            "<img src='i/headtopic_1.gif' title='置顶帖标志'>"
            if t.pinned
            else "<img src='i/topicnew.gif' title='开放主题'>"
        )
        return (
            f"<tr class=tr3><td class=icon><a title='新窗口打开' href='read.php?tid={t.number}'"
            f" target=_blank>{top}</a></td><td class=subject id='td_{t.number}'><a"
            " href='thread.php?fid=7&amp;type=2' class=s8>[求助]</a> <a"
            f" href='read.php?tid={t.number}' name=readlink id='a_ajax_{t.number}' class='subject_t"
            f" f14'>{_e(t.title)}</a></td><td class=author><a href='u.php?uid={_id(a)}'"
            f" class=_cardshow>{_e(a.author)}</a><p>{a.posted:%Y-%m-%d}</p></td><td"
            f" class=num><em>{t.replies}</em>/{t.views}</td><td class=author><a"
            f" href='u.php?username={_e(b.author)}' class=_cardshow>{_e(b.author)}</a><p><a"
            f" href='read.php?tid={t.number}&amp;page=e#a'"
            f" title='{forum.when(b.posted)}'>{forum.when(b.posted)}</a></p></td></tr>"
        )

    heads = (
        "<tr class=tr2><td class=icon>&nbsp;</td><td class=subject>排序：<a"
        " href='?orderway=lastpost'>最后发表</a> <a href='?orderway=postdate'>最新发帖</a></td><td"
        " class=author>作者</td><td class=num>回复/人气</td><td class=author>最后发表</td></tr>"
    )
    return frame(
        "版块", f"<div id=ajaxtable><table class=z>{heads}{_rows(forum, one)}</table></div>"
    )


def cells(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads. Each is a block with a table: avatar, title, one line
    with people and a time; at the right the count or nothing."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        count = (
            f"<a href='/t/{t.number}#reply{t.replies}' class=count_livid>{t.replies}</a>"
            if t.replies
            else ""
        )
        last = (
            " &nbsp;•&nbsp; 最后回复来自 <strong><a"
            f" href='/member/{_e(b.author)}'>{_e(b.author)}</a></strong>"
            if t.replies
            else ""
        )
        return (
            f"<div class='cell from_{_id(a)}"
            f" t_{t.number}'"
            f"{' style=background-image:url(/static/img/corner_star.png)' if t.pinned else ''}>"
            f"<table"
            f" cellpadding=0><tr><td width=48><a href='/member/{_e(a.author)}'><img"
            f" src='/av/{_id(a)}.png' class=avatar alt='{_e(a.author)}'></a></td><td"
            " width=10></td><td width=auto><span class=item_title><a"
            f" href='/t/{t.number}#reply{t.replies}' class=topic-link"
            f" id='topic-link-{t.number}'>{_e(t.title)}</a></span><div class=sep5></div><span"
            " class=topic_info><div class=votes></div><a class=node href='/go/qna'>问与答</a>"
            f" &nbsp;•&nbsp; <strong><a href='/member/{_e(a.author)}'>{_e(a.author)}</a></strong>"
            f" &nbsp;•&nbsp; <span title='{b.posted:%Y-%m-%d %H:%M:%S}"
            f" +00:00'>{forum.when(b.posted)}</span>{last}</span></td><td width=70"
            f" align=right>{count}</td></tr></table></div>"
        )

    return frame(
        "节点", f"<div class=box><div class=header>社区 › 节点</div>{_rows(forum, one)}</div>"
    )


def discussions(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads. A table with four cells per row; the third is empty if
    there are no replies."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        top = "<span class=elite_topic_lable>[置顶]</span>" if t.pinned else ""
        return (
            f"<tr class=''><td class=title>{top}<a href='/group/topic/{t.number}/?_i=1'"
            f" title='{_e(t.title)}' class=''>{_e(t.title)}</a></td><td nowrap><a"
            f" href='/people/{_id(a)}/' class=''>{_e(a.author)}</a></td><td nowrap class='r-count"
            f" '>{t.replies or ''}</td><td nowrap class=time>{forum.when(b.posted)}</td></tr>"
        )

    heads = (
        "<tr class=th><td>讨论</td><td nowrap>作者</td><td nowrap>回应</td><td nowrap"
        " align=right>最后回应</td></tr>"
    )
    return frame(
        "小组", f"<div id=group-topics><table class=olt>{heads}{_rows(forum, one)}</table></div>"
    )


def street(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads. A list of `<li>` rows with `<div>` fields, below a
    header made of `<div>`; member pages are on another host."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        return (
            "<li class=bbs-sl-web-post-body><div class=bbs-sl-web-post-layout><div"
            f" class=post-title>{'<span class=post-icon>置顶</span>' if t.pinned else ''}<a"
            f" href='/{t.number}.html' target=_blank class=p-title>{_e(t.title)}</a></div><div"
            f" class=post-datum>{t.replies} / {t.views}</div><div class=post-auth><a"
            f" href='https://my.example/{_id(a)}77' target=_blank>{_e(a.author)}</a></div><div"
            f" class=post-time>{forum.when(b.posted)}</div></div></li>"
        )

    head = (
        "<div class=bbs-sl-web-post-title><div class=post-title>主题</div><div"
        " class=post-datum>回复/浏览</div><div class=post-auth>作者</div><div"
        " class=post-time>最后回复</div></div>"
    )
    return frame(
        "专区",
        f"<div class=bbs-sl-web>{head}<ul class=bbs-sl-web-post>{_rows(forum, one)}</ul></div>",
    )


def replies_first(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads: a table with the replies in the first cell, as a link
    without a label."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        return (
            f"<tbody><tr class='row{t.number % 2 + 1} topicrow'><td class=c1><a"
            f" href='/read.php?tid={t.number}' class=replies"
            f" title='打开新窗口'>{t.replies}</a></td><td class=c2><a"
            f" href='/read.php?tid={t.number}' class=topic>{_e(t.title)}</a> <span"
            " class=titleadd2><a href='/thread.php?fid=77' class=silver>[版务]</a></span></td><td"
            f" class=c3><a href='/nuke.php?func=ucp&amp;uid={_id(a)}' class=author title='用户ID"
            f" {_id(a)}'>{_e(a.author)}</a> <span class='silver postdate'"
            f" title='{a.posted:%Y-%m-%d %H:%M}'>{a.posted:%Y-%m-%d}</span></td><td class=c4><a"
            f" href='/read.php?tid={t.number}&amp;page=e#a' class='silver replydate'"
            f" title='打开新窗口'>{forum.when(b.posted)}</a> <span"
            f" class=replyer>{_e(b.author)}</span></td></tr></tbody>"
        )

    return frame("版面", f"<table class=forumbox id=topicrows>{_rows(forum, one)}</table>")


def clicks(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads: a table in which views precede replies, addresses
    contain dashes, and cells have exact times as title attributes."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        return (
            f"<tr class='{'bg' if t.number % 2 else ''}'><td class='td-title faceblue'><span"
            f" class=face title='{'置顶' if t.pinned else '沉默'}'></span> <a"
            f" href='/post-free-{t.number}-1.shtml' target=_blank>{_e(t.title)}<span class=art-ico"
            f" title='内有图片'></span></a></td><td><a href='http://www.author.example/{_id(a)}'"
            " target=_blank"
            f" class=author>{_e(a.author)}</a></td><td>{t.views}</td><td>{t.replies}</td><td"
            f" title='{b.posted:%Y-%m-%d %H:%M}'>{b.posted:%m-%d %H:%M}</td></tr>"
        )

    heads = (
        "<tr><th scope=col>标题</th><th scope=col>作者</th><th scope=col>点击</th><th"
        " scope=col>回复</th><th scope=col>回复时间</th></tr>"
    )
    return frame(
        "论坛",
        "<table class='tab-bbs-list"
        f" tab-bbs-list-2'><tbody>{heads}</tbody><tbody>{_rows(forum, one)}</tbody></table>",
    )


def perl_board(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads: font tags in cells, no links to members, addresses
    that contain times."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        mark = "sticky" if t.pinned else "thread"
        return (
            f"<tr><td class=windowbg2 width=6%><img src='/yabbfiles/{mark}.gif'></td><td"
            " class=windowbg2 width=4%><img src='/yabbfiles/xx.gif' alt=''></td><td class=windowbg"
            " width=40%><font size=2><a"
            f" href='/cgi-bin/YaBB.pl?num=12680{t.number}'><b>{_e(t.title)}</b></a></font></td><td"
            f" class=windowbg2 width=15%><font size=2>{_e(a.author)}</font></td><td class=windowbg"
            f" width=6% align=center><font size=2>{t.replies}</font></td><td class=windowbg"
            f" width=6% align=center><font size=2>{t.views}</font></td><td class=windowbg2"
            f" width=23%><font size=1>{forum.when(b.posted)}<br>by {_e(b.author)}</font></td></tr>"
        )

    heads = _heads(
        "",
        "",
        "<font size=2>Subject</font>",
        "<font size=2>Started by</font>",
        "<font size=2>Replies</font>",
        "<font size=2>Views</font>",
        "<font size=2>Last post</font>",
        tag="td",
    )
    return frame(
        "Board",
        "<table class=bordercolor><tr><td><table"
        f" cellspacing=1>{heads}{_rows(forum, one)}</table></td></tr></table>",
    )


def flat_dates(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads: date and clock time in separate elements, the author
    after the title, the last author below the time."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        link = f"/ubbthreads.php/topics/{t.number}/{slug(t)}"
        return (
            "<tr><td class='topicicon alt-1'><img src='/i/book.gif' alt=''></td><td"
            " class='topicsubject"
            f" alt-1'><div>{'<img src=/i/sticky.gif alt=Sticky> ' if t.pinned else ''}<a"
            f" href='{link}'>{_e(t.title)}</a></div><span class=small>by <span itemprop=author><a"
            f" href='/ubbthreads.php/users/{_id(a)}/x'>{_e(a.author)}</a></span>. <span"
            f" class=date>{a.posted:%m/%d/%Y}</span> <span"
            f" class=time>{a.posted:%I:%M %p}</span></span></td><td class='topicreplies"
            f" alt-1'>{t.replies}</td><td class='topicviews alt-1'>{t.views:,}</td><td"
            f" class='topictime alt-1'><a href='{link}#Post{b.number}'><span"
            f" class=date>{b.posted:%m/%d/%Y}</span> <span"
            f" class=time>{b.posted:%I:%M %p}</span></a><br>by <a"
            f" href='/ubbthreads.php/users/{_id(b)}/x'><span"
            f" class=username>{_e(b.author)}</span></a></td></tr>"
        )

    heads = _heads(
        "",
        "Thread",
        "<a href='?sort=r'>Replies</a>",
        "<a href='?sort=v'>Views</a>",
        "<a href='?sort=d'>Last Post</a>",
        tag="td",
    )
    return frame(
        "Board",
        "<table class=t_outer><tr><td><table"
        f" class=t_inner>{heads}{_rows(forum, one)}</table></td></tr></table>",
    )


def tabular(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads. Ordered lists as rows, with nested ordered lists as
    cells; label and value shown twice, and the count again for small screens."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        link = f"/thread/{t.number}-{slug(t)}/"
        return (
            f"<li class=tabularListRow><ol id='thread{t.number}' class='tabularListColumns"
            f" messageGroup wbbThread{' sticky' if t.pinned else ''}'><li class='columnIcon"
            f" columnAvatar'><div><p class=framed><img src='/a/{_id(a)}.png'"
            " alt=''></p></div></li><li"
            f" class=columnSubject>{'<span class=badge>Wichtig</span>' if t.pinned else ''}<h3><a"
            f" href='{link}' class='messageGroupLink wbbTopicLink'>{_e(t.title)}</a></h3><aside"
            f" class=statusDisplay></aside><small class=messageInfo><a href='/user/{_id(a)}-x/'"
            f" class=userLink>{_e(a.author)}</a> <span class=separatorLeft></span><a href='{link}'"
            f" class=permalink><time datetime='{_z(a)}' class=datetime"
            f" data-timestamp='{a.posted.timestamp():.0f}'>{a.posted.day}. {a.posted:%m}."
            f" {a.posted.year}</time></a></small></li><li class=columnStats><dl class='plain"
            f" statsDataList'><dt>Antworten</dt><dd>{t.replies}</dd></dl><dl class='plain"
            f" statsDataList'><dt>Zugriffe</dt><dd>{t.views / 1000:.1f}k</dd></dl><div"
            f" class=messageGroupListStatsSimple><span>{t.replies}</span></div></li><li"
            f" class=columnLastPost><div class='box32'><a href='{link}?action=lastPost'"
            " class=jsTooltip title='Zum letzten Beitrag'><p class=framed><img"
            f" src='/a/{_id(b)}.png' alt=''></p></a><div><p><a href='/user/{_id(b)}-x/'"
            f" class=userLink>{_e(b.author)}</a></p><small><time datetime='{_z(b)}' class=datetime"
            f" data-timestamp='{b.posted.timestamp():.0f}'>{b.posted.day}. {b.posted:%m}."
            f" {b.posted.year}</time></small></div></div></li></ol></li>"
        )

    head = (
        "<li class='tabularListRow tabularListRowHead'><ol class=tabularListColumns><li"
        " class=columnSubject><a href='?sortField=topic'>Thema</a></li><li class=columnStats><a"
        " href='?sortField=replies'>Antworten</a></li><li class=columnLastPost><a"
        " href='?sortField=lastPostTime'>Letzte Antwort</a></li></ol></li>"
    )
    return frame(
        "Forum",
        "<div class='section tabularBox'><ol"
        f" class=tabularList>{head}{_rows(forum, one)}</ol></div>",
    )


def java_pages(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads. Columns for replies, author, views and last message;
    long threads have page links beside their titles."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        go = (
            f"<br><span class=gensmall>[Go to Page: <a href='/posts/list/0/{t.number}.page'>1</a>,"
            f" <a href='/posts/list/15/{t.number}.page'>2</a>]</span>"
            if t.replies > 8
            else ""
        )
        return (
            "<tr class=bg_small_yellow><td class=row1 width=20><img class=icon_folder"
            " src='/i/transp.gif' alt=''></td><td class=row1 width=100%><span"
            f" class=topictitle>{'<b>Sticky:</b> ' if t.pinned else ''}<a"
            f" href='/posts/list/{t.number}.page'>{_e(t.title)}</a>{go}</span></td><td class=row2"
            f" align=center><span class=postdetails>{t.replies}</span></td><td class=row3"
            " align=center><span class=name><a"
            f" href='/user/profile/{_id(a)}.page'>{_e(a.author)}</a></span></td><td class=row2"
            f" align=center><span class=postdetails>{t.views}</span></td><td class=row3 nowrap"
            f" align=center><span class=postdetails>{forum.when(b.posted)}<br><a"
            f" href='/user/profile/{_id(b)}.page'>{_e(b.author)}</a> <a"
            f" href='/posts/list/{t.number}.page#{b.number}'><img class=icon_latest_reply"
            " src='/i/transp.gif' alt='[Latest Reply]'></a></span></td></tr>"
        )

    heads = (
        "<tr><th colspan=2>Topics</th><th>Replies</th><th>Author</th><th>Views</th><th>Last"
        " Message</th></tr>"
    )
    return frame("Board", f"<table class=forumline>{heads}{_rows(forum, one)}</table>")


def asp_table(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads. An old ASP table: the icon is a link too, the date in
    bold before the clock time, "by:" before the person."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        return (
            f"<tr><td bgcolor=#F7F7F7 align=center><a href='topic.asp?TOPIC_ID={t.number}'><img"
            f" src='icon_folder{'_sticky' if t.pinned else ''}.gif'"
            f" alt='{'Sticky Topic' if t.pinned else 'No New Posts'}'></a></td><td"
            " bgcolor=#F7F7F7><span class=spnMessageText><a"
            f" href='topic.asp?TOPIC_ID={t.number}'>{_e(t.title)}</a>&nbsp;</span></td><td><span"
            " class=spnMessageText><a"
            f" href='pop_profile.asp?mode=display&amp;id={_id(a)}'>{_e(a.author)}</a></span></td>"
            f"<td"
            f" align=center>{t.replies}</td><td align=center>{t.views}</td><td nowrap><font"
            f" size=1><b>{b.posted:%d/%m/%Y}</b>&nbsp;{b.posted:%H:%M:%S}<br>by:&nbsp;<a"
            f" href='pop_profile.asp?mode=display&amp;id={_id(b)}'>{_e(b.author)}</a>&nbsp;<a"
            f" href='topic.asp?TOPIC_ID={t.number}&amp;whichpage=1#{b.number}'><img"
            " src='icon_go_right.gif' alt='Jump to Last Post'></a></font></td></tr>"
        )

    heads = (
        "<tr><td>&nbsp;</td><td><b>Topic</b></td><td><b>Author</b></td><td><b>Replies</b></td><td>"
        "<b>Read</b></td><td><b>Last"
        " Post</b></td></tr>"
    )
    return frame("Board", f"<table>{heads}{_rows(forum, one)}</table>")


def hosted(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads: cells with semantic names, times in data attributes,
    "by" as a label shown on some screens only."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        return (
            f"<tr class='item thread thread-{t.number}' id='thread-{t.number}'><td"
            f" class=icon><div><a href='/thread/{t.number}/{slug(t)}'><img src='/i/thread.png'"
            " alt='Thread'></a></div></td><td class='main clickable'><span"
            f" class='stickied-icon'>{'<img src=/i/sticky.png title=Sticky>' if t.pinned else ''}"
            f"</span><span"
            " class='link target'><a class='thread-link'"
            f" href='/thread/{t.number}/{slug(t)}'>{_e(t.title)}</a></span></td><td"
            f" class=created-by><span class=label>by</span> <a class='user-link user-{_id(a)}'"
            f" href='/user/{_id(a)}' itemprop=url title='@x'><span"
            f" itemprop=name>{_e(a.author)}</span></a></td><td class=replies>{t.replies}</td><td"
            f" class=views>{t.views:,}</td><td class='latest last clickable'><a"
            f" href='/post/{b.number}/thread' title='View latest post'>View</a> <span"
            " class=date_and_user><abbr class='o-timestamp time'"
            f" data-timestamp='{b.posted.timestamp() * 1000:.0f}' title='{b.posted:%b}"
            f" {b.posted.day}, {b.posted:%Y %H:%M:%S} GMT'>{forum.when(b.posted)}</abbr><br>by <a"
            f" class=user-link href='/user/{_id(b)}'>{_e(b.author)}</a></span></td></tr>"
        )

    heads = (
        "<thead><tr class=head><th class=icon></th><th class=main><a"
        " href='?sort=s'>Subject</a></th><th class=created-by>Created By</th><th"
        " class=replies>Replies</th><th class=views>Views</th><th class='latest last'>Last"
        " Post</th></tr></thead>"
    )
    return frame(
        "Board",
        "<div class='container threads'><div class=content><table"
        f" class=list>{heads}<tbody>{_rows(forum, one)}</tbody></table></div></div>",
    )


def voices(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads. Each row is a list: title, number of participants,
    number of replies, time of the last post with its author below."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        voices = len({post.author for post in t.posts})
        link = f"/forums/topic/{slug(t)}-{t.number}/"
        return (
            f"<ul id='bbp-topic-{t.number}' class='loop-item-{t.number % 2}"
            f" {'sticky' if t.pinned else ''} post-{t.number} topic type-topic'><li"
            f" class=bbp-topic-title><a class=bbp-topic-permalink href='{link}'>{_e(t.title)}</a><p"
            " class=bbp-topic-meta><span class=bbp-topic-started-by>Started by: <a"
            f" href='/forums/users/u{_id(a)}/' class=bbp-author-link><span"
            f" class=bbp-author-avatar><img src='/a/{_id(a)}' width=14></span><span"
            f" class=bbp-author-name>{_e(a.author)}</span></a></span></p></li><li"
            f" class=bbp-topic-voice-count>{voices}</li><li"
            f" class=bbp-topic-reply-count>{t.replies}</li><li class=bbp-topic-freshness><a"
            f" href='{link}#post-{b.number}' title='{_e(t.title)}'>{forum.when(b.posted)}</a><p"
            " class=bbp-topic-meta><span class=bbp-topic-freshness-author><a"
            f" href='/forums/users/u{_id(b)}/' class=bbp-author-link><span"
            f" class=bbp-author-avatar><img src='/a/{_id(b)}' width=14></span><span"
            f" class=bbp-author-name>{_e(b.author)}</span></a></span></p></li></ul>"
        )

    head = (
        "<li class=bbp-header><ul class=forum-titles><li class=bbp-topic-title>Topic</li><li"
        " class=bbp-topic-voice-count>Voices</li><li class=bbp-topic-reply-count>Replies</li><li"
        " class=bbp-topic-freshness>Last Post</li></ul></li>"
    )
    return frame(
        "Board",
        f"<ul id=bbp-forum-7 class=bbp-topics>{head}<li class=bbp-body>{_rows(forum, one)}</li><li"
        " class=bbp-footer><div class=tr><p></p></div></li></ul>",
    )


def component(forum: RandomForum) -> str:
    """Returns a list of threads: author below the title, two labelled counts in a cell, last author
    above the time."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        link = f"/forum/7-general/{t.number}-{slug(t)}"
        return (
            f"<tr class=category id='topic{t.number}'><td class='hidden-phone center'><a"
            f" href='{link}?start=0#{b.number}' title='View'><span"
            f" class='icon-chat'></span></a></td><td><div class=hasTooltip><a href='{link}'"
            f" class='hasTooltip topictitle' title='{_e(a.text[:50])}'>{_e(t.title)}</a>"
            f" {'<span class=kicon-topicsticky title=Sticky></span>' if t.pinned else ''}</div><div"
            " class=hidden-phone>Topic started <span"
            f" title='{a.posted:%d %b %Y %H:%M}'>{a.posted:%d %b %Y}</span>, by <a class=kwho-user"
            f" href='/forum/user/{_id(a)}-x' title=\"View profile\""
            f" rel=nofollow>{_e(a.author)}</a></div></td><td class=hidden-phone><div"
            f" class=replies>Replies: <span class=repliesnum>{t.replies}</span></div><div"
            f" class=views>Views: <span class=viewsnum>{t.views:,}</span></div></td><td><div"
            f" class=avatar><a href='/forum/user/{_id(b)}-x'><img src='/m/{_id(b)}.png' alt=\"x's"
            ' Avatar"></a></div><div class=post-info><span>Last post by <a class=kwho-user'
            f" href='/forum/user/{_id(b)}-x'>{_e(b.author)}</a></span><br><span class=datepost"
            f" title='{forum.when(b.posted)}'>{forum.when(b.posted)}</span></div></td></tr>"
        )

    return frame(
        "Board",
        "<form><table class='table"
        f" table-striped'><tbody>{_rows(forum, one)}</tbody></table></form>",
    )


def tiles(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads: articles with a list of people and times in one
    sentence, then a list of counts that includes kudos."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        return (
            "<article class='custom-message-tile"
            f" {'custom-thread-floated' if t.pinned else ''}'><div class=user-avatar><a"
            f" href='/t5/user/viewprofilepage/user-id/{_id(a)}'><img src='/a/{_id(a)}'"
            f" alt='{_e(a.author)}'></a></div><div class=content><h3><a"
            f" href='/t5/General/{slug(t)}/td-p/{t.number}'"
            f" title='{_e(a.text[:40])}'>{_e(t.title)}</a></h3><p class=info>by <a class=author"
            f" href='/t5/user/viewprofilepage/user-id/{_id(a)}'>{_e(a.author)}</a> on"
            f" <time>\u200e{a.posted:%m-%d-%Y %I:%M %p}</time> <span>Latest post on"
            f" <time>\u200e{b.posted:%m-%d-%Y %I:%M %p}</time> by <a"
            f" href='/t5/user/viewprofilepage/user-id/{_id(b)}'>{_e(b.author)}</a></span></p><ul"
            f" class=stats><li class=custom-tile-kudos><b>{t.number % 9}</b> Kudos</li><li"
            f" class=custom-tile-replies><b>{t.replies}</b> Replies</li><li"
            f" class=custom-tile-views><b>{t.views}</b> Views</li></ul></div></article>"
        )

    return frame("Board", f"<section class=custom-message-list>{_rows(forum, one)}</section>")


def nodes(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads: node numbers as addresses, "By" before both people,
    each with a time."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        last = (
            f"By <a href='/user/{_id(b)}'"
            f" class=username>{_e(b.author)}</a><br>{forum.when(b.posted)}"
        )
        return (
            f"<tr class='{'odd' if t.number % 2 else 'even'}'><td class=forum__icon><div"
            f" class='topic-status-{'sticky' if t.pinned else 'default'}'"
            f" title='{'Sticky topic' if t.pinned else 'Normal topic'}'><span"
            f" class=visually-hidden>{'Sticky topic' if t.pinned else 'Normal topic'}</span></div>"
            f"</td><td"
            f" class=forum__title><div><a href='/node/{t.number}'>{_e(t.title)}</a></div><div"
            f" class=submitted>By <a href='/user/{_id(a)}' class=username>{_e(a.author)}</a>"
            f" {forum.when(a.posted)}</div></td><td class=forum__replies>{t.replies}</td><td"
            f" class=forum__last-reply>{last}</td></tr>"
        )

    heads = (
        "<thead><tr><th colspan=2>Topic</th><th>Replies</th><th><a href='?order=Last'>Last"
        " reply</a></th></tr></thead>"
    )
    return frame(
        "Forum",
        "<table id='forum-topic-7'"
        f" class=forum__topics>{heads}<tbody>{_rows(forum, one)}</tbody></table>",
    )


def university(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads. Two columns called author: of the opening post and of
    the last reply, each after its date."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        return (
            f"<tr{' class=top' if t.pinned else ''}><td class=title_8><a target=_blank"
            f" href='/nForum/article/Life/{t.number}' title='在新窗口打开此主题'><samp class='tag"
            f" {'ico-pos-article-top' if t.pinned else 'ico-pos-article-normal'}'></samp></a></td>"
            f"<td"
            f" class=title_9><a href='/nForum/article/Life/{t.number}'>{_e(t.title)}</a></td><td"
            f" class=title_10>{a.posted:%Y-%m-%d}</td><td class=title_12>|&emsp;<a"
            f" href='/nForum/user/query/{_e(a.author)}' class=c63f>{_e(a.author)}</a></td><td"
            f" class='title_11 middle'>{t.replies}</td><td class=title_10><a"
            f" href='/nForum/article/Life/{t.number}?p={t.replies // 10 + 1}#a{t.replies}'"
            f" title='跳转至最后回复'>{forum.when(b.posted)}</a></td><td class=title_12>|&emsp;<a"
            f" href='/nForum/user/query/{_e(b.author)}' class=c09f>{_e(b.author)}</a></td></tr>"
        )

    heads = (
        "<thead><tr><th class=title_8>状态</th><th class='title_9 middle'>主题</th><th"
        " class=title_10>发帖时间</th><th class='title_12 middle'>作者</th><th class='title_11"
        " middle'>回复</th><th class=title_10>最新回复</th><th class='title_12"
        " middle'>作者</th></tr></thead>"
    )
    return frame(
        "版面",
        "<div class=b-content><table class='board-list"
        f" tiz'>{heads}<tbody>{_rows(forum, one)}</tbody></table></div>",
    )


def summaries(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads: questions with score, answers and views, each with a
    tooltip, and a card of the last author with a reputation score."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        stats = "".join(
            f"<div class='s-post-summary--stats-item' title='{title}'><span"
            f" class='s-post-summary--stats-item-number'>{number}</span><span"
            f" class='s-post-summary--stats-item-unit'>{unit}</span></div>"
            for title, number, unit in (
                (f"Score of {t.number % 7}", t.number % 7, "votes"),
                (f"{t.replies} answers", t.replies, "answers"),
                (f"{t.views} views", t.views, "views"),
            )
        )
        return (
            f"<div id='question-summary-{t.number}' class='s-post-summary js-post-summary'"
            f" data-post-id={t.number}><div class='s-post-summary--stats"
            f" js-post-summary-stats'>{stats}</div><div"
            f" class='s-post-summary--content'>"
            f"{'<div class=s-badge>Pinned</div>' if t.pinned else ''}<h3"
            f" class='s-post-summary--content-title'><a href='/questions/{t.number}/{slug(t)}'"
            f" class=s-link>{_e(t.title)}</a></h3><div"
            f" class='s-post-summary--content-excerpt'>{_e(a.text[:120])}</div><div"
            " class='s-post-summary--meta'><div class='s-post-summary--meta-tags'><ul><li><a"
            " href='/questions/tagged/lamp' class='post-tag'>lamp</a></li></ul></div><div"
            f" class='s-user-card s-user-card__minimal'><a href='/users/{_id(b)}/x'"
            f" class='s-avatar'><div class='gravatar-wrapper-16'><img src='/a/{_id(b)}'"
            " class='s-avatar--image'></div></a><div class='s-user-card--info'><div"
            f" class='s-user-card--link'><a href='/users/{_id(b)}/x'>{_e(b.author)}</a></div><ul"
            " class='s-user-card--awards'><li class='s-user-card--rep'><span title='reputation"
            f" score {_id(b) * 7}'>{_id(b) * 7:,}</span></li></ul></div><time"
            f" class='s-user-card--time'>modified <span title='{b.posted:%Y-%m-%d %H:%M:%S}Z'"
            f" class=relativetime>{forum.when(b.posted)}</span></time></div></div></div></div>"
        )

    return frame("Questions", f"<div id=questions class=flush-left>{_rows(forum, one)}</div>")


def server_forum(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads. Rows of a commercial platform: last post by a person
    and a time, then replies and views, the author below the title."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        return (
            "<tr><td class=CommonListCell><div"
            f" class={'ForumStickyThread' if t.pinned else 'ForumThread'}></div></td><td"
            " class=CommonListCellLeftMost><a class=ForumName"
            f" href='/forums/t/{t.number}.aspx'>{_e(t.title)}</a><div class=ForumAuthor>by <a"
            f" href='/members/{_e(a.author)}/default.aspx'>{_e(a.author)}</a></div></td><td"
            " class=CommonListCell><div class=ForumLastPost>Latest: <b><a"
            f" href='/forums/p/{t.number}/{b.number}.aspx#{b.number}'>by</a></b> <a"
            f" href='/members/{_e(b.author)}/default.aspx'>{_e(b.author)}</a><br>"
            f"{forum.when(b.posted)}</div></td><td"
            f" class=CommonListCell align=center>{t.replies}</td><td class=CommonListCell"
            f" align=center>{t.views:,}</td></tr>"
        )

    heads = (
        "<thead><tr><th class=CommonListHeader colspan=2><a href='?s=t'>Thread</a></th><th><a"
        " href='?s=l'>Latest Post</a></th><th><a href='?s=r'>Replies</a></th><th><a"
        " href='?s=v'>Views</a></th></tr></thead>"
    )
    return frame(
        "Forum", f"<table class=CommonListArea>{heads}<tbody>{_rows(forum, one)}</tbody></table>"
    )


def mail_archive(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads. Threads of a mailing list: participants and comments,
    the author, the last activity beside an icon."""

    def one(t: Topic, a: Reply, b: Reply) -> str:
        people = len({post.author for post in t.posts})
        return (
            "<div class='thread row'><div class='col-12'><div class='thread-title'><a"
            f" name='T{t.number}'"
            f" href='/archives/list/talk@forum.example/thread/"
            f"{'%032X' % (t.number * 7919 * 10**20)}/'>{_e(t.title)}</a></div><div"
            f" class='thread-info d-flex'><div>by {_e(a.author)}</div><div class='participants'><i"
            f" class='fa fa-users'></i> {people} participants</div><div class='replies'><i"
            f" class='fa fa-comment'></i> {t.replies} replies</div><div class='date text-muted'"
            f" title='{b.posted:%A, %d %B %Y %H:%M:%S}'>{forum.when(b.posted)}</div></div></div>"
            f"</div>"
        )

    return frame("talk@forum.example", f"<div class=thread-list>{_rows(forum, one)}</div>")


_F = "http://forum.example"
SOFTWARE: dict[str, Software] = {
    "threadbits": Software(
        threadbits,
        f"{_F}/forumdisplay.php?7-General",
        lambda t: f"/showthread.php?{t.number}-{slug(t)}",
    ),
    "topic_items": Software(
        topic_items,
        f"{_F}/forum/main-forum/general",
        lambda t: f"/forum/main-forum/general/{t.number}-{slug(t)}",
    ),
    "columns": Software(
        columns, f"{_F}/forum/7-general/", lambda t: f"/topic/{t.number}-{slug(t)}/"
    ),
    "last_action": Software(
        last_action, f"{_F}/index.php?showforum=7", lambda t: f"/index.php?showtopic={t.number}"
    ),
    "aspx_tables": Software(
        aspx_tables, f"{_F}/showforum-7.aspx", lambda t: f"/showtopic-{t.number}.aspx"
    ),
    "wind": Software(wind, f"{_F}/thread.php?fid=7", lambda t: f"/read.php?tid={t.number}"),
    "cells": Software(cells, f"{_F}/go/qna", lambda t: f"/t/{t.number}"),
    "discussions": Software(
        discussions, f"{_F}/group/77/discussion?start=0", lambda t: f"/group/topic/{t.number}/?_i=1"
    ),
    "street": Software(street, f"{_F}/topic-daily", lambda t: f"/{t.number}.html"),
    "replies_first": Software(
        replies_first, f"{_F}/thread.php?fid=77", lambda t: f"/read.php?tid={t.number}"
    ),
    "clicks": Software(
        clicks, f"{_F}/list-free-1.shtml", lambda t: f"/post-free-{t.number}-1.shtml"
    ),
    "perl_board": Software(
        perl_board,
        f"{_F}/cgi-bin/YaBB.pl?board=general",
        lambda t: f"/cgi-bin/YaBB.pl?num=12680{t.number}",
    ),
    "flat_dates": Software(
        flat_dates,
        f"{_F}/ubbthreads.php/forums/7/1/general",
        lambda t: f"/ubbthreads.php/topics/{t.number}/{slug(t)}",
    ),
    "tabular": Software(
        tabular, f"{_F}/board/7-general/", lambda t: f"/thread/{t.number}-{slug(t)}/"
    ),
    "java_pages": Software(
        java_pages, f"{_F}/forums/show/7.page", lambda t: f"/posts/list/{t.number}.page"
    ),
    "asp_table": Software(
        asp_table, f"{_F}/forum.asp?FORUM_ID=7", lambda t: f"/topic.asp?TOPIC_ID={t.number}"
    ),
    "hosted": Software(hosted, f"{_F}/board/7/general", lambda t: f"/thread/{t.number}/{slug(t)}"),
    "voices": Software(
        voices, f"{_F}/forums/forum/general/", lambda t: f"/forums/topic/{slug(t)}-{t.number}/"
    ),
    "component": Software(
        component, f"{_F}/forum/7-general", lambda t: f"/forum/7-general/{t.number}-{slug(t)}"
    ),
    "tiles": Software(
        tiles, f"{_F}/t5/General/bd-p/general", lambda t: f"/t5/General/{slug(t)}/td-p/{t.number}"
    ),
    "nodes": Software(nodes, f"{_F}/forum/7", lambda t: f"/node/{t.number}"),
    "university": Software(
        university, f"{_F}/nForum/board/Life", lambda t: f"/nForum/article/Life/{t.number}"
    ),
    "summaries": Software(
        summaries, f"{_F}/questions?tab=Active", lambda t: f"/questions/{t.number}/{slug(t)}", "rl"
    ),
    "server_forum": Software(
        server_forum, f"{_F}/forums/7.aspx", lambda t: f"/forums/t/{t.number}.aspx"
    ),
    "mail_archive": Software(
        mail_archive,
        f"{_F}/archives/list/talk@forum.example/",
        lambda t: (
            f"/archives/list/talk@forum.example/thread/{'%032X' % (t.number * 7919 * 10**20)}/"
        ),
    ),
}
