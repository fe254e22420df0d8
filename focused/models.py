"""Database models of topics: topics with seeds and samples, their runs and fetched pages, the URL
graphs of large runs, and comparisons of strategies."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

DOUBT = gettext_noop("not enough to tell: mark ten pages")


class Topic(models.Model):
    """A topic to crawl. Its words change only between runs: a run keeps the topic as it was when
    the run began.

    `keywords` and `near` map words to weights in (0, 1]; `ontology` is a
    `focused.judge.ontology.Ontology` as plain values, {} for none; `ontology_weight` is the weight
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


class TopicRun(models.Model):
    """State of a topic run. Written in the transaction of each step, so that a kill loses at most
    the current page.

    `definition` is the topic as it was when the run began. `steps` counts the rows of the run's log
    (`TopicPage`) and `mark` is the random number of the last one: a process that has the run in
    memory continues only from a step that it knows. `edits` are changes by the operator that are
    not carried out yet. `strategy_state` and `frequencies` (document frequencies, compressed) allow
    a run with its graph in the database to continue without its pages. `judge` is the version of
    the learning judge at the run's beginning (see `focused.judge.probability.VERSION`).

    `harvest_rate` is the estimated share of pages on topic, null as long as the marks are too few.
    `harvest` holds what the marks say besides (see `focused.topic.marks`): the number of `marks`,
    that of pages `stuffed` with words and, if the marks are enough, the `interval` of the share,
    `curve` and `tunnels`. `relevant` counts the pages that the crawl itself took for relevant,
    which is a ranking and no measurement.
    """

    run = models.OneToOneField(
        "crawlmgr.Run", models.CASCADE, primary_key=True, related_name="topic_run"
    )
    topic = models.ForeignKey("focused.Topic", models.CASCADE, null=True, related_name="runs")
    definition = models.JSONField(default=dict)
    steps = models.PositiveBigIntegerField(default=0)
    mark = models.BigIntegerField(default=0)
    pages = models.PositiveBigIntegerField(_("pages"), default=0)
    failed = models.PositiveBigIntegerField(_("failed"), default=0)
    asked = models.PositiveBigIntegerField(_("pages requested"), default=0)
    relevant = models.PositiveBigIntegerField(_("on topic"), default=0)
    duplicates = models.PositiveBigIntegerField(_("duplicates"), default=0)
    refused = models.JSONField(_("links rejected"), default=dict)
    edits = models.JSONField(default=list)
    strategy_state = models.JSONField(null=True)
    pushes = models.PositiveBigIntegerField(default=0)
    frequencies = models.BinaryField(null=True)
    frequencies_step = models.PositiveBigIntegerField(default=0)
    judge = models.PositiveSmallIntegerField(_("judge"), default=1)
    harvest_rate = models.FloatField(_("harvest rate"), null=True)
    harvest = models.JSONField(default=dict)

    class Meta:
        verbose_name = _("run of a topic")
        verbose_name_plural = _("runs of topics")

    @property
    def found(self) -> int | None:
        """The estimated number of pages on topic; None as long as the marks are too few."""
        return None if self.harvest_rate is None else round(self.harvest_rate * self.pages)

    @property
    def said(self) -> dict[str, Any]:
        """What is known of the run's pages on topic, as commands and the API say it: numbers, or
        the doubt for which there are none."""
        doubt = None if self.harvest_rate is not None else gettext(DOUBT)
        return {
            "relevant": self.found,
            "harvest_rate": self.harvest_rate,
            "harvest_interval": self.harvest.get("interval"),
            "harvest_doubt": doubt,
        }


