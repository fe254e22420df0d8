"""Codes that runs, visits, pages and events store, in words for people. A code without words is shown as it is."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as n

SAID: dict[str, str] = {
    # how a run or a visit ends
    "complete": n("complete: every board was read to its stop"),
    "incomplete": n("ended, but not everything could be read"),
    "stopped": n("stopped by a person"),
    "disk_low": n("paused: too little room on the disk"),
    "program_error": n("an error of the program"),
    "boards_found": n("boards found"),
    "no_boards": n("no boards were found"),
    "unreachable": n("the address could not be reached"),
    "failed": n("the run failed"),
    "watermark": n("reached what the last complete visit knew"),
    "unchanged": n("a page of rows without any change"),
    "history": n("reached the end of the history to read"),
    "end_of_board": n("the last page of the board"),
    "no_new_rows": n("two pages without a new row"),
    "max_pages": n("the limit of list pages for one visit"),
    "not_modified": n("not modified since the last visit"),
    "no_records": n("no threads were recognised on the page"),
    "no_posts": n("no posts were recognised on the page"),
    "host_unreachable": n("the host could not be reached; its other addresses were given up"),
    "dropped": n("taken out of the run"),
    "budget": n("the number of pages asked for"),
    "frontier_empty": n("nothing was left to fetch"),
    # why a page failed
    "bad_url": n("no address of the web"),
    "dns": n("the name of the host is not known"),
    "refused_address": n("a private address that is not allowed"),
    "no_contact": n("no contact address is set"),
    "connect": n("no connection"),
    "proxy": n("the proxy failed"),
    "tls": n("the certificate or encryption failed"),
    "timeout": n("no answer in time"),
    "too_slow": n("the page took too long in all"),
    "reset": n("the connection was cut"),
    "protocol": n("no valid answer"),
    "too_large": n("too large"),
    "bomb": n("too large when unpacked"),
    "truncated": n("ended too early"),
    "length": n("longer than announced"),
    "bad_encoding": n("unknown compression"),
    "type": n("not a type of page that is read"),
    "too_many_redirects": n("too many redirects"),
    "redirect_loop": n("redirects in a circle"),
    "bad_redirect": n("redirects to no address of the web"),
    "refused_hop": n("a redirect to where the crawl may not go"),
    "robots": n("refused by robots.txt"),
    "robots_unreachable": n("robots.txt cannot be read, so nothing may be fetched for now"),
    "host_waits": n("the redirect's host asks to wait too long"),
    # traps
    "too_long": n("an address that is too long"),
    "too_deep": n("too many path segments"),
    "repeated_segment": n("the same path segment again and again"),
    "calendar": n("an endless calendar"),
    # events
    "run_failed": n("A run failed"),
    "slice_broke": n("Work on a run broke off"),
    "visit_incomplete": n("A visit could not read everything"),
    "visit_refused": n("A visit could not be started"),
    "cluster_restarted": n("The workers were restarted"),
    "web_restarted": n("The web server was restarted"),
    # verdicts on robots.txt
    "allow": n("all allowed"),
    "deny": n("all refused for now"),
    "rules": n("rules apply"),
    "parsed": n("rules apply"),
    # alarms
    "no_workers": n("No worker is alive: nothing is fetched. Start the desk with `serve`, or a node with `node`."),
    "no_contact_set": n("No contact is set (CRAWLMGR_CONTACT): only private addresses that a forum allows can be crawled."),
    "disk_full": n("The disk is almost full: runs pause until there is room."),
}

KINDS = {
    "forum": n("forum visit"),
    "forum-discovery": n("look at a new forum"),
    "topic": n("topic crawl"),
    "deepweb": n("search forms"),
}


def say(code: str) -> str:
    """A code in words; "http_404" and "incomplete: a, b" and "code: detail" are taken apart first."""
    head, colon, rest = code.partition(":")
    head, rest = head.strip(), rest.strip()
    if head.startswith("http_"):
        return _("HTTP status %(status)s") % {"status": head.removeprefix("http_")}
    known = SAID.get(head)
    if known is None:
        return code
    if not colon or not rest:
        return _(known)
    parts = "; ".join(_(SAID[part]) if part in SAID else part for part in (piece.strip() for piece in rest.split(",")))
    return f"{_(known)} ({parts})"


def kind(code: str) -> str:
    """A kind of run in words."""
    return _(KINDS[code]) if code in KINDS else code
