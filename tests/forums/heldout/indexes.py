"""HTML of generated index pages (lists of boards): two markups of real forum software, two invented
ones."""

from __future__ import annotations

from urllib.parse import quote as q

from tests.forums.boards import RandomForum, Section
from tests.forums.heldout.frames import elk, elk_time, elk_user, site
from tests.forums.heldout.kit import IndexMarkup, board_names, e, people, sep, uid, words
from tests.forums.heldout.times import club_short, spoken_day, xmb_time, z


def halves(f: RandomForum) -> list[tuple[str, list[Section]]]:
    """The boards in two categories."""
    m = words(f)
    cut = (len(f.boards) + 1) // 2
    return [(m.cat1, f.boards[:cut]), (m.cat2, f.boards[cut:])]


def elkarte_index(f: RandomForum) -> str:
    """Returns the HTML of an index of boards. ElkArte 1.0: list items in categories, the newest
    posts in a table below."""
    m = words(f)
    base = "https://elk.example/index.php"

    def one(b: Section) -> str:
        assert b.last
        p = b.last.posts[-1]
        when = elk_time(f, p.posted)
        link = (
            f'<a href="{base}?topic={b.last.number}.msg{p.number}#new"'
            f' title="{e(b.last.title)}">{e(b.last.title[:24])}'
            f"{'...' if len(b.last.title) > 24 else ''}</a>"
        )
        kids = (
            f'<ul class="childboards" id="board_{b.number}_children"><li'
            f' class="listlevel1"><strong>{m.kids}: </strong></li><li><a'
            f' href="{base}?board={b.number + 60}.0" title="{m.new0} ({m.topics}: 4, {m.postsn}:'
            f' 9)">{board_names(f)[3]}</a></li></ul>'
            if b.number == 3
            else ""
        )
        return f"""<li class="board_row" id="board_{b.number}"><div class="board_info">\
<a class="icon_anchor" href="{base}?board={b.number}.0">\
<span class="board_icon off_board" title="{m.new0}"></span></a>
<h3 class="board_name"><a href="{base}?board={b.number}.0" id="b{b.number}">{e(b.name)}</a></h3>\
<p class="board_description">{e(b.about)}</p>{
            f'<p class="moderators">{m.mods}: {elk_user("admin")}</p>' if b.number % 2 else ""
        }</div>
<div class="board_latest"><p class="board_stats">{sep(f, b.posts)} {m.postsn}<br />
{sep(f, b.threads)} {m.topics}</p><p class="board_lastpost"><span class="board_avatar">\
<a href="{base}?action=profile;u={uid(p.author)}">\
<img class="avatar" src="https://elk.example/avatars/{uid(p.author)}.png" alt="" /></a></span>
<strong>{m.last}</strong> {m.by} {elk_user(p.author)}<br />{m.in_} {link}<br />{m.on} {when}</p>\
</div>{kids}</li>"""

    cats = "".join(
        f"""<div class="forum_category" id="category_{i}"><h2 class="category_header"><a id="c{i}">\
</a>{name}</h2><ul class="category_boards" id="category_{i}_boards">{"".join(map(one, boards))}\
</ul></div>"""
        for i, (name, boards) in enumerate(halves(f), 1)
        if boards
    )
    recent = "".join(
        f"""<tr><td class="recentpost"><strong>\
<a href="{base}?topic={t.number}.msg{t.posts[-1].number}">{e(t.title)}</a></strong></td>\
<td class="recentposter">{elk_user(t.posts[-1].author)}</td><td class="recentboard">\
<a href="{base}?board={f.boards[0].number}.0">{e(f.boards[0].name)}</a></td>\
<td class="recenttime">{elk_time(f, t.posts[-1].posted)}</td></tr>"""
        for t in [t for t in f.topics if not t.pinned][:3]
    )
    body = f"""{cats}<div id="posting_icons"><p class="board_key new_none_board" \
title="{m.new0}">{m.new0}</p><p class="board_key new_redirect_board" \
title="{m.redirect}">{m.redirect}</p></div>
<div id="info_center" class="forum_category"><h2 class="category_header">\
<span id="category_toggle">&nbsp;<span id="upshrink_ic" class="collapse" style="display: none;" \
title="{m.hide}"></span></span><a href="#" id="upshrink_link">Lighthouse - Info Center</a></h2>\
<ul id="upshrinkHeaderIC" class="category_boards">\
<li class="board_row hslice" id="recent_posts_content"><h3 class="ic_section_header">\
<a href="{base}?action=recent"><img class="icon" \
src="https://elk.example/themes/default/images/post/xx.png" alt="" />{m.lastmsg}</a></h3>\
<table id="ic_recentposts"><tr><th class="recentpost">{m.subject}</th>\
<th class="recentposter">{m.author}</th><th class="recentboard">{m.board}</th>\
<th class="recenttime">{m.date}</th></tr>{recent}</table></li>
<li class="board_row"><h3 class="ic_section_header"><a href="{base}?action=stats">{m.stats}</a>\
</h3><p class="inline">{sep(f, sum(b.posts for b in f.boards))} {m.postsn} {m.in_} \
{sep(f, sum(b.threads for b in f.boards))} {m.topics} - {m.newest}: \
<strong> {elk_user(people(f)[0])}</strong></p></li><li class="board_row">\
<h3 class="ic_section_header"><a href="{base}?action=who">{m.online}</a></h3>\
<p class="inline">{", ".join(elk_user(p) for p in people(f, 4))}</p></li></ul></div>"""
    return elk(f, "Lighthouse", body)


