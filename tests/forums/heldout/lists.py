"""HTML of generated lists of threads: three markups of real forum software, two invented ones."""

from __future__ import annotations

from urllib.parse import quote as q

from tests.forums.boards import RandomForum, Topic
from tests.forums.heldout.frames import elk, elk_time, elk_user, site, subsilver
from tests.forums.heldout.kit import ListMarkup, board_names, e, member_links, sep, uid, word, words
from tests.forums.heldout.times import ago, ago_slack, club_short, spoken_day, subsilver_time
from tests.forums.markup_software import slug


def subsilver2(f: RandomForum) -> str:
    """Returns the HTML of a list of threads: phpBB 3.0's table style."""
    m = words(f)

    def one(t: Topic) -> str:
        a, b = t.posts[0], t.posts[-1]
        unread = (
            f'<a href="./viewtopic.php?f=2&amp;t={t.number}&amp;view=unread#unread"></a>'
            if t.number % 9 == 0
            else ""
        )
        icon, alt = (
            ("sticky", m.stickied)
            if t.pinned
            else (
                ("topic_read_locked", m.lockedt)
                if t.locked
                else ("topic_read_hot", m.nounread)
                if t.replies > 8
                else ("topic_read", m.nounread)
            )
        )
        pages = (
            '<p class="gensmall"> [ <img src="./styles/subsilver2/imageset/icon_topic_latest.gif"'
            f' alt="{m.page}" />{m.page}: <a href="./viewtopic.php?f=2&amp;t={t.number}">1</a>, <a'
            f' href="./viewtopic.php?f=2&amp;t={t.number}&amp;start=10">2</a> ] </p>'
            if t.replies >= 10
            else ""
        )
        return f"""<tr>
<td class="row1" width="25" align="center"><img src="./styles/subsilver2/imageset/{icon}.gif" \
alt="{alt}" title="{alt}" /></td>
<td class="row1" width="25" align="center">{
            '<img src="./images/icons/misc/info.gif" alt="" />' if t.number % 4 == 0 else ""
        }</td>
<td class="row1">{unread}<a title="{m.posted if f.language != "zh" else m.date}: \
{subsilver_time(f, a.posted)}" href="./viewtopic.php?f=2&amp;t={t.number}" \
class="topictitle">{e(t.title)}</a>
{pages}</td>
<td class="row2" width="130" align="center"><p class="topicauthor">\
<a href="./memberlist.php?mode=viewprofile&amp;u={uid(a.author)}">{e(a.author)}</a></p></td>
<td class="row1" width="50" align="center"><p class="topicdetails">{t.replies}</p></td>
<td class="row2" align="center"><p class="topicdetails">{t.views}</p></td>
<td class="row1" width="140" align="center"><p class="topicdetails">{subsilver_time(f, b.posted)}\
</p><p class="topicdetails"><a href="./memberlist.php?mode=viewprofile&amp;u={uid(b.author)}">\
{e(b.author)}</a> <a href="./viewtopic.php?f=2&amp;t={t.number}&amp;p={b.number}#p{b.number}">\
<img src="./styles/subsilver2/imageset/icon_topic_latest.gif" alt="{m.gotolast}" \
title="{m.gotolast}" /></a></p></td>
</tr>"""

    pinned, rest = [t for t in f.topics if t.pinned], [t for t in f.topics if not t.pinned]

    def head(text: str) -> str:
        return f'<tr><td class="row3" colspan="7"><b class="gensmall">{text}</b></td></tr>'

    rows = (
        head(m.important) + "\n".join(map(one, pinned)) + head(m.normal) if pinned else ""
    ) + "\n".join(map(one, rest))
    bar = f"""<table width="100%" cellspacing="1"><tr><td align="left" valign="middle">\
<a href="./posting.php?mode=post&amp;f=2"><img \
src="./styles/subsilver2/imageset/{f.language}/button_topic_new.gif" alt="{m.new}" title="{m.new}" \
/></a></td><td class="nav" valign="middle" nowrap="nowrap">&nbsp;{m.page} <strong>1</strong> / \
<strong>4</strong><br /></td><td class="gensmall" nowrap="nowrap">&nbsp;[ 87 {m.threads} ]&nbsp;\
</td><td class="gensmall" width="100%" align="right" nowrap="nowrap"><b>\
<a href="#" onclick="jumpto(); return false;">{m.page}</a>: <strong>1</strong>\
<span class="page-sep">, </span><a href="./viewforum.php?f=2&amp;start=25">2</a>, \
<a href="./viewforum.php?f=2&amp;start=50">3</a>, <a href="./viewforum.php?f=2&amp;start=75">4\
</a> &nbsp;<a href="./viewforum.php?f=2&amp;start=25">{m.next}</a></b></td></tr></table>"""
    body = f"""<div id="pageheader"><h2><a class="titles" href="./viewforum.php?f=2">{m.general}\
</a></h2><p class="moderators">{m.mods}: <a href="./memberlist.php?mode=viewprofile&amp;u=2">admin\
</a></p></div><br clear="all" /><div id="pagecontent">{bar}
<table class="tablebg" width="100%" cellspacing="1"><tr><td class="cat" colspan="7">\
<table width="100%" cellspacing="0"><tr class="nav"><td valign="middle">&nbsp;</td>\
<td align="right" valign="middle"><a href="./viewforum.php?hash=1&amp;f=2&amp;mark=topics">{m.mark}\
</a>&nbsp;</td></tr></table></td></tr>
<tr><th colspan="3">&nbsp;{m.threads}&nbsp;</th><th>&nbsp;{m.author}&nbsp;</th>\
<th>&nbsp;{m.replies}&nbsp;</th><th>&nbsp;{m.views}&nbsp;</th><th>&nbsp;{m.last}&nbsp;</th></tr>
{rows}
<tr align="center"><td class="cat" colspan="7"><form method="post" action="./viewforum.php?f=2">\
<span class="gensmall">{m.sortby}</span>&nbsp;<select name="sk"><option value="a">{m.author}\
</option><option value="t" selected="selected">{m.last}</option><option value="r">{m.replies}\
</option></select>&nbsp;<input class="btnlite" type="submit" name="sort" value="{m.go}" /></form>\
</td></tr></table>{bar}</div>
<br clear="all" /><table width="100%" cellspacing="0"><tr><td>\
<table cellspacing="3" cellpadding="0" border="0"><tr><td>\
<img src="./styles/subsilver2/imageset/topic_unread.gif" alt="{m.newp}" /></td>\
<td class="gensmall">{m.newp}</td><td>&nbsp;&nbsp;</td><td>\
<img src="./styles/subsilver2/imageset/topic_read.gif" alt="{m.nonew}" /></td>\
<td class="gensmall">{m.nonew}</td><td>&nbsp;&nbsp;</td><td>\
<img src="./styles/subsilver2/imageset/sticky_read.gif" alt="{m.stickied}" /></td>\
<td class="gensmall">{m.stickied}</td></tr></table></td></tr></table>"""
    return subsilver(f, m.general, body, f' &#187; <a href="./viewforum.php?f=2">{m.general}</a>')


