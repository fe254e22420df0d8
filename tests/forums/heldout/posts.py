"""Markup of thread pages that imitates two kinds of forum software (JForum and phpBB 3.0) and two
hand-written sites; some posts contain nested quotes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import timedelta
from urllib.parse import quote as q

from tests.forums.boards import NOW, RandomForum, Reply, Topic
from tests.forums.heldout.frames import site, subsilver
from tests.forums.heldout.kit import (
    ThreadMarkup,
    e,
    jump,
    member_links,
    news,
    paras,
    uid,
    word,
    words,
)
from tests.forums.heldout.times import jf_time, slash_month, spoken_day, subsilver_time


def deepen(t: Topic) -> Topic:
    """Returns a copy of the thread with more quotes; some quote a post that itself contains a
    quote."""
    t = copy.deepcopy(t)
    for k in range(1, len(t.posts)):
        if (t.number + k) % 5 < 3:
            t.posts[k].quote = t.posts[k - 1].author, t.posts[k - 1].text
    return t


def nest(t: Topic, k: int, form: Callable[[Reply, str], str], depth: int = 3) -> str:
    """Returns the quote in post k as HTML, with a quote of the post before nested inside it, and so
    on, at most `depth` levels. `form` renders a quote from the quoted post and the HTML of its
    content."""
    post = t.posts[k]
    if not post.quote or not depth:
        return ""
    return form(t.posts[k - 1], nest(t, k - 1, form, depth - 1) + paras(post.quote[1], "br"))


def mixed(topics: list[Topic]) -> list[Topic]:
    """Selects from `topics` one thread with a single post, one with a few posts and one with many,
    as far as there are any."""
    wants = (lambda n: n == 0, lambda n: n in (1, 2, 3), lambda n: 3 < n < 10)
    found = [next((t for t in topics if want(t.replies)), None) for want in wants]
    return [deepen(t) for t in found if t]


def late_days(topics: list[Topic]) -> list[Topic]:
    """Threads with posts on a day of the month above 12, if there are any, so that it cannot be
    mistaken for a month."""
    some = [t for t in topics if 0 < t.replies < 10]
    return [
        deepen(t)
        for t in sorted(some, key=lambda t: -min(13, max(p.posted.day for p in t.posts)))[:3]
    ]


def jforum_posts(f: RandomForum, t: Topic) -> str:
    """Returns a thread page in the markup of JForum 2.1."""
    m = words(f)

    def quoted(p: Reply, inner: str) -> str:
        return (
            f'<blockquote class="quote"><cite>{e(p.author)}'
            f" {m.orig}:</cite><br>{inner}</blockquote>"
        )

    def one(k: int, p: Reply) -> str:
        rank = ("Stranger", "Regular")[uid(p.author) % 2]
        edited = (
            f"""<p class="gensmall"><i>{m.edit} {e(p.author)} \
({jf_time(f, p.posted + timedelta(minutes=7))})</i></p>"""
            if p.number % 6 == 0
            else ""
        )
        sign = f"<hr>{m.sign}" if uid(p.author) % 3 == 0 else ""
        return f"""<tr><td colspan="2"><a name="{p.number}"></a></td></tr>
