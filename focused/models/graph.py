"""Nodes of the URL graphs of runs that keep their graph in the database."""

from __future__ import annotations

from django.db import models


class GraphNode(models.Model):
    """One URL of a run's graph or, if `alias_of` is set (to a `url_hash`), another address of such
    a URL. `data` holds the strategy's values, `links` the links of the URL's page that the strategy
    stored.

    Waiting nodes leave a queue by priority, highest first; of equal priorities the one with the
    smaller `position` first.
    """

    run = models.ForeignKey("crawlmgr.Run", models.CASCADE, related_name="graph")
    url_hash = models.BigIntegerField()
    url = models.TextField()
    alias_of = models.BigIntegerField(null=True)
    parent = models.TextField(null=True)
    depth = models.PositiveIntegerField(default=0)
    state = models.PositiveSmallIntegerField(default=0)
    queue = models.CharField(max_length=40, default="")
    priority = models.FloatField(default=0.0)
    position = models.FloatField(default=0.0)
    data = models.TextField(default="")
    links = models.TextField(default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "url_hash"], name="node_once")]
        indexes = [
            models.Index(
                fields=["run", "queue", "-priority", "position"],
                name="node_next",
                condition=models.Q(state=1),
            )
        ]

    def __str__(self) -> str:
        return self.url
