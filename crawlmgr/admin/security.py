"""What the desk refuses to take in, and response headers that keep pages from loading or running anything foreign."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, QueryDict

from crawlmgr.admin import errors

# Why scripts may evaluate: the look (django-unfold) ships Alpine's standard build, which makes functions of the attributes of its
# templates. Alpine's build for strict policies takes single expressions over its own data only; unfold's templates hold
# statements and names of the browser ("sidebarDesktopOpen = !sidebarDesktopOpen; localStorage.setItem(…)", "if (…) …"), so that
# its menus, tabs and lists would stand still. No script of a page's own runs for that: inline ones stay forbidden, and
# script-src names this site alone.
_BASE = (
    "default-src 'none'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)


class ContentSecurityPolicyMiddleware:
    """Sends a content security policy; only the admin may evaluate expressions (Alpine) and use inline styles (Plotly)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        scripts = "'self' 'unsafe-eval'" if request.path.startswith("/admin/") else "'self'"
        response.headers.setdefault("Content-Security-Policy", f"{_BASE}; script-src {scripts}; style-src 'self' 'unsafe-inline'")
        return response


class NoNulMiddleware:
    """Refuses addresses and fields that hold a NUL: no browser sends one, and PostgreSQL stores no text with one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_: object) -> HttpResponse | None:
        """Asked after the CSRF check, so that nobody else's form is read here."""
        sent = (request.GET, request.POST) if request.method == "POST" else (request.GET,)
        return errors.bad_request(request) if any(map(_holds_nul, sent)) else None


def _holds_nul(fields: QueryDict) -> bool:
    return any("\0" in text for _name, texts in fields.lists() for text in texts)