def esotalk(f: RandomForum) -> str:
    """Returns the HTML of a list of threads. esoTalk 1.0: the author of the last post and how long
    ago; authors of threads are not shown."""
    m = words(f)

    def one(t: Topic) -> str:
        b = t.posts[-1]
        labels = (
            f"<span class='label label-sticky' title='{m.stickied}'><i"
            " class='icon-pushpin'></i></span> "
            if t.pinned
            else ""
        ) + (
            f"<span class='label label-locked' title='{m.locked}'><i class='icon-lock'></i></span>"
            if t.locked
            else ""
        )
        return f"""<li id='c{t.number}' class='channel-3{" sticky" if t.pinned else ""}'>
<div class='col-conversation'><span class='controls'><a href='#' class='star' title='{m.follow}'>\
<i class='star icon-star-empty'></i></a></span> <strong class='title'>\
<a href='/conversation/{t.number}-{slug(t)[:40]}'>{e(t.title)}</a></strong> \
<span class='labels'>{labels}</span></div>
<div class='col-channel'><a href='/conversations/general' class='channel channel-3' \
data-channel='general'>{m.general}</a></div>
<div class='col-lastPost'><span class='action'><a href='/member/{uid(b.author)}-{q(b.author)}'>\
<img src='/core/skin/avatar.png' alt='' class='avatar thumb'></a> \
<a href='/member/{uid(b.author)}-{q(b.author)}' class='name'>{e(b.author)}\
</a> {m.replied if t.replies else m.posted} <a href='/conversation/{t.number}-{slug(t)[:40]}/last' \
class='lastPostTime time' >{ago(f, b.posted)}</a></span></div>
<div class='col-replies'><span><a href='/conversation/{t.number}-{slug(t)[:40]}/unread'>\
<i class='icon-comment{"s" if t.replies else "-alt"}'></i> {t.replies} {word(f, t.replies)}</a>\
</span></div>
</li>"""

    return f"""<!DOCTYPE html>
<html><head><meta charset='UTF-8'><title>{m.general} - Lighthouse</title>\
<link rel='stylesheet' href='/cache/css/forum_1380000000.css'><script src='/cache/js/forum.js'>\
</script><script>var ET={{"webPath":"","userId":null,"searchUpdateInterval":30,"currentSearch":"",\
"language":{{"message.confirmLeave":"Leave?"}}}};</script></head>
<body class='conversations'><div id='messages'></div><div id='wrapper'><div id='hdr'>\
<div id='hdr-content'><div id='hdr-inner'><a id='backButton' href='/'>&laquo;</a>\
<h1 id='forumTitle'><a href='/'>Lighthouse</a></h1><ul id='mainMenu' class='menu'>\
<li class='item-members'><a href='/members'>{m.members}</a></li></ul>\
<ul id='userMenu' class='menu'><li class='item-join'>\
<a href='/user/join' class='link-join'>{m.signup}</a></li><li class='item-login'>\
<a href='/user/login' class='link-login'>{m.login}</a></li></ul></div></div></div>
<div id='body'><div id='body-content'>
<form class='search big' id='search' action='/conversations/general' method='get'><fieldset>\
<i class='icon-search'></i><input name='search' type='text' class='text' value='' \
spellcheck='false' placeholder='{m.search}'><a class='control-reset' \
href='/conversations/general'>&times;</a></fieldset></form>
<ul id='channels' class='channels tabs'><li class='channelListItem'>\
<a href='/channels' class='channel-list' title='{m.board}'><i class='icon-list'></i></a></li>\
<li class='pathItem selected pathItem-last'><a href='/conversations/all' class='channel \
channel-all'>{m.all}</a></li>{
        "".join(
            f"<li><a href='/conversations/c{i}' title='{m.desc}' class='channel channel-{i}' "
            f"data-channel='c{i}'>{n}</a></li>"
            for i, n in enumerate(board_names(f), 1)
        )
    }</ul>
<div class='area' id='conversations'><div id='gambits'>\
{
        " ".join(
            f"<a href='/conversations/general?search=%23{i}' class='gambit-{i}'>"
            f"<i class='icon-tag'></i>{n}</a>"
            for i, n in (("sticky", m.stickied), ("locked", m.locked), ("unread", m.newp))
        )
    }</div>
<ul class='list conversationList'>
{chr(10).join(map(one, f.topics))}
</ul><a href='/conversations/general?search=%23limit:60' class='button' id='viewMore'>{m.next}</a>\
</div></div></div>
<div id='ftr'><div id='ftr-content'><ul class='menu'><li id='goToTop'><a href='#'>{m.top}</a></li>\
<li>Powered by <a href='http://esotalk.org/'>esoTalk</a></li><li class='sep'></li><li>3 {m.online}\
</li></ul></div></div></div></body></html>"""


