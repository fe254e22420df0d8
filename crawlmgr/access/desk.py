"""Admin views of users (each has a name, a password and one role) and their open sessions, of the
API's tokens, and of the list of its operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth import SESSION_KEY, get_user_model
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.models import Session
from django.dispatch import receiver
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminSelectWidget

from crawlmgr.access import tokens
from crawlmgr.access.login import client_address
from crawlmgr.access.roles import ROLES, VIEWER
from crawlmgr.admin.forms import DeskModelAdmin
from crawlmgr.admin.site import desk_site
from crawlmgr.admin.views import admin_view, back, page, post_view
from crawlmgr.api import api
from crawlmgr.models import ApiToken, TokenRole

User = get_user_model()


def _role_field() -> forms.ChoiceField:
    return forms.ChoiceField(
        label=gettext_lazy("Role"),
        choices=[(role, gettext_lazy(role)) for role in ROLES],
        initial=VIEWER,
        widget=UnfoldAdminSelectWidget,
        help_text=gettext_lazy(
            "Viewers see everything, operators also start, stop and add, "
            "administrators also delete, allow private addresses, manage users and tidy the queue."
        ),
    )


def _without(nested: list[Any], beginning: str) -> list[Any]:
    """Returns a nested list of texts without the texts that begin with `beginning`, and without
    lists that become empty by that."""
    kept = [
        _without(one, beginning) if isinstance(one, list) else one
        for one in nested
        if not str(one).startswith(beginning)
    ]
    return [one for one in kept if one != []]


class AddForm(UserCreationForm):
    role = _role_field()


class ChangeForm(UserChangeForm):
    role = _role_field()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        held = (
            set(self.instance.groups.values_list("name", flat=True)) if self.instance.pk else set()
        )
        if "is_active" in self.fields:  # missing for users who may only view
            self.fields["is_active"].label = _("May log in")
            self.fields["is_active"].help_text = _(
                "Switch this off instead of deleting an account."
            )
        self.initial["role"] = next((role for role in reversed(ROLES) if role in held), VIEWER)


# not subscriptable at run time
class UserAdmin(DeskModelAdmin, DjangoUserAdmin):  # type: ignore[type-arg]
    """Admin of users. The first administrator is a superuser; only superusers may change
    superusers."""

    form = ChangeForm
    add_form = AddForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "email", "role", "may_log_in", "last_login")
    list_filter = ()
    search_fields = ("username", "email")
    ordering = ("username",)
    fieldsets = ((None, {"fields": ("username", "password", "email", "role", "is_active")}),)
    add_fieldsets = ((None, {"fields": ("username", "email", "role", "password1", "password2")}),)
    filter_horizontal = ()

    @admin.display(description=gettext_lazy("Role"))
    def role(self, user: Any) -> str:
        """Returns the name of the user's highest role; superusers are shown as administrators with
        all rights."""
        if user.is_superuser:
            return _("administrator with all rights")
        held = {group.name for group in user.groups.all()}
        return next((_(role) for role in reversed(ROLES) if role in held), _("none"))

    @admin.display(description=gettext_lazy("May log in"), boolean=True, ordering="is_active")
    def may_log_in(self, user: Any) -> bool:
        """Tells whether the account is active."""
        return bool(user.is_active)

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[str]]:
        """Returns what is deleted with a user, without the rows that only assign a role to the
        user."""
        nested, counts, missing, protected = super().get_deleted_objects(objs, request)
        joined = User.groups.through._meta
        counts.pop(str(joined.verbose_name_plural), None)
        return _without(nested, f"{capfirst(joined.verbose_name)}: "), counts, missing, protected

    def user_change_password(
        self, request: HttpRequest, id: str, form_url: str = ""
    ) -> HttpResponse:
        """Shows Django's page for setting another user's password, with the breadcrumb that all
        pages have."""
        answer = super().user_change_password(request, id, form_url)
        if isinstance(answer, TemplateResponse) and answer.context_data is not None:
            answer.context_data["trail"] = self._trail()
        return answer

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).prefetch_related("groups")

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        user = form.instance
        user.groups.set(Group.objects.filter(name=form.cleaned_data["role"]))
        if not user.is_staff:
            user.is_staff = True
            user.save(update_fields=["is_staff"])

    def _out_of_reach(self, request: HttpRequest, user: Any) -> bool:
        return user is not None and user.is_superuser and not request.user.is_superuser

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return not self._out_of_reach(request, obj) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return (
            not self._out_of_reach(request, obj)
            and obj != request.user
            and super().has_delete_permission(request, obj)
        )


for model in (User, Group):
    if admin.site.is_registered(model):
        admin.site.unregister(model)


admin.site.register(User, UserAdmin)


desk_site.add_page(
    70, gettext_lazy("Users"), "auth_user_changelist", "group", "users", "auth.view_user"
)


TAGS = {
    "installation": gettext_noop("Installation"),
    "runs": gettext_noop("Runs"),
    "data": gettext_noop("Data"),
    "exports": gettext_noop("Exports"),
    "forums": gettext_noop("Forums"),
    "topics": gettext_noop("Topics"),
    "search forms": gettext_noop("Search forms"),
}


MANAGES = "auth.change_user"


"""Permission needed to manage tokens: as for users, because a token acts as a user."""


class TokenForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("Name"), max_length=100, help_text=gettext_lazy("What it is for.")
    )
    role = forms.ChoiceField(label=gettext_lazy("Role"), choices=TokenRole.choices)
    days = forms.IntegerField(
        label=gettext_lazy("Days until it expires"),
        min_value=1,
        max_value=tokens.MAX_DAYS,
        required=False,
        initial=90,
        help_text=gettext_lazy("Empty: it never expires."),
    )

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        for field in self.fields.values():
            field.widget.attrs["class"] = "field"


@admin_view("api/", "api", post=MANAGES)
def api_page(request: HttpRequest) -> HttpResponse:
    """Lists tokens and the API's operations; a POST creates a token, whose text is shown in this
    response only."""
    form, text = TokenForm(request.POST or None), ""
    if request.method == "POST" and form.is_valid():
        chosen = form.cleaned_data
        text, _row = tokens.make(
            chosen["name"],
            chosen["role"],
            days=chosen["days"],
            now=datetime.now(UTC),
            user=request.user,
        )
        form = TokenForm()
    manages = request.user.has_perm(MANAGES)
    context = {
        "form": form,
        "text": text,
        "manages": manages,
        "rows": ApiToken.objects.select_related("created_by") if manages else [],
        "now": datetime.now(UTC),
        "groups": operations(),
        "base": request.build_absolute_uri("/api/v1/"),
        "description": reverse("api-v1:openapi-json"),
    }
    answer = page(request, "desk/api.html", context, title=_("API"), item="api")
    answer.headers["Cache-Control"] = "no-store"
    return answer


@post_view("api/<int:pk>/remove/", "api-remove", MANAGES)
def remove_token(request: HttpRequest, pk: int) -> HttpResponse:
    """Revokes a token at once."""
    if not tokens.remove(pk, datetime.now(UTC)):
        raise Http404(_("There is no such token."))
    return back(request, "api", done=_("The token no longer works."))


def operations() -> dict[str, list[dict[str, Any]]]:
    """Returns the API's operations by the display name of their tag, from the API's OpenAPI
    description, in the current language: dictionaries with `method`, `path`, `summary` and `text`
    (HTML)."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path, methods in api.get_openapi_schema()["paths"].items():
        for method, one in methods.items():
            text = _with_code(_(one["description"])) if one.get("description") else ""
            row = {
                "method": method.upper(),
                "path": path,
                "summary": _(one["summary"]),
                "text": text,
            }
            found.setdefault(_(TAGS[one["tags"][0]]), []).append(row)
    return found


