"""Stored parameters of the models that predict when a site's threads get replies."""

from __future__ import annotations

from django.db import models


class ReplyModel(models.Model):
    """A site's hazard model of next replies, fitted on its own threads; `weights` is empty while
    there are too few replies.

    `activity` holds the number of the site's posts in each local hour of the day; operational hours
    are derived from it.
    """

    site = models.OneToOneField(
        "forums.Site", models.CASCADE, related_name="reply_model", primary_key=True
    )
    trained_at = models.DateTimeField()
    trained_on = models.PositiveIntegerField(default=0)
    weights = models.JSONField(default=list, blank=True)
    middle = models.JSONField(default=list, blank=True)
    scale = models.JSONField(default=list, blank=True)
    activity = models.JSONField(default=list)
