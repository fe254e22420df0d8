"""Functions that put records into a complete page: in the style of phpBB 3.0, of ElkArte 1.0, and
of a small hand-made site."""

from __future__ import annotations

from datetime import datetime

from tests.forums.boards import NOW, RandomForum
from tests.forums.heldout.kit import e, jump, news, people, uid, words
from tests.forums.heldout.times import elk_text, subsilver_time


def subsilver(f: RandomForum, title: str, body: str, crumb: str = "") -> str:
    """Returns an HTML page around `body` as phpBB 3.0 shows it in its table-based style; `crumb`
    ends the breadcrumbs."""
    m = words(f)
    return f"""<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" \
"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html xmlns="http://www.w3.org/1999/xhtml" dir="ltr" lang="{f.language}" xml:lang="{f.language}">\
<head><meta http-equiv="content-type" content="text/html; charset=UTF-8" />\
<title>Lighthouse &bull; {e(title)}</title><link rel="stylesheet" \
href="./style.php?id=3&amp;lang={f.language}" type="text/css" />
<script type="text/javascript">// <![CDATA[
function popup(url, width, height, name) {{ window.open(url.replace(/&amp;/g, '&'), name, \
'height=' + height + ',width=' + width); return false; }}
// ]]></script></head>
<body class="ltr"><a name="top"></a><div id="wrapheader"><div id="logodesc">\
<table width="100%" cellspacing="0"><tr><td><a href="./index.php">\
<img src="./styles/subsilver2/imageset/site_logo.gif" width="170" height="94" alt="" /></a></td>\
<td width="100%" align="center"><h1>Lighthouse</h1><span class="gen">{m.off}</span></td></tr>\
</table></div>
<div id="menubar"><table width="100%" cellspacing="0"><tr><td class="genmed">\
<a href="./ucp.php?mode=login"><img src="./styles/subsilver2/theme/images/icon_mini_login.gif" \
width="12" height="13" alt="*" /> {m.login}</a>&nbsp; &nbsp;<a href="./ucp.php?mode=register">\
<img src="./styles/subsilver2/theme/images/icon_mini_register.gif" alt="*" /> {m.register}</a></td>\
<td class="genmed" align="right"><a href="./faq.php">\
<img src="./styles/subsilver2/theme/images/icon_mini_faq.gif" alt="*" /> FAQ</a>&nbsp; &nbsp;\
<a href="./search.php"><img src="./styles/subsilver2/theme/images/icon_mini_search.gif" alt="*" /> \
{m.search}</a></td></tr></table></div>
<div id="datebar"><table width="100%" cellspacing="0"><tr><td class="gensmall"></td>\
<td class="gensmall" align="right">{subsilver_time(f, NOW)}<br /></td></tr></table></div></div>
<div id="wrapcentre"><p class="searchbar"><span style="float: left;">\
<a href="./search.php?search_id=unanswered">{m.unanswered}</a> | \
<a href="./search.php?search_id=active_topics">{m.hot}</a></span></p><br style="clear: both;" />
<table class="tablebg" width="100%" cellspacing="1" cellpadding="0" style="margin-top: 5px;"><tr>\
<td class="row1"><p class="breadcrumbs"><a href="./index.php">{m.home}</a>{crumb}</p>\
<p class="datetime">UTC</p></td></tr></table><br />
{body}
<br clear="all" /><table class="tablebg" width="100%" cellspacing="1"><tr><td class="cat">\
<h4>{m.online}</h4></td></tr><tr><td class="row1">\
<p class="gensmall">{m.hi}: {
        ", ".join(
            f'<a href="./memberlist.php?mode=viewprofile&amp;u={uid(p)}">{e(p)}</a>'
            for p in people(f, 3)
        )
    }. {m.guests}</p></td></tr></table>
<br clear="all" />{jump(f)}</div><div id="wrapfooter"><br /><span class="copyright">Powered by \
<a href="http://www.phpbb.com/">phpBB</a>&reg; Forum Software &copy; phpBB Group</span></div>\
</body></html>"""


def elk_time(f: RandomForum, at: datetime) -> str:
    """Returns a `time` element of ElkArte: the same text as content and title, with the time also
    in attributes."""
    text = elk_text(f, at)
    return (
        f'<time title="{text}" datetime="{at:%Y-%m-%d %H:%M}"'
        f' data-timestamp="{int(at.timestamp())}">{text}</time>'
    )


