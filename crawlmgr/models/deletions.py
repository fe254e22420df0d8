"""Table of deletions that were requested and can still be undone."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Deletion(models.Model):
    """An object (`kind` and `target`, its key) that is to be deleted at the time `due`; until then
    lists do not show it.

    Until then it can be undone: this row is deleted and the object stays. At `due` the dispatcher
    begins the deletion (`begun`).
    """

    kind = models.CharField(max_length=20)
    target = models.BigIntegerField()
    name = models.CharField(_("name"), max_length=200)
    asked = models.DateTimeField(_("requested"))
    due = models.DateTimeField(_("deleted permanently at"), db_index=True)
    begun = models.BooleanField(default=False)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        verbose_name = _("deletion")
        verbose_name_plural = _("deletions")
        ordering = ("due", "id")
        constraints = [models.UniqueConstraint(fields=["kind", "target"], name="deletion_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.target}: {self.name}"