def _with_code(text: str) -> str:
    """Returns the HTML of a text in which the parts between backticks become code."""
    parts = enumerate(text.split("`"))
    return format_html_join(
        "",
        "{}",
        ((format_html("<code>{}</code>", part) if place % 2 else part,) for place, part in parts),
    )


desk_site.add_page(65, gettext_lazy("API"), "api", "api", "api")


MAX_SESSIONS = (
    2000  # maximum number of sessions that are searched; those that expire last are taken
)


OPENED = "opened"


@dataclass(frozen=True, slots=True)
class OpenSession:
    """One login session. `mark` identifies it on pages; the session's own key is not shown, because
    it would allow logging in. `own` is True for the session of the current request. `since` is None
    for logins made with older versions.
    """

    mark: str
    user: Any
    own: bool
    address: str
    browser: str
    since: datetime | None
    until: datetime


def note(session: Any, address: str | None, browser: str, now: datetime) -> None:
    """Stores the address, the browser and the time of a login in its session."""
    session[OPENED] = {"address": address or "", "browser": browser[:200], "at": now.isoformat()}


def open_sessions(
    now: datetime, seen: Callable[[Any], bool], own_key: str | None
) -> list[OpenSession]:
    """Returns the open sessions of those users for whom `seen` returns True, newest first.
    `own_key` is the key of the current session."""
    found = list(_decoded(now))
    users = get_user_model()._default_manager.in_bulk([user for _session, user, _data in found])
    shown = [
        (session, users[user], data)
        for session, user, data in found
        if user in users and seen(users[user])
    ]
    rows = [_described(session, user, data, own_key) for session, user, data in shown]
    return sorted(
        rows, key=lambda row: (row.since is not None, row.since or row.until), reverse=True
    )