def elk(f: RandomForum, title: str, body: str, tree: str = "") -> str:
    """A page of ElkArte 1.0."""
    m = words(f)
    return f"""<!DOCTYPE html>
<html>
<head><title>{e(title)}</title><meta name="viewport" content="width=device-width" />\
<meta name="mobile-web-app-capable" content="yes" />\
<link rel="stylesheet" href="https://elk.example/themes/default/css/index.css?11" />\
<link rel="alternate" type="application/rss+xml" title="RSS" \
href="https://elk.example/index.php?type=rss2;action=.xml" />
<script>var elk_theme_url = "https://elk.example/themes/default", elk_scripturl = \
"https://elk.example/index.php", elk_iso_case_folding = false, ajax_notification_text = "...";\
</script></head>
<body id="messageindex" class="action_messageindex"><a id="top" href="#skipnav">Skip</a>\
<header id="top_section"><aside class="wrapper"><div id="top_section_notice" class="user">\
<form action="https://elk.example/index.php?action=login2;quicklogin" method="post">\
<div id="password_login"><input type="text" name="user" size="10" class="input_text" \
placeholder="{m.user}" /><input type="password" name="passwrd" size="10" class="input_password" \
placeholder="{m.pw}" /><select name="cookielength"><option value="60">1 h</option>\
<option value="-1" selected="selected">{m.remember}</option></select>\
<input type="submit" value="{m.login}" class="button_submit" /></div></form></div></aside>\
<section id="header" class="wrapper"><h1 id="forumtitle">\
<a href="https://elk.example/index.php">Lighthouse</a></h1></section>
<nav id="menu_nav"><ul id="main_menu" class="wrapper" role="menubar">\
<li id="button_home" class="listlevel1"><a class="linklevel1 active" \
href="https://elk.example/index.php">{m.off}</a></li><li id="button_search" class="listlevel1">\
<a class="linklevel1" href="https://elk.example/index.php?action=search">{m.search}</a></li>\
<li id="button_register" class="listlevel1"><a class="linklevel1" \
href="https://elk.example/index.php?action=register">{m.register}</a></li></ul></nav></header>
<div id="wrapper" class="wrapper"><div id="upper_section"><nav><ul class="navigate_section">\
<li class="linktree"><span><a href="https://elk.example/index.php">Lighthouse</a></span></li>{tree}\
</ul></nav></div><div id="main_content_section"><a id="skipnav"></a>{body}</div></div>
<footer id="footer_section"><div class="wrapper"><ul><li class="copyright">Powered by \
<a href="https://www.elkarte.net">ElkArte 1.0</a></li><li>\
<a href="https://elk.example/index.php?action=.xml;type=rss2">{m.rss}</a></li></ul></div></footer>\
</body></html>"""


def elk_user(name: str) -> str:
    """A link to a member."""
    return f'<a href="https://elk.example/index.php?action=profile;u={uid(name)}">{e(name)}</a>'


def site(f: RandomForum, title: str, body: str, aside: str = "") -> str:
    """Returns an HTML page around `body` as on a small modern site with hand-written markup;
    `aside` is put into the sidebar."""
    m = words(f)
    return f"""<!DOCTYPE html>
<html lang="{f.language}">
<head>
<meta charset="utf-8">
<title>{e(title)} – Lighthouse</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/static/site.css?v=12">
<style>.masthead{{display:flex}} .note{{background:#ffd}} </style>
</head>
<body>
<div class="masthead"><a class="brand" href="/">\
<img src="/static/logo.svg" alt="Lighthouse" width="120"></a>
<form class="find" action="/search" role="search">\
<input type="search" name="q" placeholder="{m.search}"><button>{m.go}</button></form>
<nav><a href="/">{m.home}</a> <a href="/forum/">{m.forums}</a> <a href="/people/">{m.members}</a> \
<a href="/rules">{m.rules}</a> <a href="/login">{m.login}</a> <a href="/register">{m.register}</a>\
</nav></div>
<p class="note">{m.notice} <button type="button">{m.hide}</button></p>
<div class="columns"><main>
{body}
</main>
<aside>{aside}<div class="box"><h4>{m.more}</h4>\
<ol>{"".join(f'<li><a href="/news/{i + 41}">{e(s)}</a></li>' for i, s in enumerate(news(f)))}</ol>\
</div>
<div class="box ad"><small>{m.ad}</small><a href="https://ads.example/7" rel="sponsored \
nofollow">{m.adtext}</a></div></aside></div>
<footer><a href="/terms">{m.terms}</a> · <a href="/contact">{m.contact}</a> · \
<a href="/donate">{m.donate}</a> · © 2009–2026 Lighthouse</footer>
<div class="cookie" hidden>{m.cookies} <button>{m.ok}</button></div>
</body></html>"""
