"""Admin view of a forum's login: by cookie or form, with its state in words; secrets can be entered
but are never shown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from crawlmgr.admin.views import admin_view, back, page, post_view
from forums.admin import tabs
from forums.admin.structures import load
from forums.models import LoginMethod, Site, SiteLogin
from forums.services import logins

REASONS = {
    "not_accepted": gettext_noop("the forum still shows its login link after the login"),
    "no_login_form": gettext_noop("there is no login form at its address"),
    "login_elsewhere": gettext_noop("the login form would send the login to another host"),
    "robots": gettext_noop("refused by robots.txt"),
}


def login_words(site: Site) -> dict[str, Any] | None:
    """Returns the data for the banner about a failed login; None if the site has no login or it
    works."""
    row = SiteLogin.objects.filter(site=site, state__in=["expired", "failed"]).first()
    return (
        {"row": row, "reason": _(REASONS.get(row.reason, row.reason))} if row is not None else None
    )


@admin_view(
    "forums/site/<int:pk>/login/", "forum-login", "forums.view_sitelogin", post="forums.change_site"
)
def login_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows a forum's login and saves it on POST; a password or cookie left empty stays
    unchanged."""
    site = load(pk)
    row = SiteLogin.objects.filter(site=site).first()
    problem = _save(request, site, row) if request.method == "POST" else ""
    if request.method == "POST" and not problem:
        messages.success(request, _("The login is saved; the next visit uses it."))
        return back(request, "forum-login", pk)
    method = request.POST.get("method") or (row.method if row else LoginMethod.FORM)
    context = {
        "site": site,
        "tabs": tabs.of_forum(request, pk, "forum-login"),
        "row": row,
        "reason": _(REASONS.get(row.reason, row.reason)) if row and row.reason else "",
        "problem": problem,
        "method": method,
        "methods": LoginMethod.choices,
        "address": request.POST.get("address", row.address if row else ""),
        "member": request.POST.get("user", logins.user_of(row) if row else ""),
        "plain": site.url.startswith("http://"),
    }
    trail = [(_("Forums"), reverse("admin:forums")), (site.name, reverse("admin:forum", args=[pk]))]
    status = 422 if problem else 200
    return page(
        request,
        "forums/login.html",
        context,
        title=_("Login"),
        item=f"site:{pk}",
        trail=trail,
        status=status,
    )


def _save(request: HttpRequest, site: Site, row: SiteLogin | None) -> str:
    """Saves the submitted login; returns the error in one line, "" for none."""
    sent = {name: request.POST.get(name, "") for name in ("cookie", "user", "password")}
    method = request.POST.get("method", "")
    try:
        secret = logins.completed(row, method, sent)
        logins.save(
            site.pk,
            method,
            secret,
            address=request.POST.get("address", ""),
            now=datetime.now(UTC),
            user=request.user,
        )
    except ValueError as error:
        return str(error)
    return ""


@post_view("forums/site/<int:pk>/login/remove/", "forum-login-remove", "forums.change_site")
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Deletes the login with its secrets."""
    site = load(pk)
    if logins.forget(site.pk, now=datetime.now(UTC), user=request.user):
        messages.success(request, _("The login is removed; the forum is read as a guest."))
    return back(request, "forum-login", pk)
