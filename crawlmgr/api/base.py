"""Common parts of the API: authentication, rate limits, error responses, paging."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.http import HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI
from ninja.errors import HttpError
from ninja.security import HttpBearer
from ninja.throttling import AuthRateThrottle

from crawlmgr import __version__
from crawlmgr.access import tokens
from crawlmgr.models import ApiToken, TokenRole
from crawlmgr.runs import runs

DESCRIPTION = (
    "Reads everything that the desk shows, and starts, pauses, stops, tunes and exports as its"
    " buttons do. Send `Authorization: Bearer TOKEN`; create tokens on the desk or with `manage.py"
    " token add`. Lists are read page by page: pass `next` of a response as `after` of the next"
    " request; it is null on the last page. Times are ISO 8601 with a zone."
)


class Token(HttpBearer):
    """Authentication by bearer token. If `role` is operator, a valid token without that role is
    refused with status 403."""

    def __init__(self, role: str = TokenRole.VIEWER) -> None:
        super().__init__()
        self.role = role

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken | None:
        found = tokens.find(token, datetime.now(UTC))
        if (
            found is not None
            and self.role == TokenRole.OPERATOR
            and found.role != TokenRole.OPERATOR
        ):
            raise HttpError(
                403,
                "This token is read-only. Starting or changing something needs a token with the"
                " role operator.",
            )
        return found


class PerToken(AuthRateThrottle):
    """Rate limit of each token; the requests that all web processes receive with it are counted
    together."""

    def get_cache_key(self, request: HttpRequest) -> str:
        return f"api-rate-{getattr(getattr(request, 'auth', None), 'pk', 0)}"


def _for_who_may_read(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Decorator of the view that shows the API's description (OpenAPI document): answers 401 unless
    the request has a valid token or a login that may read runs."""

    @wraps(view)
    def guarded(request: HttpRequest, *given: Any, **named: Any) -> HttpResponse:
        scheme, _space, text = request.headers.get("Authorization", "").partition(" ")
        token = tokens.find(text.strip(), datetime.now(UTC)) if scheme.lower() == "bearer" else None
        if token is None and not request.user.has_perm("crawlmgr.view_run"):
            return JsonResponse({"detail": "Unauthorized"}, status=401)
        return view(request, *given, **named)

    return guarded


limit = PerToken("600/m")
"""The rate limit of every operation; the configured rate replaces this one when the URLs are
loaded."""
changes = Token(TokenRole.OPERATOR)
"""Authentication for operations that start or change something."""

api = NinjaAPI(
    title="Crawl manager",
    version=__version__,
    description=DESCRIPTION,
    urls_namespace="api-v1",
    docs_url=None,
    auth=Token(),
    throttle=[limit],
    docs_decorator=_for_who_may_read,
)


def _told(request: HttpRequest, status: int, text: str) -> HttpResponse:
    """Returns an error response with this status, whose JSON document has the text as `detail`."""
    return api.create_response(request, {"detail": text}, status=status)


@api.exception_handler(runs.Busy)
def _busy(request: HttpRequest, problem: runs.Busy) -> HttpResponse:
    return _told(request, 409, str(problem))


@api.exception_handler(runs.WrongState)
def _wrong_state(request: HttpRequest, problem: runs.WrongState) -> HttpResponse:
    return _told(request, 409, str(problem))


@api.exception_handler(ObjectDoesNotExist)
def _missing(request: HttpRequest, problem: ObjectDoesNotExist) -> HttpResponse:
    return _told(request, 404, "There is no such object.")


@api.exception_handler(ValueError)
def _wrong_value(request: HttpRequest, problem: ValueError) -> HttpResponse:
    return _told(request, 422, str(problem))


def page_of(rows: list[Any], limit: int, keys: list[int]) -> dict[str, Any]:
    """Returns the JSON document of one page of a list: its rows, and as `next` the key after which
    the next page begins; None if there are fewer rows than `limit`, so that this is the last page.
    `keys` are the keys of the rows.
    """
    return {"rows": rows, "next": keys[-1] if len(keys) == limit else None}