<tr><td class="row{1 + k % 2}" width="200" valign="top"><span class="genmed"><b>\
<a href="/user/profile/{uid(p.author)}.page">{e(p.author)}</a></b></span><br>\
<span class="gensmall">{m.rank} <br><img src="/images/transp.gif" class="rank{uid(p.author) % 4}" \
alt="{rank}"><br><img src="/images/avatar/{uid(p.author)}.gif" border="0" alt="[Avatar]"><br>\
<br>{m.joined}: {NOW.year - 5 - uid(p.author) % 9}<br>{m.messages}: {uid(p.author) % 900 + 3}\
<br>{m.offline}</span></td>
<td class="row{1 + k % 2}" valign="top"><table width="100%" border="0" cellspacing="0" \
cellpadding="0"><tr>
<td width="30%" nowrap="nowrap"><a href="/posts/list/{t.number}.page#{p.number}">\
<img src="/templates/default/images/icon_minipost_new.gif" alt="[Post New]" border="0"></a>\
<span class="postdetails">{jf_time(f, p.posted)}</span></td>
<td width="50%"><span class="gensmall"><b>{m.subject}:</b> {"Re:" if k else ""}{e(t.title)}</span>\
</td>
<td align="right" nowrap="nowrap"><a href="/posts/quote/0/{p.number}.page" rel="nofollow" \
class="icon_quote"><img src="/images/transp.gif" alt="{m.quote}"></a> <a class="nav" href="#top">\
<img src="/templates/default/images/icon_up.gif" class="icon_up" alt="[Up]"></a></td></tr>
<tr><td colspan="3" width="100%"><hr></td></tr>
<tr><td colspan="3" valign="top"><span id="post_text_{p.number}" \
class="postbody">{nest(t, k, quoted)}{paras(p.text, "br")}\
</span>{edited}{f'<span class="genmed">{sign}</span>' if sign else ""}</td></tr></table></td></tr>
<tr><td class="row{1 + k % 2}" width="150" align="left" valign="middle"></td>\
<td width="100%" height="28" valign="bottom" class="row{1 + k % 2}">\
<table border="0" cellspacing="0" cellpadding="0"><tr><td valign="middle">\
<a href="/user/profile/{uid(p.author)}.page" class="icon_profile">\
<img src="/images/transp.gif" alt="[{m.profile}]"></a> \
<a href="/pm/sendTo/{uid(p.author)}.page" class="icon_pm">\
<img src="/images/transp.gif" alt="{m.pm}"></a></td></tr></table></td></tr>
<tr><td class="spacerow" colspan="2" height="1">\
<img src="/images/transp.gif" alt="" width="1" height="1"></td></tr>"""

    near = "".join(
        '<tr><td class="row1" colspan="2"><a class="gensmall"'
        f' href="/posts/list/{900 + i}.page">{e(s)}</a></td></tr>'
        for i, s in enumerate(news(f)[:3])
    )
    return f"""<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">
