"""Error pages: 400, 403, 404, 405, 413, 500, and 503 while the database is unavailable or locked.

Browsers get a page with a link back; clients that ask for JSON or plain text get that format. The
pages for 500 and 503 make no database query; the others have the usual navigation around them if it
can be rendered."""

from __future__ import annotations

import logging
import sqlite3
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib import admin
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.db import Error as DatabaseProblem
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.template.loader import render_to_string
from django.urls import Resolver404, reverse
from django.utils.translation import gettext as _
from unfold.settings import get_config

from crawlmgr.archive.warc_files import Unreachable
from crawlmgr.database import caches, sql

log = logging.getLogger("crawlmgr.desk")
API = "/api/"
RETRY_AFTER_SECONDS = 5
"""Seconds after which an error page reloads itself, and the Retry-After header for other clients.
"""


class Problem(NamedTuple):
    """The content of an error page: heading, sentence and icon."""

    title: str
    text: str
    icon: str = "error"


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Returns 400: the request is malformed, or has more form data than is accepted."""
    text = _too_much(exception) or _("Go back and try once more.")
    return _answer(request, 400, Problem(_("That request cannot be read"), text, "block"))


def denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Returns 403: the account lacks a permission."""
    text = _("Your account does not have this permission. An administrator can grant it.")
    return _answer(request, 403, Problem(_("Not allowed"), text, "lock"))


