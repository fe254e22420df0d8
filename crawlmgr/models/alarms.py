"""Tables of alarms: open and past alarms, notification channels, and messages."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class ChannelKind(models.TextChoices):
    MAIL = "mail", _("mail")
    WEBHOOK = "webhook", _("webhook")
    CHAT = "chat", _("chat service")


class AlarmChannel(models.Model):
    """A channel over which alarms are sent: a mail server, a webhook or a chat service. `sealed`
    holds its addresses and passwords, encrypted; `shown` describes it without them.

    `rules` are the kinds of alarms that it sends, empty for all. From `quiet_from` to `quiet_to`
    (minutes since midnight in its time zone; None: never) messages are kept back until the end of
    that time. `allow_private` lets it connect to addresses of private networks.
    """

    name = models.CharField(_("name"), max_length=100)
    kind = models.CharField(_("kind"), max_length=10, choices=ChannelKind.choices)
    sealed = models.TextField()
    shown = models.CharField(_("destination"), max_length=200)
    rules = models.JSONField(default=list, blank=True)
    language = models.CharField(_("language"), max_length=10, default="en")
    quiet_from = models.PositiveSmallIntegerField(null=True, blank=True)
    quiet_to = models.PositiveSmallIntegerField(null=True, blank=True)
    timezone = models.CharField(_("time zone"), max_length=64, default="UTC")
    allow_private = models.BooleanField(default=False)
    created = models.DateTimeField(_("created"))
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        verbose_name = _("alarm channel")
        verbose_name_plural = _("alarm channels")
        ordering = ("name", "id")

    def __str__(self) -> str:
        return self.name


class Alarm(models.Model):
    """One problem or event (`cause`), from when it was first seen to when it was over; at most one
    open alarm per cause.

    `text` is a translatable sentence and `facts` are the values in it. `missing` is the time since
    which the cause has been absent, None while it is present: the alarm ends only some time later,
    so that an intermittent cause is one alarm. `once`: an event without duration.
    """

    cause = models.CharField(max_length=120)
    rule = models.CharField(_("kind"), max_length=20)
    text = models.CharField(max_length=300)
    facts = models.JSONField(default=dict, blank=True)
    path = models.CharField(max_length=200, blank=True)
    once = models.BooleanField(default=False)
    begun = models.DateTimeField(_("since"))
    missing = models.DateTimeField(null=True, blank=True)
    ended = models.DateTimeField(_("ended"), null=True, blank=True, db_index=True)
    muted = models.DateTimeField(null=True, blank=True)
    muted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        verbose_name = _("alarm")
        verbose_name_plural = _("alarms")
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(
                fields=["cause"], condition=models.Q(ended=None), name="alarm_open_once"
            )
        ]
        indexes = [models.Index(fields=["cause"], name="alarm_cause")]

    def __str__(self) -> str:
        return self.cause


class MessageState(models.TextChoices):
    WAITING = "waiting", _("waiting")
    CLAIMED = "claimed", _("being sent")
    HANDED = "handed", _("being delivered")
    SENT = "sent", _("sent")
    FAILED = "failed", _("failed")
    UNSURE = "unsure", _("may have arrived")
    DROPPED = "dropped", _("not sent")


class AlarmMessage(models.Model):
    """A message over one channel, one for each occasion (`about`): the beginning ("begun") or end
    ("ended") of an alarm, or a test ("test", without alarm).

    Life: waiting → claimed → handed → sent. `handed` is stored just before sending: if the worker
    dies earlier, another one sends the message after `claimed_until`; if it dies later, the message
    becomes unsure: it may have been sent, and is not repeated. A message that the receiver refused
    waits until `due` for the next try; after a number of tries it becomes failed.
    """

    channel = models.ForeignKey(AlarmChannel, models.CASCADE, related_name="messages")
    alarm = models.ForeignKey(Alarm, models.CASCADE, null=True, blank=True, related_name="messages")
    about = models.CharField(max_length=6)
    state = models.CharField(
        _("state"), max_length=8, choices=MessageState.choices, default=MessageState.WAITING
    )
    due = models.DateTimeField(_("due"))
    attempts = models.PositiveSmallIntegerField(_("tries"), default=0)
    claimed_until = models.DateTimeField(null=True, blank=True)
    created = models.DateTimeField(_("created"))
    sent = models.DateTimeField(_("sent"), null=True, blank=True)
    detail = models.CharField(max_length=300, blank=True)

    class Meta:
        verbose_name = _("message of an alarm")
        verbose_name_plural = _("messages of alarms")
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(fields=["channel", "alarm", "about"], name="alarm_message_once")
        ]
        indexes = [models.Index(fields=["state", "due"], name="alarm_message_due")]

    def __str__(self) -> str:
        return f"{self.about} {self.alarm_id or ''}".strip()
