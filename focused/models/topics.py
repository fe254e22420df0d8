"""Topics, their seeds, and their sample texts."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _


class Topic(models.Model):
    """A topic to crawl. Its words change only between runs: a run keeps the topic as it was when
    the run began.

    `keywords` and `near` map words to weights in (0, 1]; `ontology` is a
    `focused.topic.ontology.Ontology` as plain values, {} for none; `ontology_weight` is the weight
    of words that it relates to the topic's words; `parameters` are the strategy's; `options` are
    the defaults of a run (see `focused.parameters.RunOptions`); `settings` override the crawl
    settings.
    `reading` holds the topic's vector and threshold, computed from samples and words (see
    topic.readings), {} until then.
    """

    name = models.CharField(_("name"), max_length=200, unique=True)
    keywords = models.JSONField(_("keywords"), default=dict, blank=True)
    near = models.JSONField(_("near-topic words"), default=dict, blank=True)
    negative = models.JSONField(_("negative words"), default=list, blank=True)
    url_words = models.JSONField(_("words in addresses"), default=list, blank=True)
    user_words = models.JSONField(_("words not split"), default=list, blank=True)
    ontology = models.JSONField(default=dict, blank=True)
    ontology_weight = models.FloatField(
        _("weight of the ontology"),
        default=0.5,
        validators=[MinValueValidator(0.0), MaxValueValidator(1.0)],
    )
    threshold = models.FloatField(
        _("threshold"),
        null=True,
        blank=True,
        validators=[MinValueValidator(0.0), MaxValueValidator(1.0)],
    )
    strategy = models.CharField(_("strategy"), max_length=60, default="adaptive")
    parameters = models.JSONField(_("parameters"), default=dict, blank=True)
    options = models.JSONField(_("options"), default=dict, blank=True)
    settings = models.JSONField(_("settings"), default=dict, blank=True)
    reading = models.JSONField(default=dict, blank=True)
    interval_seconds = models.PositiveIntegerField(
        _("interval (s)"),
        null=True,
        blank=True,
        validators=[MinValueValidator(3600), MaxValueValidator(366 * 86400)],
    )
    next_run = models.DateTimeField(_("next run"), null=True, blank=True)
    added = models.DateTimeField(_("added"))

    class Meta:
        verbose_name = _("topic")
        verbose_name_plural = _("topics")
        ordering = ("name",)
        indexes = [models.Index(fields=["next_run"], name="topic_due")]

    def __str__(self) -> str:
        return self.name


class Seed(models.Model):
    """A seed address of a topic; seeds have an order (`position`)."""

    topic = models.ForeignKey(Topic, models.CASCADE, related_name="seeds")
    url = models.TextField(_("address"))
    url_hash = models.BigIntegerField()
    position = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = _("seed")
        verbose_name_plural = _("seeds")
        ordering = ("position", "id")
        constraints = [models.UniqueConstraint(fields=["topic", "url_hash"], name="seed_once")]

    def __str__(self) -> str:
        return self.url


class SampleDocument(models.Model):
    """A sample text of a topic: pasted, from a file, or the main text of a page (`url`). `problem`
    is a code that says why it has no text (yet), "" otherwise. `words` are its TextRank keywords
    with weights, null before they have been extracted.
    """

    topic = models.ForeignKey(Topic, models.CASCADE, related_name="documents")
    name = models.CharField(_("name"), max_length=300)
    url = models.TextField(_("address"), blank=True)
    text = models.TextField(_("text"), blank=True)
    characters = models.PositiveIntegerField(_("characters"), default=0)
    words = models.JSONField(null=True, blank=True)
    problem = models.CharField(_("problem"), max_length=300, blank=True)
    position = models.PositiveIntegerField(default=0)
    added = models.DateTimeField(_("added"))

    class Meta:
        verbose_name = _("sample")
        verbose_name_plural = _("samples")
        ordering = ("position", "id")

    def __str__(self) -> str:
        return self.name