def elkarte(f: RandomForum) -> str:
    """Returns the HTML of a list of threads. ElkArte 1.0: list items; the counts and the last post
    in paragraphs."""
    m = words(f)
    base = "https://elk.example/index.php"

    def one(t: Topic) -> str:
        a, b = t.posts[0], t.posts[-1]
        row = "sticky_row" if t.pinned else "locked_row" if t.locked else "basic_row"
        link = f'<a href="{base}?topic={t.number}.0">{e(t.title)}</a>'
        pages = (
            f'<ul class="small_pagelinks" id="pages{a.number}" role="menubar"><li'
            ' class="linavPages"><a class="navPages"'
            f' href="{base}?topic={t.number}.0">1</a></li><li class="linavPages"><a'
            f' class="navPages" href="{base}?topic={t.number}.10">2</a></li></ul>'
            if t.replies > 9
            else ""
        )
        return f"""
<li class="{row}"><div class="topic_info"><p class="topic_icons topicicon img_xx"></p>\
<div class="topic_name"><h4>{"<strong>" if t.pinned else ""}\
<span class="preview" title="{e(a.text[:60])}"><span id="msg_{a.number}">{link}</span>\
</span>{"</strong>" if t.pinned else ""}</h4></div>
<div class="topic_starter">{m.started} {elk_user(a.author)}{pages}</div></div>
<div class="topic_latest"><p class="topic_stats">
{t.replies} {m.replies}<br />
{t.views} {m.views}<br />
{t.number % 5} {m.like}</p>
<p class="topic_lastpost"><span class="board_avatar">\
<a href="{base}?action=profile;u={uid(b.author)}">\
<img class="avatar" src="https://elk.example/avatars/{uid(b.author)}.png" alt="" /></a></span>
<a class="topicicon img_last_post" href="{base}?topic={t.number}.msg{b.number}#msg{b.number}" \
title="{m.last}"></a>
{elk_time(f, b.posted)}<br />
{m.by} {elk_user(b.author)}</p></div></li>"""

    sort = "".join(
        f'<li class="listlevel2 sort_by_item" id="sort_by_item_{k}"><a'
        f' href="{base}?board=7.0;sort={k}" class="linklevel2">{n}</a></li>'
        for k, n in (
            ("subject", m.subject),
            ("starter", m.starter),
            ("replies", m.replies),
            ("views", m.views),
            ("last_post", m.last),
        )
    )
    pages = (
        '<div class="pagesection"><ul class="pagelinks" role="menubar"><li'
        ' class="linavPages"><strong class="current_page" role="menuitem">1</strong></li><li'
        f' class="linavPages"><a class="navPages" href="{base}?board=7.20">2</a></li><li'
        ' class="linavPages expand_pages" data-perpage="20">...</li><li class="linavPages"><a'
        f' class="navPages" href="{base}?board=7.160">9</a></li></ul><ul class="buttonlist'
        ' floatright"><li><a class="linklevel1 button_strip_new_topic active"'
        f' href="{base}?action=post;board=7.0">{m.new}</a></li></ul></div>'
    )
    body = f"""{pages}<div id="description_board"><h2 class="category_header">{m.general}</h2>\
<div class="generalinfo"><div id="boarddescription">{m.desc}</div>\
<div class="moderators">{m.mods}: {elk_user("admin")}.</div><div id="whoisviewing">{m.guests}\
<ul id="sort_by" class="topic_sorting"><li class="listlevel1 topic_sorting_row">\
<a class="sort topicicon img_sortdown" href="{base}?board=7.0;sort=last_post" title="{m.sortby}">\
</a></li><li class="listlevel1 topic_sorting_row">{m.sortby}: \
<a href="{base}?board=7.0;sort=last_post">{m.last}</a><ul class="menulevel2" id="sortby">{sort}\
</ul></li></ul></div></div></div>
<ul class="topic_listing" id="messageindex">{"".join(map(one, f.topics))}</ul>{pages}
<div id="topic_icons" class="description"><div class="floatright" id="message_index_jump_to">&nbsp;\
</div><p class="floatleft"><span class="topicicon img_normal"> </span> {m.normal}<br />\
<span class="topicicon img_hot"> </span> {m.hotn}<br /></p><p><span class="topicicon img_locked"> \
</span> {m.closed}<br /><span class="topicicon img_sticky"> </span> {m.sticky}<br />\
<span class="topicicon img_poll"> </span> {m.poll}</p></div>"""
    return elk(
        f,
        m.general,
        body,
        '<li class="linktree"><span class="dividers"> &#187; </span><span><a'
        f' href="{base}?board=7.0">{m.general}</a></span></li>',
    )


