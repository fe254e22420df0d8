"""Response headers that keep pages from loading or running anything foreign."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

_BASE = (
    "default-src 'none'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; "
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