def xmb_index(f: RandomForum) -> str:
    """Returns the HTML of an index of boards. XMB 1.9: one table with a header row and a row per
    category."""
    m = words(f)

    def one(b: Section) -> str:
        assert b.last
        p = b.last.posts[-1]
        return f"""<tr><td width="4%" class="ctrtablerow">\
<img src="images/davis/off.gif" alt="{m.new0}" border="0" /></td>
<td width="54%" class="tablerow" onmouseover="this.style.backgroundColor='#eeeeee';">\
<a href="forumdisplay.php?fid={b.number}"><font class="mediumtxt"><strong>{e(b.name)}</strong>\
</font></a><br /><font class="smalltxt">{e(b.about)}\
</font>{
            f'<br /><font class="smalltxt">{m.mods}: '
            '<a href="member.php?action=viewpro&amp;member=admin">admin</a></font>'
            if b.number % 3 == 0
            else ""
        }</td>
<td width="6%" class="ctrtablerow"><font class="mediumtxt">{b.threads}</font></td>\
<td width="6%" class="ctrtablerow"><font class="mediumtxt">{b.posts}</font></td>
<td width="23%" class="lastpostcell" align="center">\
<table cellpadding="0" cellspacing="0" width="100%"><tr><td class="smalltxt" align="right">\
<a href="viewthread.php?tid={b.last.number}"><strong>{e(b.last.title[:18])}...</strong></a>\
<br />{xmb_time(f, p.posted)}<br />{m.by} <a href="member.php?action=viewpro&amp;\
member={q(p.author)}">{e(p.author)}</a></td><td width="20" align="center">\
<a href="viewthread.php?goto=lastpost&amp;fid={b.number}">\
<img src="images/davis/lastpost.gif" border="0" alt="{m.gotolast}" /></a></td></tr></table></td>\
</tr>"""

    rows = "".join(
        '<tr><td class="category" colspan="5"><font class="mediumtxt"><strong><a'
        f' href="index.php?gid={i}">{name}</a></strong></font></td></tr>'
        + "".join(map(one, boards))
        for i, (name, boards) in enumerate(halves(f), 1)
        if boards
    )
    return f"""<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" \
"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Lighthouse - powered by XMB</title>\
<style type="text/css">.ctrtablerow {{ text-align: center }} .category {{ background: #dddddd }}\
</style><script language="JavaScript" type="text/javascript" src="./js/header.js"></script></head>\
<body text="#000000">
<a name="top"></a><table cellspacing="0" cellpadding="0" border="0" width="97%" bgcolor="#000000" \
align="center"><tr><td><table border="0" cellspacing="1" cellpadding="4" width="100%"><tr>\
<td class="navtd"><table width="100%" cellpadding="0" cellspacing="0"><tr><td class="navtd">\
<font class="navtd"><strong>{m.welcome}</strong> [<a href="member.php?action=coppa">{m.register}\
</a> / <a href="misc.php?action=login">{m.login}</a>]</font></td><td class="navtd" align="right">\
<a href="http://xmb.example/"><font class="navtd">{m.home}</font></a></td></tr></table></td></tr>\
<tr><td class="tablerow"><a href="index.php"><img src="images/davis/logo.gif" alt="Lighthouse" \
border="0" /></a></td></tr>
<tr><td class="navtd"><font class="navtd"><img src="images/davis/top_search.gif" alt="" /> \
<a href="misc.php?action=search">{m.search}</a> <img src="images/davis/top_faq.gif" alt="" /> \
<a href="faq.php">FAQ</a> <a href="misc.php?action=list">{m.members}</a> \
<a href="today.php">{m.newp}</a> <a href="stats.php?action=view">{m.stats}</a></font></td></tr>\
</table></td></tr></table>
<table cellspacing="0" cellpadding="1" border="0" width="97%" align="center" class="nav"><tr>\
<td class="nav"><a href="index.php">Lighthouse</a></td><td align="right" class="nav">\
<font class="smalltxt">{m.newest}: <a href="member.php?action=viewpro&amp;member={q(people(f)[1])}\
">{e(people(f)[1])}</a></font></td></tr></table>
<table cellspacing="0" cellpadding="0" border="0" width="97%" bgcolor="#000000" align="center"><tr>\
<td><table border="0" cellspacing="1" cellpadding="5" width="100%"><tr class="header">\
<td class="header" width="4%">&nbsp;</td><td class="header" width="54%">{m.board}:</td>\
<td class="header" width="6%" align="center">{m.topics}:</td>\
<td class="header" width="6%" align="center">{m.postsn}:</td>\
<td class="header" width="23%" align="center">{m.last}:</td></tr>
{rows}</table></td></tr></table><br />
<table cellspacing="0" cellpadding="0" border="0" width="97%" bgcolor="#000000" align="center"><tr>\
<td><table border="0" cellspacing="1" cellpadding="5" width="100%"><tr>\
<td class="category" colspan="2"><font class="mediumtxt"><strong>{m.online}</strong> - {m.guests}\
</font></td></tr><tr><td class="ctrtablerow" width="4%">\
<img src="images/davis/online.gif" alt="" /></td><td class="tablerow">\
<font class="mediumtxt">{
        ", ".join(
            f'<a href="member.php?action=viewpro&amp;member={q(p)}">{e(p)}</a>'
            for p in people(f, 5)
        )
    }</font></td></tr></table></td></tr></table>
<table align="center"><tr><td class="smalltxt">\
<img src="images/davis/on.gif" alt="" /> {m.newp} &nbsp; \
<img src="images/davis/off.gif" alt="" /> {m.new0}</td></tr></table>\
<div align="center" class="smalltxt">Powered by XMB 1.9.11 &copy; 2001-2012 The XMB Group</div>\
</body></html>"""