def when_first(f: RandomForum) -> str:
    """Returns the HTML of a list of threads: a table with the time of the last reply in the first
    column, and title and author in one cell."""
    m = words(f)

    def one(i: int, t: Topic) -> str:
        a, b = t.posts[0], t.posts[-1]
        flags = (
            f'<img src="/static/pin.png" alt="[{m.stickied}]" title="{m.stickied}"> '
            if t.pinned
            else ""
        ) + (
            f'<img src="/static/lock.png" alt="[{m.locked}]" title="{m.locked}"> '
            if t.locked
            else ""
        )
        more = (
            f' <small>(<a href="/forum/garage/{t.number}.html?p=1">1</a> <a'
            f' href="/forum/garage/{t.number}.html?p=2">2</a>)</small>'
            if t.replies > 9
            else ""
        )
        return f"""<tr class="{"even" if i % 2 else "odd"}{" pin" if t.pinned else ""}">
<td class="w" nowrap>{club_short(f, b.posted)}<br>\
<a class="u" href="/people/{uid(b.author)}">{e(b.author)}</a></td>
<td class="t">{flags}<a href="/forum/garage/{t.number}.html">{e(t.title)}</a>{more}<br>\
<span class="s">{m.asked}: <a href="/people/{uid(a.author)}">{e(a.author)}</a></span></td>
<td class="n">{t.replies}</td>
<td class="n">{sep(f, t.views)}</td>
</tr>"""

    body = f"""<p class="path"><a href="/">{m.home}</a> › <a href="/forum/">{m.forums}\
</a> › {m.general}</p>
<h1>{m.general}</h1>
<p class="tools"><a class="btn" href="/forum/garage/new">{m.new}</a> \
<a href="/forum/garage/rss.xml">{m.rss}</a> <a href="/forum/garage/?f=unanswered">{m.unanswered}\
</a></p>
<table class="threads" cellspacing="0">
<colgroup><col width="150"><col><col width="60"><col width="60"></colgroup>
<thead><tr><th><a href="?sort=last">{m.lastans}</a></th><th><a href="?sort=title">{m.subj}</a></th>\
<th><a href="?sort=n">{m.answers}</a></th><th><a href="?sort=v">{m.views}</a></th></tr></thead>
<tbody>
{chr(10).join(one(i, t) for i, t in enumerate(f.topics))}
</tbody>
<tfoot><tr><td colspan="4">{m.page}: <b>1</b> <a href="?page=2">2</a> <a href="?page=3">3</a> \
<a href="?page=2">{m.next} »</a></td></tr></tfoot>
</table>
<p class="key"><img src="/static/pin.png" alt=""> {m.stickied} &nbsp; \
<img src="/static/lock.png" alt=""> {m.locked}</p>"""
    return site(
        f, m.general, body, f'<div class="box"><h4>{m.moda}</h4><a href="/people/2">admin</a></div>'
    )