class TopicPage(models.Model):
    """One step of a run: a page, an address that could not be fetched, one that led to a page
    already fetched, or an operator's edit (`kind`).

    - `step` numbers all steps, `number` the pages from 0. `mark` is a random number that identifies
      the step.
    - `marked` is the operator's mark: on topic or not, None without one.
    - `words` is the page's text as words (compressed if `packed`); `why` holds the parts of its
      priority when it was chosen.
    - `relevant_so_far` counts the run's relevant pages up to this step, `off_topic_run` the
      consecutive off-topic pages that end with it, `tunnel` the off-topic pages between this
      relevant page and the relevant page it was reached from.
    """

    class Kind(models.IntegerChoices):
        PAGE = 0, _("page")
        FAILED = 1, _("failed")
        SAME = 2, _("page fetched before")
        EDIT = 3, _("edit")

    run = models.ForeignKey("crawlmgr.Run", models.CASCADE, related_name="topic_pages")
    step = models.PositiveBigIntegerField()
    mark = models.BigIntegerField()
    kind = models.PositiveSmallIntegerField(choices=Kind.choices, default=Kind.PAGE)
    number = models.PositiveBigIntegerField(_("page number"), default=0)
    url = models.TextField(_("address"))
    url_hash = models.BigIntegerField()
    final_url = models.TextField(_("final address"), blank=True)
    parent = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="children"
    )
    depth = models.PositiveIntegerField(_("depth"), default=0)
    similarity = models.FloatField(_("relevance"), null=True, blank=True)
    relevant = models.BooleanField(_("on topic"), default=False)
    relevant_so_far = models.PositiveBigIntegerField(default=0)
    duplicate_of = models.PositiveBigIntegerField(null=True, blank=True)
    off_topic_run = models.PositiveIntegerField(default=0)
    tunnel = models.PositiveIntegerField(default=0)
    recalled = models.BooleanField(_("from the archive"), default=False)
    title = models.CharField(_("title"), max_length=500, blank=True)
    fingerprint = models.BigIntegerField(default=0)
    why = models.JSONField(default=dict, blank=True)
    detail = models.CharField(max_length=300, blank=True)
    words = models.BinaryField(null=True)
    packed = models.BooleanField(default=False)
    at = models.DateTimeField(_("time"))
    marked = models.BooleanField(_("marked"), null=True, blank=True)

    class Meta:
        verbose_name = _("page of a topic")
        verbose_name_plural = _("pages of topics")
        constraints = [models.UniqueConstraint(fields=["run", "step"], name="topicpage_step")]
        indexes = [
            models.Index(fields=["run", "url_hash"], name="topicpage_url"),
            models.Index(fields=["run", "kind", "number"], name="topicpage_number"),
            models.Index(
                fields=["run", "-similarity", "-id"],
                name="topicpage_most_relevant",
                condition=models.Q(kind=0),
            ),
            models.Index(fields=["run", "kind", "relevant", "step"], name="topicpage_topical"),
            models.Index(
                fields=["run", "kind", "relevant", "similarity", "id"],
                name="topicpage_topical_best",
            ),
            models.Index(
                fields=["run", "step"],
                name="topicpage_copies",
                condition=models.Q(kind=0, duplicate_of__isnull=False),
            ),
            models.Index(
                fields=["run", "tunnel"], name="topicpage_tunnel", condition=models.Q(tunnel__gt=0)
            ),
            models.Index(
                fields=["run", "number"],
                name="topicpage_marked",
                condition=models.Q(marked__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.url


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


class Comparison(models.Model):
    """A comparison of strategies over the same archived pages. `setup` holds its entries and
    conditions (see `lab.stored_comparisons.start`), `parts` the fetches of each finished run of a
    strategy, `result` the figures, {} until all runs are finished; `problem` tells why it could not
    be computed. `run` is the job that computes it.
    """

    topic = models.ForeignKey("focused.Topic", models.CASCADE, related_name="comparisons")
    run = models.ForeignKey("crawlmgr.Run", models.SET_NULL, null=True, related_name="+")
    setup = models.JSONField(_("setup"), default=dict)
    result = models.JSONField(default=dict)
    problem = models.CharField(_("problem"), max_length=300, blank=True)
    created = models.DateTimeField(_("created"))
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )

    class Meta:
        verbose_name = _("comparison")
        verbose_name_plural = _("comparisons")
        ordering = ("-id",)

    @property
    def trails(self) -> dict[str, dict[str, Any]]:
        """The stored fetches of the finished runs, by the run's key, in the order in which the runs
        finished."""
        return {part.key: part.trail for part in self.parts.order_by("id")}

    def __str__(self) -> str:
        return f"{self.topic} #{self.pk}"


class ComparisonPart(models.Model):
    """One run of one strategy within a comparison: its fetches and duration (`trail`). `key` names
    the entry and the random draw. Written once, when the run is finished."""

    comparison = models.ForeignKey(Comparison, models.CASCADE, related_name="parts")
    key = models.CharField(max_length=200)
    trail = models.JSONField(default=dict)

    class Meta:
        verbose_name = _("part of a comparison")
        verbose_name_plural = _("parts of comparisons")
        constraints = [
            models.UniqueConstraint(fields=["comparison", "key"], name="comparison_part_once")
        ]

    def __str__(self) -> str:
        return self.key