def _described(
    session: Session, user: Any, data: dict[str, Any], own_key: str | None
) -> OpenSession:
    told = data.get(OPENED, {})
    since = datetime.fromisoformat(told["at"]) if told.get("at") else None
    own = session.session_key == own_key
    return OpenSession(
        _mark(session.session_key),
        user,
        own,
        told.get("address", ""),
        told.get("browser", ""),
        since,
        session.expire_date,
    )


def end_sessions(marks: set[str], now: datetime, seen: Callable[[Any], bool]) -> int:
    """Ends the login sessions identified by `marks` (hashes of their keys, as in `mark` of a listed
    session) if `seen` returns True for their users. Returns how many were ended."""
    chosen = [
        (session, user)
        for session, user, _data in _decoded(now)
        if _mark(session.session_key) in marks
    ]
    users = get_user_model()._default_manager.in_bulk([user for _session, user in chosen])
    keys = [session.pk for session, user in chosen if user in users and seen(users[user])]
    return int(Session.objects.filter(pk__in=keys).delete()[0])


def _decoded(now: datetime) -> Iterator[tuple[Session, int, dict[str, Any]]]:
    for session in Session.objects.filter(expire_date__gt=now).order_by("-expire_date")[
        :MAX_SESSIONS
    ]:
        data = session.get_decoded()
        if str(data.get(SESSION_KEY, "")).isdecimal():
            yield session, int(data[SESSION_KEY]), data


def _mark(key: str) -> str:
    return sha256(key.encode()).hexdigest()[:32]


@receiver(user_logged_in)
def _note(request: HttpRequest, **_: Any) -> None:
    note(
        request.session,
        client_address(request),
        request.META.get("HTTP_USER_AGENT", ""),
        datetime.now(UTC),
    )


def _seen(request: HttpRequest, user: Any) -> bool:
    """Tells whether the requesting user may see the sessions of `user`: everybody sees their own,
    user managers see all, but those of a superuser only if they are superusers too."""
    if user.pk == request.user.pk:
        return True
    return request.user.has_perm("auth.change_user") and (
        request.user.is_superuser or not user.is_superuser
    )


@admin_view("sessions/", "sessions")
def session_list(request: HttpRequest) -> HttpResponse:
    """Lists the open sessions that the user may see."""
    now = datetime.now(UTC)
    rows = open_sessions(now, lambda user: _seen(request, user), request.session.session_key)
    return page(request, "desk/sessions.html", {"rows": rows}, title=_("Sessions"), item="sessions")


@post_view("sessions/end/", "sessions-end", "crawlmgr.view_run")
def end(request: HttpRequest) -> HttpResponse:
    """Ends the selected sessions; whoever uses them has to log in again."""
    count = end_sessions(
        set(request.POST.getlist("session")), datetime.now(UTC), lambda user: _seen(request, user)
    )
    done = ngettext("%(count)d session was ended.", "%(count)d sessions were ended.", count)
    return back(request, "sessions", done=done % {"count": count})