def slash_index(f: RandomForum) -> str:
    """Returns the HTML of an index of boards as a table: threads and posts in one cell ("12 / 340",
    named by its header), the last author before the time."""
    m = words(f)

    def one(b: Section) -> str:
        assert b.last
        p = b.last.posts[-1]
        return f"""<tr><td class="i"><img src="/static/room.png" alt="" width="32" height="32"></td>
<td><a class="room" href="/forum/b{b.number}/">{e(b.name)}</a><div class="about">{e(b.about)}</div>\
</td>
<td class="n">{b.threads} / {b.posts}</td>
<td class="l"><a href="/forum/b{b.number}/{b.last.number}.html#e{p.number}">{e(b.last.title)}</a>\
<br><a class="u" href="/people/{uid(p.author)}">{e(p.author)}</a> \
<span class="d">({club_short(f, p.posted)})</span></td></tr>"""

    tables = "\n".join(
        f"""<h2>{name}</h2>
<table class="rooms" cellspacing="0"><tr><th></th><th>{m.board}</th><th>{m.stat}</th><th>{m.last}\
</th></tr>
{chr(10).join(map(one, boards))}
</table>"""
        for name, boards in halves(f)
        if boards
    )
    body = f"""<p class="path"><a href="/">{m.home}</a> › {m.forums}</p><h1>{m.forums}</h1>
<p class="tools"><a href="/forum/new-posts">{m.newp}</a> <a href="/forum/unanswered">{m.unanswered}\
</a> <a href="/forum/rss.xml">{m.rss}</a></p>
{tables}
<p class="stats">{m.newest}: <a href="/people/{uid(people(f)[0])}">{e(people(f)[0])}\
</a> · {m.guests}</p>"""
    return site(f, m.forums, body)