<html><head><title>{e(t.title)} - Lighthouse</title>\
<meta http-equiv="Content-Type" content="text/html; charset=UTF-8">\
<link rel="stylesheet" type="text/css" href="/templates/default/styles/style.css?1290000000">\
<script type="text/javascript">function gotoForum(f) {{ document.location = "/forums/show/" + f + \
".page"; }}</script></head>
<body class="bodyStyle" bgcolor="#FFFFFF"><table width="100%" border="0"><tr><td>\
<table cellspacing="0" cellpadding="0" width="100%" border="0"><tr><td><a href="/">\
<img src="/templates/default/images/logo.jpg" border="0" alt="[Logo]"></a></td>\
<td width="100%" align="center" valign="middle"><span class="boardtitle">Lighthouse</span>\
<table cellspacing="0" cellpadding="2" border="0"><tr><td align="center"><span class="mainmenu">\
<img src="/images/transp.gif" class="icon_mini_search" alt="[Search]">\
<a href="/search/filters.page" class="mainmenu"><b>{m.search}</b></a> &nbsp; \
<a class="mainmenu" href="/recentTopics/list.page">{m.hot}</a> &nbsp; \
<a class="mainmenu" href="/user/list.page">{m.members}</a> &nbsp; \
<a href="/forums/list.page" class="mainmenu">{m.home}</a><br>\
<a href="/user/insert.page" class="mainmenu">{m.register}</a> / \
<a href="/user/login.page" class="mainmenu">{m.login}</a></span></td></tr></table></td></tr>\
</table></td></tr><tr><td>
<table cellspacing="0" cellpadding="10" width="100%" align="center" border="0"><tr>\
<td class="bodyline"><a name="top"></a><table width="100%" align="center"><tr>\
<td align="left" valign="bottom" colspan="2"><span class="maintitle">\
<a href="/posts/list/{t.number}.page" name="top" class="maintitle" id="top">{e(t.title)}</a></span>\
</td></tr></table>
<table width="100%"><tr><td width="5%"><a href="/posts/reply/0/{t.number}.page" class="icon_reply">\
<img src="/images/transp.gif" alt="{m.reply}"></a></td>\
<td class="nav" valign="middle" align="left"><a class="nav" href="/forums/list.page">{m.forums}\
</a> &raquo; <a class="nav" href="/forums/show/3.page">{m.general}</a></td><td align="right"></td>\
</tr></table>
<table class="forumline" cellspacing="1" cellpadding="3" width="100%" border="0"><tr>\
<th class="thleft" nowrap="nowrap" width="150" height="26">{m.author}</th>\
<th class="thright" nowrap="nowrap" width="100%">{m.messages if f.language != "zh" else "内容"}</th>\
</tr>
{"".join(one(k, p) for k, p in enumerate(t.posts))}
<tr align="center"><td class="catbottom" colspan="2" height="28">&nbsp;</td></tr></table>
<br><table class="forumline" width="100%" cellspacing="1"><tr><th colspan="2">{m.more}</th>\
</tr>{near}</table>
{jump(f)}<table width="100%" align="center"><tr><td align="center">\
<span class="copyright">Powered by <a href="http://www.jforum.net">JForum 2.1.8\
</a> &copy; JForum Team</span></td></tr></table></td></tr></table></td></tr></table></body>\
</html>"""


def subsilver2_posts(f: RandomForum, t: Topic) -> str:
    """Returns the HTML of a page of posts. phpBB 3.0's table style: a table per post."""
    m = words(f)

    def quoted(p: Reply, inner: str) -> str:
        return (
            f'<div class="quotetitle">{e(p.author)} {m.wrote}:</div><div'
            f' class="quotecontent">{inner}</div>'
        )

    def one(k: int, p: Reply) -> str:
        r = 1 + k % 2
        edited = (
            f'<br clear="all" /><span class="gensmall">{m.edited} <a'
            f' href="./memberlist.php?mode=viewprofile&amp;u={uid(p.author)}">{e(p.author)}</a>'
            f" {m.on} {subsilver_time(f, p.posted + timedelta(minutes=9))}</span>"
            if p.number % 5 == 0
            else ""
        )
        sign = (
            f'<span class="postbody"><br />_________________<br />{m.sign}</span>'
            if uid(p.author) % 3 == 1
            else ""
        )
        return f"""<table class="tablebg" width="100%" \
cellspacing="1">{
            f"<tr><th>{m.author}</th><th>{m.messages if f.language != 'zh' else '内容'}</th></tr>"
            if not k
            else ""
        }
<tr class="row{r}"><td align="center" valign="middle"><a name="p{p.number}"></a>\
<b class="postauthor">{e(p.author)}</b></td>
<td width="100%" height="25"><table width="100%" cellspacing="0"><tr>\
<td class="gensmall" width="100%"><div style="float: left;">&nbsp;<b>{m.psub}:\
</b> {"Re: " if k else ""}{e(t.title)}</div><div style="float: right;">\
<a href="./viewtopic.php?p={p.number}#p{p.number}">\
<img src="./styles/subsilver2/imageset/icon_post_target.gif" width="12" height="9" \
alt="{m.postno}" title="{m.postno}" /></a><b>{m.dated}:</b> {subsilver_time(f, p.posted)}&nbsp;\
</div></td></tr></table></td></tr>
<tr class="row{r}"><td valign="top" class="profile">\
<table cellspacing="4" align="center" width="150"><tr><td class="postdetails">{m.rank}</td></tr>\
<tr><td><img src="./download/file.php?avatar={uid(p.author)}.jpg" width="90" height="90" alt="" />\
</td></tr></table><span class="postdetails"><br /><b>{m.joined}:\
</b> {subsilver_time(f, NOW - timedelta(days=1400 + uid(p.author) % 1900, minutes=uid(p.author)))}\
<br /><b>{m.postsn}:</b> {uid(p.author) % 700 + 2}<br /><b>{m.location}:\
</b> {("Leeds", "Köln", "Казань", "杭州")[uid(p.author) % 4]}<br /></span>\
<img src="./styles/subsilver2/theme/images/spacer.gif" width="120" height="1" alt="" /></td>
<td valign="top"><table width="100%" cellspacing="5"><tr><td>\
<div class="postbody">{nest(t, k, quoted)}{paras(p.text, "br")}</div>{sign}{edited}\
<br clear="all" /><br /></td></tr></table></td></tr>
<tr class="row{r}"><td class="profile"><strong><a href="#wrapheader">{m.top}</a></strong></td><td>\
<div class="gensmall" style="float: left;">&nbsp;\
<a href="./memberlist.php?mode=viewprofile&amp;u={uid(p.author)}">\
<img src="./styles/subsilver2/imageset/{f.language}/icon_user_profile.gif" alt="{m.profile}" \
title="{m.profile}" /></a>&nbsp;</div><div class="gensmall" style="float: right;">\
<a href="./posting.php?mode=quote&amp;f=2&amp;p={p.number}">\
<img src="./styles/subsilver2/imageset/{f.language}/icon_post_quote.gif" alt="{m.quote}" \
title="{m.quote}" /></a>&nbsp;</div></td></tr>
<tr><td class="spacer" colspan="2" height="1">\
<img src="images/spacer.gif" alt="" width="1" height="1" /></td></tr></table>"""

    bar = f"""<table width="100%" cellspacing="1"><tr>\
<td align="left" valign="middle" nowrap="nowrap">\
<a href="./posting.php?mode=reply&amp;f=2&amp;t={t.number}">\
<img src="./styles/subsilver2/imageset/{f.language}\
/button_topic_{"locked" if t.locked else "reply"}.gif" alt="{m.lockedt if t.locked else m.reply}" \
title="{m.lockedt if t.locked else m.reply}" /></a></td>\
<td class="nav" valign="middle" nowrap="nowrap">&nbsp;{m.page} <strong>1</strong> / <strong>1\
</strong><br /></td><td class="gensmall" nowrap="nowrap">&nbsp;[ {len(t.posts)} {m.postsn} ]&nbsp;\
</td></tr></table>"""
    body = f"""<div id="pageheader"><h2><a class="titles" \
href="./viewtopic.php?f=2&amp;t={t.number}">{e(t.title)}</a></h2><p class="moderators">{m.mods}: \
<a href="./memberlist.php?mode=viewprofile&amp;u=2">admin</a></p></div><br clear="all" />\
<div id="pagecontent">{bar}
<table class="tablebg" width="100%" cellspacing="1"><tr><td class="cat">\
<table width="100%" cellspacing="0"><tr><td class="nav" nowrap="nowrap">&nbsp;\
<a href="./viewtopic.php?f=2&amp;t={t.number}&amp;view=print" rel="nofollow">{m.print}</a> | \
<a href="./memberlist.php?mode=email&amp;t={t.number}">{m.email}</a></td>\
<td class="nav" align="right" nowrap="nowrap">\
<a href="./viewtopic.php?f=2&amp;t={t.number}&amp;view=previous">{m.prev}</a> | \
<a href="./viewtopic.php?f=2&amp;t={t.number}&amp;view=next">{m.next}</a>&nbsp;</td></tr></table>\
</td></tr></table>
{chr(10).join(one(k, p) for k, p in enumerate(t.posts))}
<table width="100%" cellspacing="1" class="tablebg"><tr align="center"><td class="cat">\
<form name="viewtopic" method="post" action="./viewtopic.php?f=2&amp;t={t.number}">\
<span class="gensmall">{m.sortby}</span> <select name="sk">\
<option value="t" selected="selected">{m.date}</option><option value="a">{m.author}</option>\
</select>&nbsp;<input class="btnlite" type="submit" value="{m.go}" name="sort" /></form></td></tr>\
</table>{bar}</div>"""
    return subsilver(f, t.title, body, f' &#187; <a href="./viewforum.php?f=2">{m.general}</a>')