def fact_cards(f: RandomForum) -> str:
    """Returns the HTML of a list of threads as cards: heading, excerpt of the first post,
    definition list of three fields (the last tells if there is no reply)."""
    m = words(f)

    def one(t: Topic) -> str:
        a, b = t.posts[0], t.posts[-1]
        u = f"https://green.example/groups/allotment/t/{t.number}/{slug(t)[:30]}"
        badge = (f'<span class="pill pill--pin">{m.stickied}</span>' if t.pinned else "") + (
            f'<span class="pill">{m.locked}</span>' if t.locked else ""
        )
        text = a.text if len(a.text) < 90 else a.text[:88].rstrip() + "…"
        last = (
            f'<a href="/people/{q(b.author)}">{e(b.author)}</a>, <a'
            f' href="{u}#a{b.number}">{spoken_day(f, b.posted)}</a>'
            if t.replies
            else f"<em>{m.never}</em>"
        )
        return f"""<article class="card" id="t{t.number}">
<a class="face" href="/people/{q(a.author)}" aria-hidden="true" tabindex="-1">\
<img src="/media/face/{uid(a.author)}_s.jpg" alt="" loading="lazy"></a>
<div class="card-main">
<h2 class="card-title">{badge}<a href="{u}">{e(t.title)}</a></h2>
<p class="card-by">{m.started} <a href="/people/{q(a.author)}">{e(a.author)}</a></p>
<p class="card-text">{e(text)}</p>
<dl class="facts"><div><dt>{m.answers}</dt><dd>{t.replies}</dd></div><div><dt>{m.views}</dt>\
<dd>{t.views}</dd></div><div class="wide"><dt>{m.lastans}</dt><dd>{last}</dd></div></dl>
</div></article>"""

    body = f"""<nav class="crumbs" aria-label="breadcrumb"><ol><li><a href="/">{m.home}</a></li>\
<li><a href="/groups">{m.forums}</a></li><li aria-current="page">{m.off}</li></ol></nav>
<header class="hero"><h1>{m.off}</h1><p>{m.desc}</p>\
<a class="button" href="/groups/allotment/new">{m.new}</a> <ul class="tabs"><li class="on">\
<a href="?tab=all">{m.all}</a></li><li><a href="?tab=unanswered">{m.unanswered}</a></li><li>\
<a href="?tab=my">{m.my}</a></li></ul></header>
<section class="cards">
{chr(10).join(map(one, f.topics))}
</section>
<nav class="pages"><span class="now">1</span><a href="?page=2">2</a><a href="?page=3">3</a>\
<a rel="next" href="?page=2">{m.next}</a></nav>"""
    return site(
        f, m.off, body, f'<div class="box"><h4>{m.online}</h4>{" ".join(member_links(f, 5))}</div>'
    )


_ELK = "https://elk.example/index.php"
_GREEN = "https://green.example/groups/allotment"
LISTS: dict[str, ListMarkup] = {
    "subsilver2": ListMarkup(
        subsilver2,
        "http://board.example/forum/viewforum.php?f=2",
        lambda t: f"./viewtopic.php?f=2&t={t.number}",
    ),
    "esotalk": ListMarkup(
        esotalk,
        "http://talk.example/conversations/general",
        lambda t: f"/conversation/{t.number}-{slug(t)[:40]}",
        author=False,
        slack=ago_slack,
    ),
    "elkarte": ListMarkup(elkarte, f"{_ELK}?board=7.0", lambda t: f"{_ELK}?topic={t.number}.0"),
    "when first": ListMarkup(
        when_first, "https://club.example/forum/garage/", lambda t: f"/forum/garage/{t.number}.html"
    ),
    "fact cards": ListMarkup(
        fact_cards, _GREEN, lambda t: f"{_GREEN}/t/{t.number}/{slug(t)[:30]}", silent=True
    ),
}
