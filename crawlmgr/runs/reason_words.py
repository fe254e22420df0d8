"""Texts for the codes stored with runs, visits, pages and events, in the current language."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

SAID: dict[str, str] = {
    # reasons for the end of a run or a visit
    "complete": gettext_noop("complete: nothing was left to do"),
    "incomplete": gettext_noop("ended, but not everything could be read"),
    "stopped": gettext_noop("stopped by a user"),
    "disk_low": gettext_noop("too little space on the disk"),
    "secrets_unreadable": gettext_noop("a stored password or key cannot be read; enter it again"),
    "program_error": gettext_noop("an internal error"),
    "boards_found": gettext_noop("boards found"),
    "no_boards": gettext_noop("no boards were found"),
    "unreachable": gettext_noop("the address could not be reached"),
    "failed": gettext_noop("the run failed"),
    "watermark": gettext_noop("known threads reached: those that the last complete visit had read"),
    "unchanged": gettext_noop("a list page without any changed row"),
    "history": gettext_noop("reached the limit of the history to read"),
    "end_of_board": gettext_noop("the last page of the board was read"),
    "empty_board": gettext_noop("the board has no threads"),
    "no_new_rows": gettext_noop("two pages without a new row"),
    "max_pages": gettext_noop("the limit of list pages for one visit"),
    "not_modified": gettext_noop("not modified since the last visit"),
    "in_doubt": gettext_noop(
        "read to the end, but the reading may be wrong: see the list of doubtful readings"
    ),
    "no_next_page": gettext_noop("no further page: the same posts again, or none"),
    "same_thread": gettext_noop("a thread that is stored under another address"),
    "redirected": gettext_noop("redirected to a page that does not show this thread"),
    "reread": gettext_noop("every stored page was read again"),
    "no_records": gettext_noop("no threads were recognised on the page"),
    "no_posts": gettext_noop("no posts were recognised on the page"),
    "login_needed": gettext_noop("the page asks for a login"),
    "other_host": gettext_noop("rows that lead to another host were left out"),
    "layout_changed": gettext_noop(
        "the page layout has changed and could not be learned again; nothing was stored"
    ),
    "retry_after_cut": gettext_noop(
        "the host asked us to wait for more than a day: it is asked again after a day"
    ),
    "pause_cut": gettext_noop(
        "the next request to the host was stored too far ahead, by a clock that was wrong: the"
        " host is asked now"
    ),
    "counter_trap": gettext_noop(
        "addresses that differ from this one in their numbers only brought nothing new for many"
        " pages: they are not followed any more"
    ),
    "time_cut": gettext_noop(
        "a stored time was too far ahead, by a clock that was wrong: it is now the present"
    ),
    "host_unreachable": gettext_noop(
        "the host could not be reached; its other addresses were given up"
    ),
    "dropped": gettext_noop("removed from the run"),
    "host_pages": gettext_noop("the limit of pages per host was reached"),
    "budget": gettext_noop("the requested number of pages was reached"),
    "frontier_empty": gettext_noop("nothing was left to fetch"),
    "samples_read": gettext_noop("all samples are read"),
    "simulated": gettext_noop("every step was simulated"),
    "unusable_log": gettext_noop("the event file does not suit this experiment"),
    "pages": gettext_noop("the requested number of pages was reached"),
    "minutes": gettext_noop("the time limit was reached"),
    "relevant": gettext_noop("enough pages on topic"),
    "frontier": gettext_noop("nothing was left to fetch"),
    "rule_depth": gettext_noop(
        "the remaining links lie too many steps off topic: the strategy's depth limit"
    ),
    "rule_off_topic": gettext_noop(
        "the remaining links are on off-topic pages only: the strategy drops such links"
    ),
    "rule_tunnel": gettext_noop(
        "the remaining links lie beyond the tunnel length: the strategy drops such links"
    ),
    "rule_concepts": gettext_noop(
        "the remaining links name concepts that were fetched before: the strategy's rule for"
        " duplicates"
    ),
    "no_direction": gettext_noop("the pheromone no longer favours any link"),
    "compared": gettext_noop("every strategy was run and evaluated"),
    "helped": gettext_noop("its part of a comparison is computed"),
    "removed": gettext_noop("everything is deleted"),
    "exported": gettext_noop("the file is written"),
    "backed_up": gettext_noop("the backup is complete"),
    "not_comparable": gettext_noop("there are no pages to compare on"),
    # reasons for a page's failure
    "bad_url": gettext_noop("not a web address"),
    "dns": gettext_noop("the host name cannot be resolved"),
    "refused_address": gettext_noop("a private address that is not allowed"),
    "no_contact": gettext_noop("no contact address is set"),
    "connect": gettext_noop("no connection"),
    "proxy": gettext_noop("the proxy failed"),
    "tls": gettext_noop("the certificate or encryption failed"),
    "timeout": gettext_noop("no response in time"),
    "too_slow": gettext_noop("the page took too long in total"),
    "reset": gettext_noop("the connection was closed early"),
    "protocol": gettext_noop("no valid response"),
    "too_large": gettext_noop("too large"),
    "bomb": gettext_noop("too large when unpacked"),
    "truncated": gettext_noop("the response ended early"),
    "length": gettext_noop("the response was longer than announced"),
    "bad_encoding": gettext_noop("unknown compression"),
    "type": gettext_noop("a content type that is not processed"),
    "over_budget": gettext_noop("parsing took longer than allowed for one page"),
    "read_in_part": gettext_noop("only the beginning of the page was read"),
    "uncorrected": gettext_noop("a correction of the forum's pages could not be applied"),
    "too_many_redirects": gettext_noop("too many redirects"),
    "redirect_loop": gettext_noop("redirects in a circle"),
    "bad_redirect": gettext_noop("redirects to something that is not a web address"),
    "refused_hop": gettext_noop("a redirect to an address that the crawl may not fetch"),
    "robots": gettext_noop("refused by robots.txt"),
    "robots_meta": gettext_noop("the page itself asks robots not to read it"),
    "no_api": gettext_noop("the forum's JSON interface returned nothing"),
    "robots_unreachable": gettext_noop(
        "robots.txt cannot be read, so nothing may be fetched for now"
    ),
    "host_waits": gettext_noop("the redirect's host asks to wait too long"),
    "not_in_archive": gettext_noop("not in the archive"),
    "fetched_before": gettext_noop("leads to a page that was fetched before"),
    # reasons why a topic crawl does not request an address: scope rules and duplicates
    "host": gettext_noop("a host outside the scope"),
    "dropped_host": gettext_noop("an excluded host"),
    "path": gettext_noop("a path outside the scope"),
    "excluded_path": gettext_noop("an excluded path"),
    "other_address": gettext_noop("other addresses of the same page (rel=canonical)"),
    "same_concepts": gettext_noop("the same concept of the ontology as another link"),
    "depth": gettext_noop("too many clicks from a seed"),
    # kinds of crawler traps
    "counter": gettext_noop("a counter in the address whose pages bring nothing new"),
    "too_long": gettext_noop("an address that is too long"),
    "too_deep": gettext_noop("too many path segments"),
    "repeated_segment": gettext_noop("the same path segment again and again"),
    "calendar": gettext_noop("an endless calendar"),
    # codes of events in the log
    "run_failed": gettext_noop("A run failed"),
    "slice_broke": gettext_noop("Processing of a run was interrupted"),
    "database_trouble": gettext_noop("A temporary database error; the work was repeated"),
    "worker_ended": gettext_noop(
        "A worker process was killed or crashed; another one continues its work"
    ),
    "worker_silent": gettext_noop("A worker stopped responding; another one continues its work"),
    "node_state": gettext_noop("A worker node was asked to accept work, to pause or to drain"),
    "all_paused": gettext_noop("All crawling was paused"),
    "all_resumed": gettext_noop("All crawling was resumed"),
    "visit_incomplete": gettext_noop("A visit could not read everything"),
    "thread_given_up": gettext_noop(
        "Pages of a thread could not be read in several visits and were given up (reason, address)"
    ),
    "visit_refused": gettext_noop("A visit could not be started"),
    "threads_joined": gettext_noop("Threads that were stored twice were joined"),
    "site_edited": gettext_noop("A forum was edited"),
    "site_deleted": gettext_noop("A forum was deleted"),
    "deleted_from_list": gettext_noop("An entry of a list was deleted (name)"),
    "structure_edited": gettext_noop("The model of a forum was edited"),
    "structure_corrected": gettext_noop("The corrections of a forum's pages were changed"),
    "structure_restored": gettext_noop("A forum went back to an earlier version of its model"),
    "structure_kept": gettext_noop(
        "A layout change of a forum was dismissed; its model stays as it is"
    ),
    "layout_noticed": gettext_noop("The layout of a forum has changed"),
    "layout_agreed": gettext_noop(
        "The layout of a forum was learned again, and the new model agrees with the stored data"
    ),
    "layout_disagrees": gettext_noop(
        "The layout of a forum was learned again, but the new model contradicts the stored data:"
        " the old one stays in use"
    ),
    "login_barred": gettext_noop("Too many failed logins (name · address)"),
    "login_failed": gettext_noop("The login of a forum failed"),
    "login_expired": gettext_noop("The login of a forum has expired"),
    "login_changed": gettext_noop("The login of a forum was changed"),
    "drop": gettext_noop(
        "A forum has much less new content than usual (items in two days / usual number)"
    ),
    "silent": gettext_noop(
        "A forum yields nothing new (hours, and the usual number of items in that time)"
    ),
    "topic_refused": gettext_noop("A run of a topic could not be started"),
    "harvest_refused": gettext_noop("A harvest could not be started"),
    "schedule_missed": gettext_noop("Scheduled starts were missed; one start was made instead"),
    "task_refused": gettext_noop(
        "A task of another program was refused and removed from the queue"
    ),
    "token_made": gettext_noop("An API token was created (name, role)"),
    "token_removed": gettext_noop("An API token was removed"),
    "channel_made": gettext_noop("A channel for alarms was created"),
    "channel_removed": gettext_noop("A channel for alarms was removed"),
    "export_opened": gettext_noop("An address without login was created for an export"),
    "export_closed": gettext_noop("The address of an export was withdrawn"),
    "export_removed": gettext_noop("An export was deleted with its files"),
    "cluster_restarted": gettext_noop("The workers were restarted"),
    "web_restarted": gettext_noop("The web server was restarted"),
    "store_away": gettext_noop(
        "The archive's file store does not respond; closed files stay in the local folder"
    ),
    "file_damaged": gettext_noop(
        "An archive file does not match its index; it was not moved into the file store"
    ),
    # results of reading a host's robots.txt
    "allow": gettext_noop("all allowed"),
    "deny": gettext_noop("all refused for now"),
    "rules": gettext_noop("rules apply"),
    "parsed": gettext_noop("rules apply"),
    # codes of alarms
    "no_workers": gettext_noop(
        "No worker is alive: nothing is fetched. Start the server with `serve`, or a node with"
        " `node`."
    ),
    "no_contact_set": gettext_noop(
        "No contact is set (CRAWLMGR_CONTACT): only private addresses that a forum allows can be"
        " crawled."
    ),
    "disk_full": gettext_noop("The disk is almost full: runs pause until space is freed."),
}


def say(code: str) -> str:
    """Returns the text for a code in the current language; `code` itself if it is unknown. In a
    code such as "incomplete: a, b", the codes after the colon are translated too; for "http_404"
    the text contains the status."""
    head, colon, rest = code.partition(":")
    head, rest = head.strip(), rest.strip()
    if head.startswith("http_"):
        return _("HTTP status %(status)s") % {"status": head.removeprefix("http_")}
    known = SAID.get(head)
    if known is None:
        return code
    if not colon or not rest:
        return _(known)
    parts = "; ".join(say(piece.strip()) for piece in rest.split(","))
    return f"{_(known)} ({parts})"
