"""Lists of threads and indexes of boards in a dozen markups: tables, lists, cards, definition
lists, plain lines."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from tests.forums.boards import RandomForum, Section, Topic

Render = Callable[[RandomForum], str]
MENU = (
    "<ul class=nav><li><a href='/'>Home</a><li><a href='/search'>Search</a><li><a"
    " href='/members'>Members</a><li><a href='/faq'>FAQ</a></ul>"
)


def frame(title: str, body: str) -> str:
    """Returns the HTML of a complete page with menu and footer; `body` is its main part."""
    return (
        f"<!doctype html><html><head><title>{escape(title)} - Some forum</title></head><body><div"
        f" id=top>{MENU}<form action='/login' method=post><input name=user><input type=password"
        f" name=pass><button>Log in</button></form></div><div id=main>{body}</div><div"
        " id=foot>Powered by something. <a href='/contact'>Contact</a> <a"
        " href='/terms'>Terms</a></div></body></html>"
    )


def _e(text: object) -> str:
    return escape(str(text))


def _rows(forum: RandomForum, one: Callable[[Topic], str]) -> str:
    return "".join(one(topic) for topic in forum.topics)


def bulletin(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads. A table as around 2000: icons, title with its author
    below, last post, replies, views."""

    def one(t: Topic) -> str:
        first, last = t.posts[0], t.posts[-1]
        pages = (
            f"<span class=smallfont>( 1 <a href='showthread.php?t={t.number}&amp;page=2'>2</a>"
            " )</span>"
            if t.replies > 8
            else ""
        )
        sticky = "Sticky: " if t.pinned else ""
        day, _, clock = forum.when(last.posted).rpartition(", ")
        when = f"{day}, <span class=time>{clock}</span>" if day else clock
        return (
            f"<tr><td class=alt1 id='td_status_{t.number}'><img"
            f" src='i/thread{'_lock' if t.locked else ''}.gif' alt=''></td><td class=alt2><img"
            f" src='i/icon1.gif'></td><td class=alt1 id='td_title_{t.number}'><div>{sticky}<a"
            f" href='showthread.php?t={t.number}' id='thread_title_{t.number}'>{_e(t.title)}</a>"
            f" {pages}</div><div class=smallfont><span"
            f" onclick='window.open()'>{_e(first.author)}</span></div></td><td class=alt2"
            f" title='Replies: {t.replies}, Views: {t.views}'><div class=smallfont"
            f" style='text-align:right'>{when}<br>by <a"
            f" href='member.php?find=lastposter&amp;t={t.number}'>{_e(last.author)}</a> <a"
            f" href='showthread.php?p={last.number}#post{last.number}'><img src='i/lastpost.gif'"
            " alt='Go to last post'></a></div></td><td class=alt1 align=center><a"
            f" href='misc.php?do=whoposted&amp;t={t.number}'>{t.replies}</a></td><td class=alt2"
            f" align=center>{t.views:,}</td></tr>"
        )

    head = (
        "<thead><tr><td class=thead>&nbsp;</td><td class=thead>&nbsp;</td><td class=thead>Thread /"
        " Thread Starter</td><td class=thead>Last Post</td><td class=thead>Replies</td><td"
        " class=thead>Views</td></tr></thead>"
    )
    return frame(
        "Board",
        f"<table id=threadslist class=tborder>{head}<tbody"
        f" id='threadbits_forum_4'>{_rows(forum, one)}</tbody></table>",
    )