def details_posts(f: RandomForum, t: Topic) -> str:
    """Returns the HTML of a page of posts. An ordered list of articles; author, time and number in
    a definition list under a heading; quotes are nested open details elements."""
    m = words(f)
    u = f"https://green.example/groups/allotment/t/{t.number}"

    def quoted(p: Reply, inner: str) -> str:
        return (
            f'<details class="cite" open><summary><a href="#a{p.number}">{e(p.author)}</a>'
            f" {m.orig}:</summary><div>{inner}</div></details>"
        )

    def one(k: int, p: Reply) -> str:
        thanks = (
            f'<p class="thanks">{2 + p.number % 5} {m.helpful}</p>' if p.number % 3 == 0 else ""
        )
        edited = (
            f'<p class="fine">{m.edit} <a href="/people/{q(p.author)}">{e(p.author)}</a>,'
            f" {spoken_day(f, p.posted + timedelta(minutes=21))}</p>"
            if p.number % 7 == 0
            else ""
        )
        tag = (
            f' <span class="pill">{m.starter if f.language != "en" else "Started this"}</span>'
            if k and p.author == t.posts[0].author
            else ""
        )
        sign = f'<div class="motto">{m.sign}</div>' if uid(p.author) % 4 == 0 else ""
        return f"""<li id="a{p.number}" value="{k + 1}"><article class="entry">
<img class="face" src="/media/face/{uid(p.author)}_m.jpg" alt="" width="64" height="64">
<dl class="meta"><dt>{m.who}</dt><dd><a href="/people/{q(p.author)}">{e(p.author)}</a>{tag}</dd>\
<dt>{m.date}</dt><dd><a href="{u}#a{p.number}">{spoken_day(f, p.posted)}</a></dd><dt>{m.nr}</dt>\
<dd>{k + 1}</dd></dl>
<div class="said">{nest(t, k, quoted)}{paras(p.text)}</div>
{sign}{edited}{thanks}<menu class="acts"><li><button type="button">{m.like}</button></li><li>\
<a href="{u}/reply?to={p.number}">{m.quote}</a></li><li>\
<a href="/report/{p.number}" rel="nofollow">{m.report}</a></li></menu>
</article></li>"""

    body = f"""<nav class="crumbs" aria-label="breadcrumb"><ol><li><a href="/">{m.home}</a></li>\
<li><a href="/groups">{m.forums}</a></li><li><a href="/groups/allotment">{m.off}</a></li></ol></nav>
<h1>{e(t.title)}</h1><p class="sub">{t.replies} {word(f, t.replies)} · {t.views} \
{m.v1}{f' · <span class="pill">{m.locked}</span>' if t.locked else ""}</p>
<ol class="entries">
{chr(10).join(one(k, p) for k, p in enumerate(t.posts))}
</ol>
<section class="write"><h2>{m.write}</h2><p>{m.logintext} \
<a href="/login?next=/t/{t.number}">{m.login}</a> / <a href="/register">{m.register}</a></p>\
</section>"""
    return site(
        f,
        t.title,
        body,
        f'<div class="box"><h4>{m.online}</h4>{", ".join(member_links(f, 4))}</div>',
    )


