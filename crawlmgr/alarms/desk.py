"""Admin views of alarms: current problems, the notification channels, and the messages that were
sent."""

from __future__ import annotations

from datetime import UTC, datetime, time
from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import get_language, gettext_lazy, gettext_noop
from django.utils.translation import gettext as _

from crawlmgr import installation
from crawlmgr.admin import words
from crawlmgr.admin.site import desk_site
from crawlmgr.admin.views import admin_view, back, existing, opens_nothing, page, post_view
from crawlmgr.alarms import alarms
from crawlmgr.alarms.causes import RULES
from crawlmgr.models import Alarm, AlarmChannel, AlarmMessage, ChannelKind

MANAGES = "auth.change_user"
"""Permission needed to manage channels: as for users, because a channel holds passwords and sends
data to other servers."""
MAY_MUTE = "crawlmgr.change_alarm"
SHOWN = 100
SECURITIES = [("starttls", "STARTTLS"), ("tls", "TLS"), ("none", gettext_lazy("none"))]


class ChannelForm(forms.Form):
    """Form for a new notification channel. It has the fields common to all channels and those of
    the given `kind` (mail, webhook or chat)."""

    name = forms.CharField(max_length=100, label=gettext_lazy("Name"))
    host = forms.CharField(max_length=255, label=gettext_lazy("Mail server"))
    port = forms.IntegerField(min_value=1, max_value=65535, initial=587, label=gettext_lazy("Port"))
    security = forms.ChoiceField(choices=SECURITIES, label=gettext_lazy("Encryption"))
    user = forms.CharField(max_length=255, required=False, label=gettext_lazy("User"))
    password = forms.CharField(
        max_length=500,
        required=False,
        label=gettext_lazy("Password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=gettext_lazy("Kept encrypted and never shown again."),
    )
    sender = forms.CharField(max_length=255, label=gettext_lazy("Sender"))
    to = forms.CharField(
        max_length=2000,
        label=gettext_lazy("To"),
        help_text=gettext_lazy("Mail addresses, separated by commas."),
    )
    url = forms.CharField(max_length=2000, label=gettext_lazy("Address"))
    rules = forms.MultipleChoiceField(
        required=False,
        choices=[],
        widget=forms.CheckboxSelectMultiple,
        label=gettext_lazy("Events to report"),
        help_text=gettext_lazy("None selected: everything."),
    )
    quiet_from = forms.TimeField(
        required=False,
        label=gettext_lazy("Quiet from"),
        widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
    )
    quiet_to = forms.TimeField(
        required=False,
        label=gettext_lazy("Quiet until"),
        widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
        help_text=gettext_lazy(
            "A problem that begins in the quiet hours is reported when these hours end, if it still"
            " exists."
        ),
    )
    timezone = forms.CharField(max_length=64, initial="UTC", label=gettext_lazy("Time zone"))
    language = forms.ChoiceField(
        choices=[("en", "English"), ("zh-hans", "简体中文")], label=gettext_lazy("Language")
    )
    allow_private = forms.BooleanField(
        required=False,
        label=gettext_lazy("Allow a private address"),
        help_text=gettext_lazy("For a server in your own network; only the host entered above."),
    )
    MAIL = ("host", "port", "security", "user", "password", "sender", "to")

    def __init__(self, kind: str, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.kind = kind
        for name in ("url",) if kind == ChannelKind.MAIL else self.MAIL:
            del self.fields[name]
        # declared as a field with choices
        self.fields["rules"].choices = [  # type: ignore[attr-defined]
            (code, _(text)) for code, text in RULES.items()
        ]
        if kind == ChannelKind.WEBHOOK:
            self.fields["url"].help_text = _(
                "Each message is sent to this address as JSON (POST). A repetition of it has the"
                " same Idempotency-Key, any other message a different one."
            )
        elif kind == ChannelKind.CHAT:
            self.fields["url"].help_text = _(
                "An Apprise URL, such as slack://…, tgram://…, ntfy://…, dingtalk://…"
            )
            if installation.missing("chat"):
                self.fields["url"].help_text += f" ({words.to_install('chat')})"
        for name, field in self.fields.items():
            if name not in ("rules", "allow_private"):
                field.widget.attrs["class"] = "field"

    def clean_timezone(self) -> str:
        zone = str(self.cleaned_data["timezone"]).strip()
        if zone not in available_timezones():
            raise forms.ValidationError(
                _("There is no such time zone; names look like Asia/Shanghai.")
            )
        return zone

    def keep(self, request: HttpRequest) -> AlarmChannel | None:
        """Saves the channel and returns it; None, with an error shown in the form, if it cannot be
        saved."""
        chosen = self.cleaned_data
        start, end = chosen["quiet_from"], chosen["quiet_to"]
        values = {
            name: str(chosen[name])
            for name in (self.MAIL if self.kind == ChannelKind.MAIL else ("url",))
        }
        try:
            return alarms.add(
                chosen["name"],
                self.kind,
                values,
                now=datetime.now(UTC),
                rules=chosen["rules"],
                language=chosen["language"],
                quiet=(_minute(start), _minute(end)) if start and end else None,
                timezone=chosen["timezone"],
                allow_private=chosen["allow_private"],
                user=request.user,
            )
        except ValueError as error:
            self.add_error(None, str(error))
            return None


def _minute(at: time) -> int:
    return at.hour * 60 + at.minute


@admin_view("alarms/", "alarms")
def alarm_list(request: HttpRequest) -> HttpResponse:
    """Lists the alarms that have not ended (the newest SHOWN), the last 20 that ended, the
    channels, and the newest SHOWN messages sent through them. The list of alarms updates itself in
    the browser."""
    manages = request.user.has_perm(MANAGES)
    sent = AlarmMessage.objects.select_related("channel", "alarm").order_by("-pk")[:SHOWN]
    past = Alarm.objects.filter(ended__isnull=False).order_by("-ended", "-pk")[:20]
    context = {
        "open": [
            _line(alarm) for alarm in Alarm.objects.filter(ended=None).order_by("-pk")[:SHOWN]
        ],
        "past": [_line(alarm) for alarm in past],
        "channels": [_channel(one) for one in AlarmChannel.objects.select_related("created_by")],
        "sent": [_sent(one) for one in sent],
        "manages": manages,
        "mutes": request.user.has_perm(MAY_MUTE),
    }
    return page(
        request,
        "desk/alarms.html",
        context,
        title=_("Alarms"),
        item="alarms",
        live="desk/alarms_live.html",
    )


REASONS = {
    "login": gettext_noop("The mail server refused the user name or the password."),
    "receiver": gettext_noop("The mail server refused the sender or a recipient."),
    "mail": gettext_noop("The mail server refused the message."),
    "dns": gettext_noop("The name of the channel's server cannot be resolved."),
    "tls": gettext_noop(
        "The encrypted connection failed: the server's certificate or encryption was not accepted."
    ),
    "timeout": gettext_noop("The channel's server did not respond in time."),
    "connect": gettext_noop(
        "The channel's server cannot be reached: it accepts no connection at that address."
    ),
    "reset": gettext_noop("The connection was closed before the server confirmed the message."),
    "private": gettext_noop(
        "The channel's server has a private address, which this channel does not allow."
    ),
    "service": gettext_noop("The chat service did not accept the message."),
    "unreadable": gettext_noop(
        "The channel's stored password or address cannot be read; create the channel again."
    ),
    "killed": gettext_noop("The worker was ended while it sent the message."),
    "ended": gettext_noop("Not sent: the problem was resolved before."),
    "silenced": gettext_noop("Not sent: the alarm was silenced."),
}
"""Sentences on why a message was not delivered, by the code with which the field `detail` of the
message begins."""


def _why(detail: str) -> tuple[str, str]:
    """Returns a sentence on why a message was not delivered, and the text of the error itself (""
    if there is none to show)."""
    code, _colon, raw = detail.partition(": ")
    if code.startswith("http_"):
        return (
            _("The channel's server answered with HTTP status %(status)s.")
            % {"status": code.removeprefix("http_")},
            "",
        )
    if code in ("killed", "ended", "silenced", "service"):
        return _(REASONS[code]), ""
    return (
        (_(REASONS[code]), raw)
        if code in REASONS
        else (_("The message could not be delivered."), detail)
    )


def _sent(one: AlarmMessage) -> dict[str, Any]:
    why, raw = _why(one.detail) if one.detail else ("", "")
    return {
        "message": one,
        "said": alarms.sentence(one.alarm) if one.alarm else _("Test message"),
        "why": why,
        "raw": raw,
    }


def _line(alarm: Alarm) -> dict[str, Any]:
    return {
        "alarm": alarm,
        "said": alarms.sentence(alarm),
        "kind": _(RULES.get(alarm.rule, alarm.rule)),
    }


def _channel(one: AlarmChannel) -> dict[str, Any]:
    quiet = ""
    if one.quiet_from is not None and one.quiet_to is not None:
        start, end = (
            f"{minute // 60:02}:{minute % 60:02}" for minute in (one.quiet_from, one.quiet_to)
        )
        quiet = f"{start}–{end} {one.timezone}"
    return {
        "channel": one,
        "rules": [_(RULES[rule]) for rule in one.rules if rule in RULES],
        "quiet": quiet,
    }


@admin_view("alarms/channels/new/", "alarm-channel-new", MANAGES, post=MANAGES)
def new_channel(request: HttpRequest) -> HttpResponse:
    """Shows the form for a new channel of the kind in the query string, and saves it."""
    kind = str(request.GET.get("kind") or ChannelKind.MAIL)
    if kind not in ChannelKind.values:
        raise Http404(_("There is no such channel."))
    language = "zh-hans" if (get_language() or "").startswith("zh") else "en"
    form = ChannelForm(kind, request.POST or None, initial={"language": language})
    if (
        request.method == "POST"
        and form.is_valid()
        and opens_nothing(request, form, "allow_private")
    ):
        made = form.keep(request)
        if made is not None:
            return back(
                request, "alarms", done=_("Saved. Send a test to see whether the channel works.")
            )
    context = {
        "form": form,
        "tabs": [(text, f"?kind={value}", value == kind) for value, text in ChannelKind.choices],
    }
    trail = [(_("Alarms"), reverse("admin:alarms"))]
    status = 422 if form.is_bound else 200
    return page(
        request,
        "desk/alarm_channel.html",
        context,
        title=_("New channel"),
        item="alarms",
        trail=trail,
        status=status,
    )


def _find(pk: int) -> AlarmChannel:
    return existing(AlarmChannel.objects.filter(pk=pk).first(), _("There is no such channel."))


@post_view("alarms/channels/<int:pk>/test/", "alarm-channel-test", MANAGES)
def test_channel(request: HttpRequest, pk: int) -> HttpResponse:
    """Queues a test message for a channel; it is due at once."""
    alarms.test(_find(pk), datetime.now(UTC))
    return back(
        request, "alarms", done=_("A worker is sending a test message; its result is shown below.")
    )


@post_view("alarms/channels/<int:pk>/remove/", "alarm-channel-remove", MANAGES)
def remove_channel(request: HttpRequest, pk: int) -> HttpResponse:
    """Deletes a channel."""
    alarms.remove(_find(pk), datetime.now(UTC))
    return back(request, "alarms", done=_("No more messages are sent to this channel."))


@post_view("alarms/<int:pk>/mute/", "alarm-mute", MAY_MUTE)
def mute(request: HttpRequest, pk: int) -> HttpResponse:
    """Mutes an alarm: no more messages are sent about it."""
    alarm = existing(Alarm.objects.filter(pk=pk).first(), _("There is no such alarm."))
    alarms.mute(alarm, now=datetime.now(UTC), user=request.user)
    return back(request, "alarms", done=_("No more messages are sent about this alarm."))


def _mark() -> str:
    return "alarm" if Alarm.objects.filter(ended=None).exists() else ""


desk_site.add_page(58, gettext_lazy("Alarms"), "alarms", "notifications", "alarms", mark=_mark)
