"""Table of doubts about how a forum is read. A doubt is open until its cause is gone or an operator
confirms the reading."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Doubt(models.Model):
    """One doubt about how one forum is read, unique by code and subject. `detail` holds the
    figures. `settled_at`: when an operator dismissed the doubt; it stays dismissed as long as the
    detail stays the same. Codes:

    - `lesson`: the forum's pages contradict a claim of the model, named by the subject.
    - `board_unread`: a board was found but not read; the subject is its address.
    - `rows_left_out`, `posts_left_out`: the last visit of a board (its id is the subject) may have
      missed rows or posts on pages.
    - `counts_differ`: at that visit, most threads had another number of posts than the list said.
    """

    site = models.ForeignKey("forums.Site", models.CASCADE, related_name="doubts")
    board = models.ForeignKey(
        "forums.Board", models.CASCADE, null=True, blank=True, related_name="doubts"
    )
    code = models.CharField(_("reason"), max_length=20)
    subject = models.CharField(max_length=300)
    detail = models.JSONField(default=dict, blank=True)
    since = models.DateTimeField(_("since"))
    seen = models.DateTimeField(_("last noticed"))
    times = models.PositiveIntegerField(_("times noticed"), default=1)
    settled_at = models.DateTimeField(null=True, blank=True)
    settled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        verbose_name = _("doubt")
        verbose_name_plural = _("doubts")
        ordering = ("site", "-seen", "id")
        constraints = [
            models.UniqueConstraint(fields=["site", "code", "subject"], name="doubt_once")
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.subject}"
