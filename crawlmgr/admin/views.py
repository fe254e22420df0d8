"""Registers admin views with address and permission, renders their pages with the common
navigation, and helps with forms and buttons."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from functools import wraps
from typing import Any, TypeVar

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from crawlmgr.admin import errors, site
from crawlmgr.admin.site import desk_site
from crawlmgr.runs import runs

View = Callable[..., HttpResponseBase]
T = TypeVar("T")
Trail = Sequence[tuple[str, str]]


def admin_view(
    route: str, name: str, permission: str = "crawlmgr.view_run", post: str = ""
) -> Callable[[View], View]:
    """Returns a decorator that registers an admin view. `permission` is needed to open it and
    `post` to send a POST; without `post` only GET is allowed."""

    def register(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method not in ("GET", "HEAD", "POST") or (
                request.method == "POST" and not post
            ):
                return errors.not_allowed(
                    request, ["GET", "HEAD", "POST"] if post else ["GET", "HEAD"]
                )
            needed = post if request.method == "POST" else permission
            if not request.user.has_perm(needed):
                raise PermissionDenied
            return view(request, *args, **kwargs)

        desk_site.add_view(route, guarded, name)
        return guarded

    return register


def post_view(route: str, name: str, permission: str) -> Callable[[View], View]:
    """Returns a decorator that registers a view for a button: it accepts only POST, from users with
    the permission."""

    def register(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method != "POST":
                return errors.not_allowed(request, ["POST"])
            if not request.user.has_perm(permission):
                raise PermissionDenied
            return view(request, *args, **kwargs)

        guarded.is_button = True  # type: ignore[attr-defined]  # read by `bench desk`
        desk_site.add_view(route, guarded, name)
        return guarded

    return register


def page(
    request: HttpRequest,
    template: str,
    context: dict[str, Any],
    *,
    title: str,
    item: str = "",
    trail: Trail = (),
    live: str = "",
    status: int = 200,
) -> HttpResponse:
    """Renders a page with the common navigation; for `?part=live`, only the template `live`, the
    part of the page that updates itself.

    `item` is the key of the page's item in the navigation tree, `trail` are the (title, address)
    pairs of its breadcrumb.
    """
    if live and request.GET.get("part") == "live":
        return render(request, live, context)
    request.desk_item = item  # type: ignore[attr-defined]  # read by `tree.current`
    frame = admin.site.each_context(request)
    shown = {**frame, "title": title, "trail": trail, "tour": site.tour_bar(request), **context}
    return TemplateResponse(request, template, shown, status=status)


OPEN_PRIVATE = "crawlmgr.open_private"


def opens_nothing(
    request: HttpRequest, form: Form, *fields: str, before: Container[str] = ()
) -> bool:
    """Tells whether the user may submit these fields of a form, each of which allows crawling a
    private address. Administrators may always; others may only keep fields that were on before
    (named in `before`). Adds an error to every other field that is on."""
    if request.user.has_perm(OPEN_PRIVATE):
        return True
    opened = [name for name in fields if form.cleaned_data[name] and name not in before]
    for name in opened:
        form.add_error(name, _("Only an administrator may allow that."))
    return not opened


def existing(found: T | None, missing: str) -> T:
    """Returns what a query found; answers 404 with the text `missing` if that is nothing."""
    if found is None:
        raise Http404(missing)
    return found


def number(text: str, most: int = 2**31 - 1) -> int | None:
    """Parses a whole number from 0 to `most` from a form field or query string; returns None if the
    text is anything else.

    >>> number("12"), number("²"), number("9" * 5000)
    (12, None, None)
    """
    digits = text.strip()
    found = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 20 else -1
    return found if 0 <= found <= most else None


def numbers(texts: Iterable[str]) -> list[int]:
    """Parses the ids of selected rows; texts that are not whole numbers are left out."""
    return [found for text in texts if (found := number(text)) is not None]


def attempt(request: HttpRequest, done: str, action: Callable[[], object]) -> bool:
    """Calls `action` and shows a message to the user: `done` if it succeeded, otherwise why it
    cannot be done now. Returns False if it raised runs.Busy, runs.WrongState or ValueError."""
    try:
        action()
    except runs.Busy as busy:
        messages.warning(
            request,
            _("Run %(number)s (%(name)s) is already running.")
            % {
                "number": busy.run.pk,
                "name": busy.run.label,
            },
        )
        return False
    except runs.WrongState as wrong:
        messages.warning(
            request, _("The run is %(state)s; that cannot be done now.") % {"state": _(wrong.code)}
        )
        return False
    except ValueError as error:
        messages.error(request, str(error))
        return False
    messages.success(request, done)
    return True


def back(request: HttpRequest, name: str, *args: Any, done: str = "") -> HttpResponse:
    """Redirects to an admin view after a button was pressed; `done` is shown there as a success."""
    if done:
        messages.success(request, done)
    return redirect(f"admin:{name}", *args)
