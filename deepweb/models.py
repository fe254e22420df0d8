"""Database tables of the deep web: sites, their forms and clusters, harvests with their queries,
and the records found."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from deepweb.forms.types import FormType


class FormTypes(models.TextChoices):
    SEARCH = FormType.SEARCH.value, _("search")
    LOGIN = FormType.LOGIN.value, _("login")
    REGISTRATION = FormType.REGISTRATION.value, _("registration")
    NEWSLETTER = FormType.NEWSLETTER.value, _("newsletter")
    CONTACT = FormType.CONTACT.value, _("contact")
    PASSWORD_RECOVERY = FormType.PASSWORD_RECOVERY.value, _("password recovery")
    ORDER = FormType.ORDER.value, _("order")
    OTHER = FormType.OTHER.value, _("other")


class QueryKind(models.TextChoices):
    NONSENSE = "nonsense", _("nonsense word")
    SEED = "seed", _("starting word")
    POLICY = "policy", _("chosen by the policy")
    PROBE = "probe", _("random probe")
    TRIAL = "trial", _("test query")


COUNTED = (QueryKind.SEED, QueryKind.TRIAL, QueryKind.POLICY)
"""Kinds of queries that are counted as queries for records. Random probes are counted with them;
nonsense queries are not counted."""


class QueryState(models.TextChoices):
    SENT = "sent", _("under way")
    VALID = "valid", _("records")
    NOTHING = "no_results", _("no result")
    ERROR = "error", _("error")


class Source(models.Model):
    """A site that is searched for forms. `links` maps each word of a followed link's text or
    address to two counts: links with it that led to a search form, and others (see `LinkScorer`).
    """

    url = models.TextField(_("address"))
    key_hash = models.BigIntegerField(unique=True)
    name = models.CharField(_("name"), max_length=200)
    parameters = models.JSONField(_("settings"), default=dict, blank=True)
    links = models.JSONField(default=dict, blank=True)
    pages = models.PositiveIntegerField(_("pages"), default=0)
    records = models.PositiveIntegerField(_("records"), default=0)
    created = models.DateTimeField(_("created"))
    looked_at = models.DateTimeField(_("inspected"), null=True, blank=True)

    class Meta:
        verbose_name = _("source")
        verbose_name_plural = _("sources")
        ordering = ("name", "id")

    def __str__(self) -> str:
        return self.name or self.url


class Cluster(models.Model):
    """A group of search forms on one subject. `name` was given by an operator if `named` is set,
    otherwise it consists of the top terms.

    `how` describes the clustering: method, number of clusters requested (null: chosen by
    silhouette), the weights C1 of the page and C2 of the form (eq. (3) of the deep-web paper), and
    the mean silhouette of all forms. `silhouette` is the mean over this cluster's forms, in [-1,
    1].
    """

    name = models.CharField(_("name"), max_length=200)
    named = models.BooleanField(default=False)
    terms = models.JSONField(_("top terms"), default=list)
    forms_count = models.PositiveIntegerField(_("forms"), default=0)
    made = models.DateTimeField(_("created"))
    how = models.JSONField(default=dict, blank=True)
    silhouette = models.FloatField(null=True, blank=True)

    class Meta:
        verbose_name = _("cluster")
        verbose_name_plural = _("clusters")
        ordering = ("id",)

    def __str__(self) -> str:
        return self.name


class Form(models.Model):
    """One form of a site, on whichever pages it occurs: (source, signature) is unique.

    `type` was determined by the classifier, `corrected` by an operator, which overrides it.
    `released`: an operator allows sending this form although it uses POST or its type is uncertain.
    `described` is the whole form as JSON (see `form_json`); `words` are the words of its page and
    of the form, for clustering. `learned` are roles of its fields found by harvests, `roles` those
    set by an operator, which override them. With `interval_seconds` the form is harvested again by
    schedule, next at `next_harvest`.
    """

    source = models.ForeignKey(Source, models.CASCADE, related_name="forms")
    signature = models.CharField(max_length=16)
    page_url = models.TextField(_("page"))
    action = models.TextField(_("action"))
    method = models.CharField(_("method"), max_length=4)
    type = models.CharField(_("type"), max_length=20, choices=FormTypes.choices)
    confidence = models.FloatField(_("confidence"), default=0)
    searchable = models.BooleanField(default=False)
    corrected = models.CharField(
        _("corrected type"), max_length=20, choices=FormTypes.choices, blank=True
    )
    corrected_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    corrected_at = models.DateTimeField(null=True, blank=True)
    released = models.BooleanField(_("released"), default=False)
    described = models.JSONField(default=dict)
    learned = models.JSONField(default=dict, blank=True)
    roles = models.JSONField(default=dict, blank=True)
    language = models.CharField(max_length=20, blank=True)
    charset = models.CharField(max_length=40, default="utf-8")
    words = models.JSONField(default=dict)
    depth = models.PositiveSmallIntegerField(_("depth"), default=0)
    cluster = models.ForeignKey(
        Cluster, models.SET_NULL, null=True, blank=True, related_name="forms"
    )
    map_x = models.FloatField(default=0)
    map_y = models.FloatField(default=0)
    interval_seconds = models.PositiveIntegerField(_("interval (s)"), null=True, blank=True)
    next_harvest = models.DateTimeField(_("next harvest"), null=True, blank=True, db_index=True)
    found = models.DateTimeField(_("found"))

    class Meta:
        verbose_name = _("form")
        verbose_name_plural = _("forms")
        constraints = [
            models.UniqueConstraint(fields=["source", "signature"], name="form_once_a_source")
        ]
        indexes = [models.Index(fields=["type", "source"], name="deepform_type")]

    def __str__(self) -> str:
        return self.action

    @property
    def kind(self) -> str:
        """The effective type: an operator's correction, otherwise the classifier's."""
        return self.corrected or self.type


class Harvest(models.Model):
    """The harvest of one form in one run. `state` holds what was learned about the site's answers;
    the counters are sums over its queries.

    A harvest is open until it has `ended`; then `stopped_by` is the reason. Size (`low` to `high`)
    and coverage are estimated from random probes at its end; `unknown` is the reason if there is no
    estimate. `queries` counts queries for records, including random probes (`probes`); nonsense
    queries for calibration are not counted in it, but their requests are counted in `requests`.
    Requests of detail pages are counted in `detail_requests` instead.
    """

    run = models.ForeignKey("crawlmgr.Run", models.CASCADE, related_name="harvests")
    form = models.ForeignKey(Form, models.CASCADE, related_name="harvests")
    position = models.PositiveSmallIntegerField(default=0)
    state = models.JSONField(default=dict)
    queries = models.PositiveIntegerField(_("queries"), default=0)
    valid = models.PositiveIntegerField(_("valid"), default=0)
    probes = models.PositiveIntegerField(_("probes"), default=0)
    requests = models.PositiveIntegerField(_("requests"), default=0)
    returned = models.PositiveBigIntegerField(_("returned"), default=0)
    records = models.PositiveIntegerField(_("records"), default=0)
    details = models.PositiveIntegerField(_("detail pages"), default=0)
    detail_requests = models.PositiveIntegerField(default=0)
    low = models.FloatField(null=True, blank=True)
    high = models.FloatField(null=True, blank=True)
    unknown = models.CharField(max_length=40, blank=True)
    stopped_by = models.CharField(_("end reason"), max_length=60, blank=True)
    ended = models.BooleanField(default=False)

    class Meta:
        verbose_name = _("harvest")
        verbose_name_plural = _("harvests")
        constraints = [
            models.UniqueConstraint(fields=["run", "form"], name="harvest_form_once_a_run")
        ]

    def __str__(self) -> str:
        return f"{self.form} #{self.run_id}"

    @property
    def efficiency(self) -> float | None:
        """Submission efficiency E = N_valid / N_total, the share of queries with records, in [0,
        1]; None before the first query."""
        return self.valid / self.queries if self.queries else None


class Query(models.Model):
    """One query of a harvest with all its result pages. `found` are the ids of the records
    returned, in order.

    `overflowed`: the site did not show all matching records. `partial`: the crawl stopped before
    the last result page, or could not fetch it. `stated` are the numbers on the page that may be
    the total of matching records; `total` is the one that was identified as the total.
    """

    harvest = models.ForeignKey(Harvest, models.CASCADE, related_name="log")
    number = models.PositiveIntegerField(_("number"))
    kind = models.CharField(_("kind"), max_length=10, choices=QueryKind.choices)
    terms = models.JSONField(_("terms"), default=list)
    state = models.CharField(
        _("outcome"), max_length=12, choices=QueryState.choices, default=QueryState.SENT
    )
    reason = models.CharField(_("reason"), max_length=200, blank=True)
    predicted = models.FloatField(default=0)
    expected = models.FloatField(null=True)
    bucket = models.SmallIntegerField(default=-1)
    pages = models.PositiveSmallIntegerField(_("pages"), default=0)
    requests = models.PositiveSmallIntegerField(_("requests"), default=0)
    returned = models.PositiveIntegerField(_("results"), default=0)
    new = models.PositiveIntegerField(_("new"), default=0)
    total = models.PositiveBigIntegerField(_("stated"), null=True, blank=True)
    stated = models.JSONField(default=list)
    overflowed = models.BooleanField(_("truncated"), default=False)
    partial = models.BooleanField(_("not read to the end"), default=False)
    found = models.JSONField(default=list)
    records_after = models.PositiveIntegerField(default=0)
    requests_after = models.PositiveIntegerField(default=0)
    sent_at = models.DateTimeField(_("sent"))
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("query")
        verbose_name_plural = _("queries")
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(fields=["harvest", "number"], name="query_number_once")
        ]

    def __str__(self) -> str:
        return self.words

    @property
    def words(self) -> str:
        """The terms of the query as readable text: "input=value, …"."""
        return ", ".join(f"{name}={value}" for name, value in self.terms)


class Record(models.Model):
    """One record of a source, found by any number of forms and queries: (source, key_hash) is
    unique.

    `listed` are the fields shown in the result list, `fields` the same and those added from the
    detail page.
    """

    source = models.ForeignKey(Source, models.CASCADE, related_name="found_records")
    form = models.ForeignKey(Form, models.CASCADE, related_name="found_records")
    key_hash = models.BigIntegerField()
    url = models.TextField(_("address"), blank=True)
    fields = models.JSONField(_("fields"), default=dict)
    listed = models.JSONField(default=dict)
    text = models.TextField(blank=True)
    first_seen = models.DateTimeField(_("first seen"))
    detail_at = models.DateTimeField(_("detail page read"), null=True, blank=True)

    class Meta:
        verbose_name = _("record")
        verbose_name_plural = _("records")
        constraints = [
            models.UniqueConstraint(fields=["source", "key_hash"], name="record_once_a_source")
        ]
        indexes = [models.Index(fields=["form", "id"], name="record_form")]

    def __str__(self) -> str:
        return self.url or str(next(iter(self.fields.values()), self.pk))