def forged(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Returns 403 for a form with a missing or expired CSRF token (Django's CSRF_FAILURE_VIEW)."""
    text = _(
        "The form was open for too long, you have logged in anew since, or cookies are off. Nothing"
        " was changed; reload the page and send it again."
    )
    return _answer(request, 403, Problem(_("The form is no longer valid"), text, "lock"))


def missing(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Returns 404, with the message of the exception if it was written for users."""
    said = (
        str(exception)
        if isinstance(exception, Http404) and not isinstance(exception, Resolver404)
        else ""
    )
    text = said or _("The page may have been deleted, or the address is wrong.")
    return _answer(request, 404, Problem(_("Page not found"), text, "search_off"))


def not_allowed(request: HttpRequest, methods: Sequence[str]) -> HttpResponse:
    """Returns 405: the address accepts other methods only, such as POST for a button. `methods` are
    those that it accepts."""
    text = _(
        "This address is used by a button and shows no page. Go back to the page with the button."
    )
    answer = _answer(
        request, 405, Problem(_("This address cannot be opened directly"), text, "block")
    )
    answer.headers["Allow"] = ", ".join(methods)
    return answer


def too_large(request: HttpRequest) -> HttpResponse:
    """Returns 413: the request body is larger than settings.MAX_UPLOAD_BYTES; it was not read."""
    text = _("At most %(size)s MB can be sent at once. Nothing was stored.") % {
        "size": settings.MAX_UPLOAD_BYTES // 1_000_000
    }
    answer = _answer(request, 413, Problem(_("That is too large"), text, "scale"))
    answer.headers["Connection"] = "close"
    return answer


def broken(request: HttpRequest) -> HttpResponse:
    """Returns an error page: status 503 if the database is unavailable, locked or out of space, or
    the archive's object store does not respond; otherwise 500."""
    problem = _of_stores(sys.exc_info()[1])
    if problem is None:
        text = _(
            "An internal error. The log (logs/crawlmgr.log) has the details, at the time of this"
            " error."
        )
        return _answer(
            request, 500, Problem(_("Something went wrong"), text, "bug_report"), framed=False
        )
    answer = _answer(request, 503, problem, framed=False)
    answer.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return answer


def _of_stores(error: BaseException | None) -> Problem | None:
    """Returns the message for an error of the database or of the archive's object store; None if
    the error has another cause."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, Unreachable):
            text = _(
                "Pages in the file store cannot be shown until it responds again. No data is lost."
            )
            return Problem(_("The archive's file store does not respond"), text, "cloud_off")
        if isinstance(error, DatabaseProblem):
            if sql.full(error) and not _not_opened(error):
                text = _(
                    "The database cannot write. Runs are paused and continue once disk space is"
                    " freed."
                )
                return Problem(_("The disk is full"), text, "hard_drive")
            if sql.passing(error):
                text = _(
                    "Another process is using the database, or the database server is unavailable"
                    " or starting. This is temporary; stored data is safe."
                )
                return Problem(_("The database is busy"), text, "hourglass_top")
            if _not_opened(error):
                text = _(
                    "The database file cannot be opened or read. Check that its folder exists;"
                    " stored data is safe."
                )
                return Problem(_("The database is unavailable"), text, "cloud_off")
        error = error.__cause__ or error.__context__
    return None


def _not_opened(error: BaseException) -> bool:
    code = getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PROTOCOL)


def _too_much(error: Exception | None) -> str:
    if isinstance(error, RequestDataTooBig):
        size = settings.DATA_UPLOAD_MAX_MEMORY_SIZE / 1_000_000
        return _(
            "The fields contain more than %(size)s MB of text. Upload a longer text as a file."
        ) % {"size": f"{size:g}"}
    if isinstance(error, TooManyFieldsSent | TooManyFilesSent):
        return _("Too many fields or files at once. Send them in parts.")
    return ""


def _answer(
    request: HttpRequest, status: int, problem: Problem, *, framed: bool = True
) -> HttpResponse:
    program = request.path.endswith(".json") or request.path.startswith(API)
    wanted = "application/json" if program else _kind(request)
    if wanted == "application/json":
        return JsonResponse(
            {"error": problem.title, "detail": problem.text, "status": status}, status=status
        )
    if wanted == "text/plain":
        return HttpResponse(
            f"{problem.title}. {problem.text}\n",
            status=status,
            content_type="text/plain; charset=utf-8",
        )
    context = {
        "problem": problem,
        "status": status,
        "title": problem.title,
        **_ways(request, status),
    }
    html = (_in_frame(request, context) if framed else None) or _alone(request, context)
    return HttpResponse(html, status=status, headers={"Cache-Control": "no-store"})


def _kind(request: HttpRequest) -> str:
    return (
        request.get_preferred_type(["text/html", "application/json", "text/plain"]) or "text/plain"
    )


def _ways(request: HttpRequest, status: int) -> dict[str, Any]:
    """Returns the template values for the links of an error page: the same address again (after a
    failed GET), and the page that the user came from, such as a submitted form."""
    came = urlsplit(request.headers.get("Referer", ""))
    ours = (
        came.netloc == request.META.get("HTTP_HOST", "")
        and came.path.startswith("/")
        and not came.path.startswith("//")
    )
    read = request.method in ("GET", "HEAD")
    back = (
        f"{came.path}{'?' if came.query else ''}{came.query}"
        if ours and not (read and came.path == request.path)
        else ""
    )
    again = request.get_full_path() if read and status in (500, 503) else ""
    return {
        "back": back,
        "again": again,
        "retry": RETRY_AFTER_SECONDS if again and status == 503 else 0,
        "sent": not read,
    }


def _in_frame(request: HttpRequest, context: dict[str, Any]) -> str | None:
    """Returns the HTML of an error page with the usual navigation; None if nobody is logged in or
    it cannot be rendered."""
    try:
        user = getattr(request, "user", None)
        if user is None or not admin.site.has_permission(request):
            return None
        frame = {
            **admin.site.each_context(request),
            "trail": [(_("Overview"), reverse("admin:index"))],
        }
        return render_to_string("desk/error.html", {**frame, **context}, request)
    except DatabaseProblem as error:
        log.warning(
            "the error page for status %s is rendered without the desk's frame: %s",
            context["status"],
            sql.one_line(error),
        )
        return None


def _alone(request: HttpRequest, context: dict[str, Any]) -> str:
    """Returns the HTML of an error page without navigation, rendered from settings and request
    without the database."""
    look = settings.UNFOLD
    frame = {
        "site_title": look["SITE_TITLE"],
        "site_symbol": look["SITE_SYMBOL"],
        "colors": get_config()["COLORS"],
        "styles": [style(request) for style in look["STYLES"]],
        "scripts": [script(request) for script in look["SCRIPTS"]],
        "site_favicons": [
            {**icon, "href": icon["href"](request)} for icon in look["SITE_FAVICONS"]
        ],
    }
    return render_to_string("desk/error_alone.html", {**frame, **context})


class Middleware:
    """Base class: answers a request as the program does without the middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)


class BoundMiddleware(Middleware):
    """Middleware that refuses request bodies larger than settings.MAX_UPLOAD_BYTES before any of
    the body is read, and answers the API's clients in JSON where the API itself does not."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        length = request.META.get("CONTENT_LENGTH") or "0"
        if length.isascii() and length.isdigit() and int(length[:20]) > settings.MAX_UPLOAD_BYTES:
            return too_large(request)
        answer = self.get_response(request)
        if answer.status_code == 405 and request.path.startswith(API):
            return not_allowed(request, [answer.headers.get("Allow", "")])
        return answer


# Scripts may evaluate expressions because django-unfold ships Alpine's standard build, which
# compiles template attributes to functions. Alpine's build for strict policies cannot run unfold's
# templates, which use statements and browser globals such as `localStorage`. Inline scripts stay
# forbidden all the same, and script-src allows this site only.
_BASE = (
    "default-src 'none'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class ContentSecurityPolicyMiddleware(Middleware):
    """Sends a content security policy. Scripts may evaluate expressions (needed by Alpine) in the
    admin only. Inline styles are allowed, since Plotly needs them."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        scripts = "'self' 'unsafe-eval'" if request.path.startswith("/admin/") else "'self'"
        response.headers.setdefault(
            "Content-Security-Policy",
            f"{_BASE}; script-src {scripts}; style-src 'self' 'unsafe-inline'",
        )
        return response


class ReusedQueriesMiddleware(Middleware):
    """Lets the parts of a page share the results of queries that several of them need, for requests
    that change nothing."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method not in ("GET", "HEAD"):
            return self.get_response(request)
        with caches.reused():
            return self.get_response(request)


class NoNulMiddleware(Middleware):
    """Refuses query strings and forms that contain a NUL character: browsers never send one, and
    PostgreSQL cannot store it."""

    def process_view(self, request: HttpRequest, *_: object) -> HttpResponse | None:
        """Refuses the request if it contains a NUL. Called after the CSRF check, so that a form
        forged by another site is not parsed."""
        sent = (request.GET, request.POST) if request.method == "POST" else (request.GET,)
        return bad_request(request) if any(map(_holds_nul, sent)) else None


def _holds_nul(fields: QueryDict) -> bool:
    return any("\0" in text for _name, texts in fields.lists() for text in texts)
