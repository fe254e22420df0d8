"""Tables of the versions of what is known about a site's structure (its site model), and who made
each."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Origin(models.TextChoices):
    LEARNED = "learned", _("learned when the forum was added")
    RELEARNED = "relearned", _("learned again after the layout changed")
    EDITED = "edited", _("edited by hand")
    CORRECTED = "corrected", _("a correction")
    RESTORED = "restored", _("an earlier version restored")


class StructureVersion(models.Model):
    """One complete version of a site's model: the learned structure and the operator's rules, so
    that any version can be restored.

    A newly learned version that disagrees with stored data is kept with `proposed` set, for the
    operator to decide. `changes` are lists of texts [what, before, after].
    """

    site = models.ForeignKey("forums.Site", models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField(_("version"))
    at = models.DateTimeField(_("time"))
    origin = models.CharField(_("origin"), max_length=12, choices=Origin.choices)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    run = models.ForeignKey(
        "crawlmgr.Run", models.SET_NULL, null=True, blank=True, related_name="+"
    )
    proposed = models.BooleanField(default=False)
    changes = models.JSONField(default=list, blank=True)
    structure = models.JSONField(default=dict)
    rules = models.JSONField(default=dict, blank=True)

    class Meta:
        verbose_name = _("version of a site model")
        verbose_name_plural = _("versions of site models")
        ordering = ("site", "-number")
        constraints = [models.UniqueConstraint(fields=["site", "number"], name="structure_once")]

    def __str__(self) -> str:
        return f"{self.site_id} #{self.number}"