def machines(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads: a table with a column for the author and class names
    for the kind of each cell."""

    def one(t: Topic) -> str:
        last = t.posts[-1]
        mark = "stickybg" if t.pinned else "windowbg"
        icon = "<img src='/Themes/images/icons/quick_sticky.gif' alt=''>" if t.pinned else ""
        return (
            f"<tr><td class='icon1 {mark}'><img src='/Themes/images/topic/normal_post.gif'"
            f" alt=''></td><td class='subject {mark}'><div>{icon}<span"
            f" id='msg_{t.posts[0].number}'>"
            f"<a href='/index.php?topic={t.number}.0'>{_e(t.title)}</a></span><p>Started by <a"
            f" href='/index.php?action=profile;u={len(t.posts[0].author)}7' title='View the profile"
            f" of {_e(t.posts[0].author)}'>{_e(t.posts[0].author)}</a></p></div></td>"
            f"<td class='stats {mark}'>{t.replies} Replies<br>{t.views} Views</td>"
            f"<td class='lastpost {mark}'><a"
            f" href='/index.php?topic={t.number}.msg{last.number}#msg{last.number}'><img"
            " src='/Themes/images/icons/last_post.gif' alt='Last"
            f" post'></a>{forum.when(last.posted)}<br>"
            "by <a"
            f" href='/index.php?action=profile;u={len(last.author)}7'>{_e(last.author)}</a></td>"
            f"</tr>"
        )

    head = (
        "<thead><tr><th colspan=2><a href='?sort=subject'>Subject</a> / <a"
        " href='?sort=starter'>Started by</a></th><th><a href='?sort=replies'>Replies</a> / <a"
        " href='?sort=views'>Views</a></th><th><a href='?sort=last_post'>Last"
        " post</a></th></tr></thead>"
    )
    return frame(
        "Board",
        "<div class=tborder"
        f" id=messageindex><table>{head}<tbody>{_rows(forum, one)}</tbody></table></div>",
    )


def bodies(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads: a table in which each row has its own tbody, both
    counts share one cell, and two cells name people."""

    def one(t: Topic) -> str:
        kind = "stickthread" if t.pinned else "normalthread"
        mark = (
            "<img src='static/pin_1.gif' alt='本版置顶'>"
            if t.pinned
            else "<img src='static/folder_common.gif'>"
        )
        first, last = t.posts[0], t.posts[-1]
        return (
            f"<tbody id='{kind}_{t.number}'><tr><td class=icn><a href='thread-{t.number}-1-1.html'"
            f" title='新窗口打开'>{mark}</a></td>"
            "<th class=common><em>[<a href='forum-7-1.html?typeid=3'>讨论</a>]</em> <a"
            f" href='thread-{t.number}-1-1.html' class='s xst'>{_e(t.title)}</a></th>"
            "<td class=by><cite><a"
            f" href='space-uid-{len(first.author)}1.html'>{_e(first.author)}</a></cite><em><span>"
            f"{forum.when(first.posted)}</span></em></td>"
            f"<td class=num><a href='thread-{t.number}-1-1.html'"
            f" class=xi2>{t.replies}</a><em>{t.views}</em></td>"
            "<td class=by><cite><a"
            f" href='space-username-{_e(last.author)}.html'>{_e(last.author)}</a></cite><em><a"
            f" href='forum.php?mod=redirect&amp;tid={t.number}&amp;goto=lastpost#lastpost'>"
            f"{forum.when(last.posted)}</a></em></td></tr></tbody>"
        )

    head = (
        "<div class=th><table><tr><th colspan=2>标题</th><td class=by>作者</td><td"
        " class=num>回复/查看</td><td class=by>最后发表</td></tr></table></div>"
    )
    split = (
        "<tbody id=separatorline><tr"
        " class=ts><td>&nbsp;</td><th>版块主题</th><td>&nbsp;</td><td>&nbsp;</td><td>&nbsp;</td></tr>"
        "</tbody>"
    )
    pinned = "".join(one(t) for t in forum.topics if t.pinned)
    rest = "".join(one(t) for t in forum.topics if not t.pinned)
    return frame(
        "版块",
        f"<div id=threadlist>{head}<table"
        f" id=threadlisttableid>{pinned}{split if pinned else ''}{rest}</table></div>",
    )


def bar(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads as list items: reply count, title, excerpt of the text,
    and people, whose names are also in `title` attributes."""

    def one(t: Topic) -> str:
        first, last = t.posts[0], t.posts[-1]
        top = "<i class=icon-top title='置顶'></i>" if t.pinned else ""
        return (
            f"<li class='j_thread_list clearfix' data-tid='{t.number}'><div class='col2_left'><span"
            f" class='threadlist_rep_num center_text' title='回复'>{t.replies}</span></div><div"
            f" class='col2_right'><div class='threadlist_lz'><div class='threadlist_title'>{top}<a"
            f" rel=noreferrer href='/p/{t.number}0077' title='{_e(t.title)}'"
            f" class='j_th_tit'>{_e(t.title)}</a></div><div class='threadlist_author'><span"
            f" class='tb_icon_author' title='主题作者: {_e(first.author)}'><a"
            " class='frs-author-name'"
            f" href='/home/main?un={_e(first.author)}&amp;fr=frs'>{_e(first.author)}</a></span>"
            f"</div></div><div"
            " class='threadlist_detail'><div"
            f" class='threadlist_text'>{_e(first.text[:60])}</div><div"
            " class='threadlist_author'><span class='tb_icon_author_rely' title='最后回复人:"
            f" {_e(last.author)}'><a class='frs-author-name'"
            f" href='/home/main?un={_e(last.author)}&amp;fr=frs'>{_e(last.author)}</a></span><span"
            " class='threadlist_reply_date'"
            f" title='最后回复时间'>{forum.when(last.posted)}</span></div></div></div></li>"
        )

    return frame("某某吧", f"<ul id=thread_list class=threadlist_bright>{_rows(forum, one)}</ul>")


def items(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads: list items with a list of labelled values, and exact
    times in attributes."""

    def one(t: Topic) -> str:
        first, last = t.posts[0], t.posts[-1]
        pin = (
            "<span class='ipsBadge' title='Pinned'><i class='fa fa-thumb-tack'></i></span>"
            if t.pinned
            else ""
        )
        return (
            f"<li class='ipsDataItem{' ipsDataItem_unread' if t.number % 2 else ''}'"
            f" data-rowID='{t.number}'><div class='ipsDataItem_main'><h4"
            f" class='ipsDataItem_title'>{pin}<span class=ipsType_break><a"
            f" href='/topic/{t.number}-{_slug(t)}/'><span>{_e(t.title)}</span></a></span></h4><div"
            " class='ipsDataItem_meta'>By <a"
            f" href='/profile/{len(first.author)}-{_e(first.author)}/'>{_e(first.author)}</a>,"
            f" <time datetime='{_z(first)}' title='x'>{first.posted:%B}"
            f" {first.posted.day}</time></div></div><ul class='ipsDataItem_stats'><li><span"
            f" class='ipsDataItem_stats_number'>{t.replies}</span> <span"
            " class='ipsDataItem_stats_type'>replies</span></li><li><span"
            f" class='ipsDataItem_stats_number'>{t.views / 1000:.1f}k</span> <span"
            " class='ipsDataItem_stats_type'>views</span></li></ul><ul"
            " class='ipsDataItem_lastPoster'><li><a"
            f" href='/profile/{len(last.author)}-{_e(last.author)}/'>{_e(last.author)}</a></li><li>"
            f"<a"
            f" href='/topic/{t.number}-{_slug(t)}/?do=getLastComment'><time"
            f" datetime='{_z(last)}'>{last.posted:%B} {last.posted.day}</time></a></li></ul></li>"
        )

    return frame("Board", f"<ol class='ipsDataList'>{_rows(forum, one)}</ol>")


def quiet(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads. A simple table: people after "by", the last post's
    time as its link."""

    def one(t: Topic) -> str:
        first, last = t.posts[0], t.posts[-1]
        sticky = "<span class=stickytext>Sticky:</span> " if t.pinned else ""
        return (
            f"<tr class='{'rowodd isticky' if t.pinned else 'roweven'}'><td class=tcl><div"
            f" class=icon><div class=nosize></div></div><div class=tclcon><div>{sticky}<a"
            f" href='viewtopic.php?id={t.number}'>{_e(t.title)}</a> <span class=byuser>by"
            f" {_e(first.author)}</span></div></div></td><td class=tc2>{t.replies}</td><td"
            f" class=tc3>{t.views:,}</td><td class=tcr><a"
            f" href='viewtopic.php?pid={last.number}#p{last.number}'>{forum.when(last.posted)}</a>"
            f" <span class=byuser>by {_e(last.author)}</span></td></tr>"
        )

    head = (
        "<thead><tr><th class=tcl>Topic</th><th class=tc2>Replies</th><th class=tc3>Views</th><th"
        " class=tcr>Last post</th></tr></thead>"
    )
    return frame(
        "Board",
        "<div id=vf"
        f" class=blocktable><table>{head}<tbody>{_rows(forum, one)}</tbody></table></div>",
    )


def definitions(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads. One definition list for all threads: a term per
    thread, its fields as definitions."""

    def one(t: Topic) -> str:
        first, last = t.posts[0], t.posts[-1]
        pin = "<strong>Important</strong> " if t.pinned else ""
        return (
            f"<dt>{pin}<a href='/threads/{t.number}'>{_e(t.title)}</a></dt><dd>started by"
            f" <b>{_e(first.author)}</b></dd><dd>{t.replies} answers</dd><dd>last answer"
            f" {forum.when(last.posted)} by <b>{_e(last.author)}</b></dd>"
        )

    return frame("Board", f"<h1>Board</h1><dl>{_rows(forum, one)}</dl>")


def modules(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads. Cards with meaningless class names, as CSS compilers
    generate them; labels beside the values."""

    def one(t: Topic) -> str:
        first, last = t.posts[0], t.posts[-1]
        pin = "<span class='sc-a81 kLmNo'>Pinned</span>" if t.pinned else ""
        return (
            "<div class='sc-f1 bXyZa'><div class='sc-f2 cQwEr'><a class='sc-f3 dTyUi'"
            f" href='/community/questions/{_slug(t)}-{t.number}'>{_e(t.title)}</a>{pin}</div><div"
            " class='sc-f4 eOpAs'><a class='sc-f5'"
            f" href='/people/{_e(first.author)}'>{_e(first.author)}</a><span class='sc-f6'>Replies:"
            f" {t.replies}</span><span class='sc-f6'>Views: {t.views}</span><span class='sc-f7'"
            f" title='{last.posted:%Y-%m-%d %H:%M}'>{forum.when(last.posted)}</span></div></div>"
        )

    return frame("Board", f"<div class='sc-e9'>{_rows(forum, one)}</div>")


def structured(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads: semantic elements with pairs of term and value."""

    def one(t: Topic) -> str:
        first, last = t.posts[0], t.posts[-1]
        pin = (
            "<ul class=structItem-extra><li><i class='status--sticky'></i><span"
            " class=sr-only>Sticky</span></li></ul>"
            if t.pinned
            else ""
        )
        return (
            f"<div class='structItem structItem--thread js-thread-{t.number}'"
            f" data-author='{_e(first.author)}'><div class='structItem-cell"
            f" structItem-cell--icon'><a href='/members/{_e(first.author)}.{len(first.author)}/'"
            f" class='avatar'><span>{_e(first.author[0])}</span></a></div><div"
            f" class='structItem-cell structItem-cell--main'>{pin}<div class='structItem-title'><a"
            " href='/forums/b.2/?prefix_id=3' class=labelLink><span class=label>Help</span></a> <a"
            f" href='/threads/{_slug(t)}.{t.number}/'>{_e(t.title)}</a></div><div"
            " class='structItem-minor'><ul class=structItem-parts><li><a"
            f" href='/members/{_e(first.author)}.{len(first.author)}/'"
            f" class=username>{_e(first.author)}</a></li><li><a"
            f" href='/threads/{_slug(t)}.{t.number}/'><time"
            f" datetime='{_z(first)}'>{first.posted:%b} {first.posted.day},"
            f" {first.posted.year}</time></a></li></ul></div></div><div class='structItem-cell"
            " structItem-cell--meta'><dl"
            f" class='pairs'><dt>Replies</dt><dd>{t.replies}</dd></dl><dl class='pairs"
            f" minor'><dt>Views</dt><dd>{t.views}</dd></dl></div><div class='structItem-cell"
            f" structItem-cell--latest'><a href='/threads/{_slug(t)}.{t.number}/latest'><time"
            f" datetime='{_z(last)}'>{last.posted:%b} {last.posted.day},"
            f" {last.posted.year}</time></a><div><a"
            f" href='/members/{_e(last.author)}.{len(last.author)}/'"
            f" class=username>{_e(last.author)}</a></div></div></div>"
        )

    return frame("Board", f"<div class='structItemContainer'>{_rows(forum, one)}</div>")


def pairs(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads: two table rows per thread, as on link aggregators."""

    def one(t: Topic) -> str:
        first, last = t.posts[0], t.posts[-1]
        pin = "<b>[pinned]</b> " if t.pinned else ""
        return (
            f"<tr class=entry><td>{pin}<a"
            f" href='/read.php?4,{t.number}'>{_e(t.title)}</a></td></tr><tr class=detail><td>by <a"
            f" href='/profile.php?4,{len(first.author)}'>{_e(first.author)}</a> | {t.replies}"
            f" replies | last post {forum.when(last.posted)}</td></tr>"
        )

    return frame("Board", f"<table>{_rows(forum, one)}</table>")


def answers(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads: questions with three labelled counts before the
    title."""

    def one(t: Topic) -> str:
        last = t.posts[-1]
        pin = "<span class=pinned-badge>pinned</span>" if t.pinned else ""
        return (
            f"<div class=question-summary id='question-summary-{t.number}'><div class=stats><div"
            f" class=vote><strong>{t.number % 7}</strong> votes</div><div"
            f" class=answers><strong>{t.replies}</strong> answers</div><div class=views>{t.views}"
            " views</div></div>"
            f"<div class=summary><h3>{pin}<a"
            f" href='/questions/{t.number}/{_slug(t)}'>{_e(t.title)}</a></h3><div class=tags><a"
            " href='/questions/tagged/a'>a</a> <a href='/questions/tagged/bb'>bb</a></div>"
            f"<div class=started>active <span title='{last.posted:%Y-%m-%d %H:%M}Z'"
            f" class=relativetime>{forum.when(last.posted)}</span> <a"
            f" href='/users/{len(last.author)}/{_e(last.author)}'>{_e(last.author)}</a></div></div>"
            f"</div>"
        )

    return frame("Questions", f"<div id=questions>{_rows(forum, one)}</div>")


def lines(forum: RandomForum) -> str:
    """Returns the HTML of a list of threads. Lines of a page without any structure: a link, then
    text."""

    def one(t: Topic) -> str:
        first, last = t.posts[0], t.posts[-1]
        pin = "<b>Sticky</b> " if t.pinned else ""
        return (
            f"<p>{pin}<a href='topic.cgi?t={t.number}'>{_e(t.title)}</a> by {_e(first.author)}"
            f" ({t.replies} replies, last {forum.when(last.posted)})</p>"
        )

    return frame("Board", f"<h2>Board</h2>{_rows(forum, one)}")


def _slug(topic: Topic) -> str:
    words = "".join(
        char if char.isascii() and char.isalnum() else "-" for char in topic.title.lower()
    )
    return "-".join(part for part in words.split("-") if part) or "x"


def _z(post: object) -> str:
    return f"{post.posted:%Y-%m-%dT%H:%M:%SZ}"  # type: ignore[attr-defined]


LISTS: dict[str, Render] = {
    made.__name__: made
    for made in (
        bulletin,
        machines,
        bodies,
        bar,
        items,
        quiet,
        definitions,
        modules,
        structured,
        pairs,
        answers,
        lines,
    )
}
# layouts that contain the exact time in an attribute, even if the text shows a less exact one
EXACT = frozenset({"items", "structured", "modules", "answers"})
LAST_ONLY = frozenset(
    {"answers"}
)  # layouts that name the author of the last post but not that of the thread


# markups of indexes (lists of boards)


def _boards(forum: RandomForum, one: Callable[[Section], str]) -> str:
    return "".join(one(board) for board in forum.boards)


def table_index(forum: RandomForum) -> str:
    """Returns the HTML of an index of boards: boards in a table with headers, in two categories."""

    def one(b: Section) -> str:
        last = b.last
        assert last is not None
        return (
            "<tr><td><img src='/i/new.gif'></td><td><a"
            f" href='forumdisplay.php?f={b.number}'><b>{_e(b.name)}</b></a><div"
            f" class=small>{_e(b.about)}</div></td>"
            f"<td><a href='showthread.php?t={last.number}'>{_e(last.title[:24])}</a><br>by <a"
            f" href='member.php?u=9'>{_e(last.posts[-1].author)}</a><br>"
            f"{forum.when(last.posts[-1].posted)}</td><td>{b.threads:,}</td><td>{b.posts:,}</td>"
            f"</tr>"
        )

    half = len(forum.boards) // 2
    head = "<tr><th colspan=2>Forum</th><th>Last Post</th><th>Threads</th><th>Posts</th></tr>"
    parts = [
        f"<tbody><tr><td colspan=5 class=cat><a href='forumdisplay.php?f=9{at}'>Category"
        f" {at}</a></td></tr>{''.join(one(b) for b in chosen)}</tbody>"
        for at, chosen in enumerate((forum.boards[:half], forum.boards[half:]))
    ]
    return frame("Index", f"<table class=forums>{head}{''.join(parts)}</table>")


def card_index(forum: RandomForum) -> str:
    """Returns an index page that shows boards as cards with labelled counts."""

    def one(b: Section) -> str:
        last = b.last
        assert last is not None
        return (
            f"<div class=node id='node-{b.number}'><h3 class=node-title><a"
            f" href='/forums/{b.number}-b/'>{_e(b.name)}</a></h3><div"
            f" class=node-description>{_e(b.about)}</div>"
            f"<dl class=pairs><dt>Topics</dt><dd>{b.threads}</dd></dl><dl"
            f" class=pairs><dt>Messages</dt><dd>{b.posts}</dd></dl>"
            f"<div class=node-extra><a href='/threads/{last.number}/latest'>{_e(last.title)}</a>"
            " <time"
            f" datetime='{last.posts[-1].posted:%Y-%m-%dT%H:%M:%SZ}'>"
            f"{forum.when(last.posts[-1].posted)}</time>"
            f" <a href='/members/{_e(last.posts[-1].author)}/'>{_e(last.posts[-1].author)}</a>"
            f"</div></div>"
        )

    return frame("Index", f"<h1>Some forum</h1><div class=nodes>{_boards(forum, one)}</div>")


def chinese_index(forum: RandomForum) -> str:
    """Returns the HTML of an index of boards: boards in table rows with "threads / posts" in one
    cell."""

    def one(b: Section) -> str:
        last = b.last
        assert last is not None
        return (
            f"<tr><td class=fl_icn><a href='forum-{b.number}-1.html'><img src='static/forum.gif'"
            f" alt='{_e(b.name)}'></a></td><td><h2><a"
            f" href='forum-{b.number}-1.html'>{_e(b.name)}</a></h2><p"
            f" class=xg2>{_e(b.about)}</p></td>"
            f"<td class=fl_i><span class=xi2>{b.threads}</span><span class=xg1> /"
            f" {b.posts}</span></td><td class=fl_by><div><a"
            f" href='forum.php?mod=redirect&amp;tid={last.number}&amp;goto=lastpost#lastpost'"
            f" class=xi2>{_e(last.title)}</a> <cite>{forum.when(last.posts[-1].posted)} <a"
            f" href='space-username-{_e(last.posts[-1].author)}.html'>{_e(last.posts[-1].author)}"
            f"</a></cite></div></td></tr>"
        )

    return frame(
        "论坛",
        "<div class='bm bmw'><div class=bm_h><h2><a"
        " href='forum.php?gid=1'>生活</a></h2></div><table"
        f" class=fl_tb>{_boards(forum, one)}</table></div>",
    )


def item_index(forum: RandomForum) -> str:
    """Returns the HTML of an index of boards: boards as list items with counts before their
    labels."""

    def one(b: Section) -> str:
        last = b.last
        assert last is not None
        return (
            f"<li class='category-{b.number}'><div class=content><h2 class=title><a"
            f" href='/category/{b.number}/b'>{_e(b.name)}</a></h2><div"
            f" class=description>{_e(b.about)}</div></div><span class=stats><span"
            f" class=human>{b.threads}</span><br><small>Topics</small></span><span"
            f" class=stats><span class=human>{b.posts}</span><br><small>Posts</small></span><div"
            f" class=card><a href='/topic/{last.number}/x/7'><span class=timeago"
            f" title='{last.posts[-1].posted:%Y-%m-%dT%H:%M:%S.000Z}'></span></a><div"
            f" class=post-content>{_e(last.posts[-1].text[:80])}</div></div></li>"
        )

    return frame("Index", f"<ul class=categories>{_boards(forum, one)}</ul>")


INDEXES: dict[str, Render] = {
    made.__name__: made for made in (table_index, card_index, chinese_index, item_index)
}
EXACT_INDEXES = frozenset({"card_index", "item_index"})
