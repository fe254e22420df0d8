"""Middleware that checks input, and sends response headers which keep pages from loading or running
foreign content."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, QueryDict

from crawlmgr.admin import errors
from crawlmgr.database import caches

# Scripts may evaluate expressions because django-unfold ships Alpine's standard build, which
# compiles template attributes to functions. Alpine's build for strict policies cannot run unfold's
# templates, which use statements and browser globals such as `localStorage`. Inline scripts stay
# forbidden all the same, and script-src allows this site only.
_BASE = (
    "default-src 'none'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class ContentSecurityPolicyMiddleware:
    """Sends a content security policy. Scripts may evaluate expressions (needed by Alpine) in the
    admin only. Inline styles are allowed, since Plotly needs them."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        scripts = "'self' 'unsafe-eval'" if request.path.startswith("/admin/") else "'self'"
        response.headers.setdefault(
            "Content-Security-Policy",
            f"{_BASE}; script-src {scripts}; style-src 'self' 'unsafe-inline'",
        )
        return response


class ReusedQueriesMiddleware:
    """Lets the parts of a page share the results of queries that several of them need, for requests
    that change nothing."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method not in ("GET", "HEAD"):
            return self.get_response(request)
        with caches.reused():
            return self.get_response(request)


class NoNulMiddleware:
    """Refuses query strings and forms that contain a NUL character: browsers never send one, and
    PostgreSQL cannot store it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_: object) -> HttpResponse | None:
        """Refuses the request if it contains a NUL. Called after the CSRF check, so that a form
        forged by another site is not parsed."""
        sent = (request.GET, request.POST) if request.method == "POST" else (request.GET,)
        return errors.bad_request(request) if any(map(_holds_nul, sent)) else None


def _holds_nul(fields: QueryDict) -> bool:
    return any("\0" in text for _name, texts in fields.lists() for text in texts)