def labelled_rows(f: RandomForum, t: Topic) -> str:
    """Returns the HTML of a page of posts. A private site of about 2004: a small table per post
    with a labelled row for each field, quotes in boxes."""
    m = words(f)

    def quoted(p: Reply, inner: str) -> str:
        return (
            '<table class="q" width="95%" align="center" cellpadding="4"><tr><td'
            f' class="qh"><b>{m.quote}: {e(p.author)}</b></td></tr><tr><td'
            f' class="qb">{inner}</td></tr></table>'
        )

    def one(k: int, p: Reply) -> str:
        sign = (
            f'<br><br>--<br><font size="1" color="#777777">{m.sign}</font>'
            if uid(p.author) % 3 == 2
            else ""
        )
        return f"""<a name="e{p.number}"></a>
<table class="entry" border="1" bordercolor="#336633" cellspacing="0" cellpadding="3" width="100%">
<tr bgcolor="#cfe3cf"><td width="110"><small>{m.who}:</small></td><td><b>\
<a href="user.php?id={uid(p.author)}">{e(p.author)}</a></b> \
<small>({m.messages}: {uid(p.author) % 400 + 1})</small></td>\
<td rowspan="2" width="60" align="center"><b>{k + 1}</b></td></tr>
<tr bgcolor="#cfe3cf"><td><small>{m.date}:</small></td><td><small>{slash_month(f, p.posted)}\
</small></td></tr>
<tr><td colspan="3">{nest(t, k, quoted)}{paras(p.text, "br")}{sign}</td></tr>
<tr bgcolor="#eeeeee"><td colspan="3" align="right"><small>[ \
<a href="write.php?topic={t.number}&amp;cite={p.number}">{m.quote}</a> ] [ \
<a href="mail.php?id={uid(p.author)}">{m.email}</a> ] [ <a href="#top">{m.top}</a> ]</small></td>\
</tr>
</table><br>"""

    return f"""<html><head><title>{e(t.title)}</title>\
<meta http-equiv="content-type" content="text/html; charset=utf-8">\
<link rel="stylesheet" href="board.css"></head>
<body bgcolor="#f4fff4" text="#000000"><a name="top"></a>
<table width="760" align="center" cellspacing="0" cellpadding="6" border="0"><tr>\
<td colspan="2" bgcolor="#336633"><font color="#ffffff" size="5">Lighthouse</font></td></tr>
<tr><td width="140" valign="top" bgcolor="#ddeedd"><b>{m.home}</b><br><a href="/index.php">{m.home}\
</a><br><a href="/board/">{m.forums}</a><br><a href="/board/search.php">{m.search}</a><br>\
<a href="/board/rules.php">{m.rules}</a><br><a href="/guestbook.php">{m.contact}</a><hr><b>{m.hot}\
</b><br>{
        "<br>".join(f'<a href="show.php?topic={i + 8}">{e(s)}</a>' for i, s in enumerate(news(f)))
    }<hr><form action="login.php" method="post">{m.user}<br><input name="u" size="12"><br>{
        m.pw
    }<br><input type="password" name="p" size="12"><br><input type="submit" value="{
        m.login
    }"></form></td>
<td valign="top"><small><a href="/board/">{m.forums}</a> &gt; <a href="board.php?id=2">{m.general}\
</a></small><h2>{e(t.title)}</h2>
<p><a href="write.php?topic={t.number}"><img src="pic/reply.gif" border="0" alt="{m.reply}"></a> \
<a href="write.php"><img src="pic/new.gif" border="0" alt="{m.new}"></a></p>
{"".join(one(k, p) for k, p in enumerate(t.posts))}
<p align="center"><a href="board.php?id=2">{m.general}</a> | \
<a href="print.php?topic={t.number}">{m.print}</a></p>{jump(f, "id")}</td></tr>
<tr><td colspan="2" bgcolor="#336633" align="center">\
<font color="#ffffff" size="1">&copy; 1999-2026 Lighthouse</font></td></tr></table></body></html>"""


THREADS: dict[str, ThreadMarkup] = {
    "jforum": ThreadMarkup(jforum_posts, "http://jf.example/posts/list/{n}.page", late_days),
    "subsilver2": ThreadMarkup(
        subsilver2_posts, "http://board.example/forum/viewtopic.php?f=2&t={n}", mixed
    ),
    "details": ThreadMarkup(details_posts, "https://green.example/groups/allotment/t/{n}", mixed),
    "labelled rows": ThreadMarkup(
        labelled_rows, "http://www.oldradio.example/board/show.php?topic={n}", mixed
    ),
}