def group_tiles(f: RandomForum) -> str:
    """Returns an index page that lists boards as tiles: name, description, bold counts with labels,
    last reply as a sentence."""
    m = words(f)

    def one(b: Section) -> str:
        assert b.last
        p = b.last.posts[-1]
        u = f"https://green.example/groups/g{b.number}"
        return f"""<li class="tile"><div class="tile-top" \
style="background-image:url(/media/g{b.number}.jpg)"></div>
<h3><a href="{u}">{e(b.name)}</a></h3>
<p class="about">{e(b.about)}</p>
<p class="counts"><span><b>{sep(f, b.threads)}</b> {m.thr}</span> <span><b>{sep(f, b.posts)}\
</b> {m.pst}</span></p>
<p class="fresh">{m.lastw}: <a href="{u}/t/{b.last.number}">{e(b.last.title)}</a><br>{m.by} \
<a href="/people/{q(p.author)}">{e(p.author)}</a>, \
<time datetime="{z(p.posted)}">{spoken_day(f, p.posted)}</time></p>
<a class="button small" href="{u}/join" rel="nofollow">{m.follow}</a></li>"""

    sections = "\n".join(
        f'<section><h2>{name}</h2><ul class="tiles">{"".join(map(one, boards))}</ul></section>'
        for name, boards in halves(f)
        if boards
    )
    body = f"""<nav class="crumbs" aria-label="breadcrumb"><ol><li><a href="/">{m.home}</a></li>\
<li aria-current="page">{m.forums}</li></ol></nav><header class="hero"><h1>{m.forums}</h1>\
<p>{m.off}</p></header>{sections}"""
    return site(f, m.forums, body, f'<div class="box"><h4>{m.online}</h4><p>{m.guests}</p></div>')


INDEXES: dict[str, IndexMarkup] = {
    "elkarte": IndexMarkup(
        elkarte_index,
        "https://elk.example/index.php",
        lambda b: f"https://elk.example/index.php?board={b.number}.0",
    ),
    "xmb": IndexMarkup(
        xmb_index, "http://xmb.example/index.php", lambda b: f"forumdisplay.php?fid={b.number}"
    ),
    "slash": IndexMarkup(
        slash_index, "https://club.example/forum/", lambda b: f"/forum/b{b.number}/"
    ),
    "group tiles": IndexMarkup(
        group_tiles,
        "https://green.example/groups",
        lambda b: f"https://green.example/groups/g{b.number}",
    ),
}
