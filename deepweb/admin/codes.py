"""Codes of the deep web in words for people."""

from __future__ import annotations

from django.utils.translation import gettext_noop as n

from crawlmgr.admin import words

CODES = {
    "queries": n("the number of queries is used up"),
    "requests": n("the number of requests is used up"),
    "gain": n("the last ten queries brought hardly anything new"),
    "good_turing": n("nearly everything that comes back is known already"),
    "rounds": n("the paper's own rule: five rounds, or too few words left"),
    "no_more_words": n("there is no word left to ask"),
    "no_results": n("no query brought a record"),
    "login_required": n("the site asks to log in"),
    "sent_once": n("a POST that may have arrived is not sent again"),
    "page_limit": n("the limit of pages for one site"),
    "no_forms": n("no form was found"),
    "not_search": n("this is no search form"),
    "personal_fields": n("the form asks for personal data or a password"),
    "nothing_to_fill": n("there is nothing to fill in"),
    "post_textarea": n("a POST form with a text area is never sent"),
    "post_unsure": n("a POST form that is not surely a search form is not sent"),
    "post_encoding": n("a POST form of this encoding is not sent"),
    "post_not_released": n("a POST form is sent only after it was released"),
    "other_site": n("the form sends to another site"),
    "no_probes": n("no random probes were asked"),
    "too_few_words": n("too few words for random probes"),
    "too_few_probes": n("too few random probes that were not cut"),
    "too_few_recaptured": n("too few records came back twice"),
    "too_many_cut": n("too many random probes were cut"),
    "too_wide": n("the interval would be too wide to tell anything"),
    "answers_not_understood": n("what is shown does not tell by which words records are found"),
    "below_records_seen": n("the estimate contradicts what was seen"),
}
KINDS = {"deepweb-find": n("look for search forms"), "deepweb-harvest": n("harvest of search forms")}

words.SAID.update(CODES)
words.KINDS.update(KINDS)
