"""Views of one search form (its fields as a visitor would see them, correct its type, allow it to
be sent, try a query, start a harvest), and of one harvest with its curve and queries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urlsplit

from django import forms as django_forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import get_language_info, gettext_lazy
from django.utils.translation import gettext as _

from crawlmgr.admin import words
from crawlmgr.admin.views import admin_view, attempt, back, page, post_view
from crawlmgr.exports import downloads
from crawlmgr.models import Run
from deepweb import harvests, reads
from deepweb.admin import charts
from deepweb.admin.harvests import INTERVALS
from deepweb.form_roles import ASKED_ROLES
from deepweb.forms import stored
from deepweb.forms.field_roles import FieldRole
from deepweb.forms.templates import inputs_of
from deepweb.forms.types import FormType
from deepweb.harvest_options import POLICIES
from deepweb.models import Form, FormTypes, Harvest
from deepweb.search_forms import Form as PageForm
from deepweb.submission import fill

_SHOWN_OPTIONS = 6


_UNSEEN = ("hidden",)


ROLES = {
    FieldRole.QUERY: gettext_lazy("search words"),
    FieldRole.OTHER: gettext_lazy("further text"),
    FieldRole.REFINEMENT: gettext_lazy("choice"),
    FieldRole.REQUIRED: gettext_lazy("required choice"),
    FieldRole.DATE: gettext_lazy("date"),
    FieldRole.NUMBER: gettext_lazy("number"),
    FieldRole.PAGE: gettext_lazy("page number"),
    FieldRole.PAGE_SIZE: gettext_lazy("results per page"),
    FieldRole.SORT: gettext_lazy("sort order"),
    FieldRole.FIXED: gettext_lazy("left at its default"),
}


"""The roles of fields that an operator can choose, with their display names."""


@dataclass(frozen=True, slots=True)
class RoleOf:
    """The role of one field (`said` is its display name), who decided it (`by`, "" if it was read
    from the form), and the role set by an operator (`set_by_hand`, "" for none).
    """

    name: str
    label: str
    role: str
    said: str
    by: str
    set_by_hand: str


def roles(form: Form) -> list[RoleOf]:
    """Returns the roles of the fields of a search form that a query can fill or to which an
    operator can assign a role."""
    found = []
    for field in stored.page_form(form).fields:
        if not field.name or field.kind in stored.NEVER_ASKED:
            continue
        by = (
            _("user setting")
            if field.name in form.roles
            else _("query results")
            if field.name in form.learned
            else ""
        )
        said = str(ROLES.get(field.role, field.role.value))
        found.append(
            RoleOf(
                field.name, field.label, field.role.value, said, by, form.roles.get(field.name, "")
            )
        )
    return found


def role_choices() -> list[tuple[str, str]]:
    """Returns, as pairs (value, display name), the roles that an operator can give to a form field
    (what the field is for)."""
    return [(role.value, str(ROLES[role])) for role in ASKED_ROLES]


@dataclass(frozen=True, slots=True)
class Asked:
    """An input on the page where an operator tries a query on a form: name, label, and choices as
    pairs (value, label)."""

    name: str
    label: str
    choices: tuple[tuple[str, str], ...]


def asked_inputs(form: PageForm, most: int) -> list[Asked]:
    """Returns the first inputs of a form that a query can fill; those without a label are labelled
    by their names."""
    fields = {field.name: field for field in reversed(form.fields)}
    found = []
    for one in inputs_of(form)[:most]:
        field = fields[one.name]
        said = {option.value: option.label.strip() or option.value for option in field.options}
        label = field.label if field.kind != "checkbox" else ""
        found.append(
            Asked(
                one.name,
                label.strip() or one.name,
                tuple((value, said.get(value, value)) for value in one.values),
            )
        )
    return found


def language_name(code: str) -> str:
    """Returns the name of a form's language in the reader's language; the code itself if the
    language is not known."""
    main = code.lower().replace("_", "-").partition("-")[0]
    if main == "zh":
        return _("Chinese")
    try:
        return str(get_language_info(main)["name_translated"])
    except KeyError:
        return code


@dataclass(frozen=True, slots=True)
class Drawn:
    """One field of a form as the preview shows it, with its first options; `more` is the number of
    further options."""

    label: str
    kind: str
    name: str
    role: str
    text: str
    options: tuple[str, ...] = ()
    more: int = 0
    required: bool = False


def picture(form: Form, most: int = 40) -> list[Drawn]:
    """Returns the visible fields of a form, in order, with their contents; at most `most`."""
    return [
        _drawn(field) for field in form.described.get("fields", ()) if field["kind"] not in _UNSEEN
    ][:most]


def _drawn(field: dict[str, Any]) -> Drawn:
    options = [option["label"] or option["value"] for option in field.get("options", ())]
    kind = (
        field["kind"]
        if field["kind"] in ("select", "radio", "checkbox", "textarea", "password", "file")
        else "text"
    )
    if field["kind"] in ("submit", "image", "button", "reset"):
        kind = "button"
    return Drawn(
        label=field["label"] if kind != "button" else "",
        kind=kind,
        name=field["name"],
        role=field["role"],
        text=field["value"] or field["placeholder"] or (field["label"] if kind == "button" else ""),
        options=tuple(options[:_SHOWN_OPTIONS]),
        more=max(0, len(options) - _SHOWN_OPTIONS),
        required=field["required"],
    )


TABLES = ("forms", "queries", "records")


TRIED_INPUTS = 8


PAPER = ("paper_seeds", "per_round", "rounds", "min_candidates", "too_common", "too_rare")


class BudgetForm(django_forms.Form):
    """Form with the budget and the other options of a harvest."""

    policy = django_forms.ChoiceField(
        label=gettext_lazy("Policy"),
        choices=[(name, name) for name in POLICIES],
        initial="fresh",
        required=False,
    )
    queries = django_forms.IntegerField(
        label=gettext_lazy("Queries"), min_value=1, max_value=100_000, initial=100
    )
    requests = django_forms.IntegerField(
        label=gettext_lazy("Requests"), min_value=1, max_value=10_000_000, required=False
    )
    pages_per_host = django_forms.IntegerField(
        label=gettext_lazy("Pages of one host"), min_value=1, required=False
    )
    probes = django_forms.IntegerField(
        label=gettext_lazy("Random probes"), min_value=0, max_value=1_000, initial=240
    )
    details = django_forms.IntegerField(
        label=gettext_lazy("Detail pages"), min_value=0, max_value=1_000_000, initial=1_000
    )
    min_gain = django_forms.FloatField(
        label=gettext_lazy("Minimum share of new records"), min_value=0, max_value=1, initial=0.01
    )
    coverage = django_forms.FloatField(
        label=gettext_lazy("Coverage to reach"), min_value=0.01, max_value=1, required=False
    )
    seed_terms = django_forms.CharField(
        label=gettext_lazy("Initial query words"), max_length=2_000, required=False
    )
    paper_seeds = django_forms.IntegerField(
        label=gettext_lazy("Initial query words of the paper's method"), min_value=1, required=False
    )
    per_round = django_forms.IntegerField(
        label=gettext_lazy("Words per round"), min_value=1, max_value=1_000, required=False
    )
    rounds = django_forms.IntegerField(
        label=gettext_lazy("Rounds"), min_value=1, max_value=1_000, required=False
    )
    min_candidates = django_forms.IntegerField(
        label=gettext_lazy("Minimum number of candidate words"), min_value=1, required=False
    )
    too_common = django_forms.FloatField(
        label=gettext_lazy("Ignore words in at least this share of records"),
        min_value=0,
        max_value=1,
        required=False,
    )
    too_rare = django_forms.FloatField(
        label=gettext_lazy("Ignore words in less than this share of records"),
        min_value=0,
        max_value=1,
        required=False,
    )
    stop_rules = django_forms.BooleanField(label=gettext_lazy("Stop rules"), required=False)

    def options(self) -> dict[str, Any]:
        """Returns the validated fields as parameters of a harvest run."""
        data = {
            name: value
            for name, value in self.cleaned_data.items()
            if value is not None or name not in PAPER
        }
        data.pop("pages_per_host", None)
        data["policy"] = data["policy"] or "fresh"
        data["seed_terms"] = [
            word.strip()
            for word in data["seed_terms"].replace("，", ",").split(",")
            if word.strip()
        ]
        return data

    def web(self) -> dict[str, Any]:
        """Returns the validated fields as crawl settings (delay, page limits)."""
        most = self.cleaned_data["pages_per_host"]
        return {"pages_per_host": most} if most else {}


def find(pk: int) -> Form:
    form = (
        Form.objects.select_related("source", "cluster", "corrected_by")
        .defer("words")
        .filter(pk=pk)
        .first()
    )
    if form is None:
        raise Http404(_("There is no such form."))
    return form


def trail(form: Form) -> list[tuple[str, str]]:
    """Returns the breadcrumb of a form's page: pairs (title, address) of the list of sites and of
    the form's site."""
    return [
        (_("Search sites"), reverse("admin:sources")),
        (form.source.name, reverse("admin:source", args=[form.source_id])),
    ]


@admin_view("deepweb/form/<int:pk>/", "search-form", "deepweb.view_form")
def form_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows a form: its type and fields, its harvests, and the actions that are possible on it."""
    form = find(pk)
    refused = reads.may_be_asked(form)
    past = reads.harvests(form, 10)
    latest = next(
        (one for one in past if one.queries > 1), None
    )  # harvests of one query are trial queries
    run = reads.working(harvests.KIND, [pk]).get(pk)
    inputs = asked_inputs(stored.page_form(form), TRIED_INPUTS) if refused is None else []
    context = {
        "form": form,
        "picture": picture(form),
        "language": language_name(form.language),
        "types": FormTypes.choices,
        "roles": roles(form) if form.kind == FormType.SEARCH else [],
        "role_choices": role_choices(),
        "refused": refused,
        "releasable": (
            form.kind == FormType.SEARCH
            and (form.method == "post" or form.released or refused == "unsure")
        ),
        "harvests": past,
        "run": run,
        "inputs": inputs,
        "budget": BudgetForm(),
        "intervals": INTERVALS,
        "policies": POLICIES,
        "charts": [charts.harvest_curve(latest), charts.new_by_query(latest)] if latest else [],
        "downloads": downloads.choices(TABLES, site=form.source_id),
    }
    return page(
        request,
        "deepweb/form.html",
        context,
        title=_title(form),
        item=f"source:{form.source_id}",
        trail=trail(form),
    )


def _title(form: Form) -> str:
    parts = urlsplit(form.action)
    return unquote(parts.path if len(parts.path) > 1 else parts.netloc)[:80]


@post_view("deepweb/form/<int:pk>/type/", "form-type", "deepweb.change_form")
def correct(request: HttpRequest, pk: int) -> HttpResponse:
    """Stores an operator's correction of the form's type, which overrides the classifier's."""
    form = find(pk)
    kind = request.POST.get("type", "")
    attempt(
        request,
        _("The form type is saved.") if kind else _("The classifier's type is used again."),
        lambda: stored.correct(form, kind, request.user, datetime.now(UTC)),
    )
    return back(request, "search-form", pk)


@post_view("deepweb/form/<int:pk>/role/", "form-role", "deepweb.change_form")
def set_role(request: HttpRequest, pk: int) -> HttpResponse:
    """Stores the role that an operator assigns to a field; it overrides the role found by
    harvests."""
    form = find(pk)
    name, role = request.POST.get("name", ""), request.POST.get("role", "")
    attempt(
        request, _("The role of the field is saved."), lambda: stored.set_role(form, name, role)
    )
    return back(request, "search-form", pk)


@post_view("deepweb/form/<int:pk>/release/", "form-release", "deepweb.change_form")
def release(request: HttpRequest, pk: int) -> HttpResponse:
    """Allows or forbids submitting a form that needs an operator's consent: it is sent by POST, or
    its type is uncertain."""
    form, wanted = find(pk), request.POST.get("released") == "1"
    stored.release(form, wanted)
    messages.success(
        request, _("The form may be sent.") if wanted else _("The form may no longer be sent.")
    )
    return back(request, "search-form", pk)


@post_view("deepweb/form/<int:pk>/harvest/", "form-harvest", "crawlmgr.add_run")
def harvest(request: HttpRequest, pk: int) -> HttpResponse:
    """Starts a harvest of a form with the submitted budget and options."""
    form, budget = find(pk), BudgetForm(request.POST)
    if not budget.is_valid():
        for name, errors in budget.errors.items():
            messages.error(request, f"{budget.fields[name].label}: {' '.join(map(str, errors))}")
        return back(request, "search-form", pk)
    started = _start(request, [form], budget.options(), _("The harvest has started."), budget.web())
    if started is None:
        return back(request, "search-form", pk)
    return back(
        request, "harvest", Harvest.objects.values_list("pk", flat=True).get(run=started, form=form)
    )


def _start(
    request: HttpRequest,
    chosen: list[Form],
    options: dict[str, Any],
    done: str,
    web: dict[str, Any] | None = None,
) -> Run | None:
    started: list[Run] = []

    def start() -> None:
        try:
            started.append(
                harvests.start(
                    chosen, options, now=datetime.now(UTC), settings=web, user=request.user
                )
            )
        except harvests.Refused as refused:
            raise ValueError(words.say(refused.code)) from None

    attempt(request, done, start)
    return started[0] if started else None


@post_view("deepweb/form/<int:pk>/try/", "form-try", "crawlmgr.add_run")
def try_query(request: HttpRequest, pk: int) -> HttpResponse:
    """Sends one query with the submitted values to a form, and shows the answer as a harvest of one
    query."""
    form = find(pk)
    names = {each.name for each in inputs_of(stored.page_form(form))}
    bound = [(name, request.POST.get(f"input-{name}", "").strip()) for name in sorted(names)]
    bound = [(name, value[:200]) for name, value in bound if value]
    if not bound:
        messages.warning(request, _("Fill in at least one field."))
        return back(request, "search-form", pk)
    options = {"fixed": [bound], "queries": 1, "probes": 0, "details": 0, "stop_rules": False}
    started = _start(request, [form], options, _("The query is sent."))
    if started is None:
        return back(request, "search-form", pk)
    return back(
        request, "harvest", Harvest.objects.values_list("pk", flat=True).get(run=started, form=form)
    )


@admin_view("deepweb/harvest/<int:pk>/", "harvest", "deepweb.view_harvest")
def harvest_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows one harvest: its figures, the curve of records against requests with the bounds of the
    estimated coverage, and its queries.
    """
    row = (
        Harvest.objects.select_related("run", "form__source")
        .defer("form__words")
        .filter(pk=pk)
        .first()
    )
    if row is None:
        raise Http404(_("There is no such harvest."))
    slice_ = reads.log(row, request.GET.dict())
    tried = bool(row.run.parameters.get("fixed"))
    last = slice_.rows[0] if tried and slice_.rows else None
    context: dict[str, Any] = {
        "harvest": row,
        "run": row.run,
        "form": row.form,
        "slice": slice_,
        "keep": "",
        "figures": reads.figures([row]),
        "tried": tried,
        "ways": reads.predictions(row),
        "sent": _sent(row) if tried else None,
        "seen": reads.sample_of(last) if last is not None else [],
        "charts": (
            []
            if tried or request.GET.get("part") == "live"
            else [charts.harvest_curve(row), charts.new_by_query(row)]
        ),
        "downloads": downloads.choices(("queries", "records"), run=row.run_id),
    }
    if last is not None:
        context["columns"] = reads.shown_fields(context["seen"])
    way = [*trail(row.form), (_title(row.form), reverse("admin:search-form", args=[row.form_id]))]
    answer = page(
        request,
        "deepweb/harvest.html",
        context,
        title=_("Query tried") if tried else _("Harvest"),
        item=f"source:{row.form.source_id}",
        trail=way,
        live="deepweb/harvest_live.html",
    )
    if request.GET.get("active") and not row.run.active:
        answer["X-Desk-Reload"] = "1"
    return answer


def _sent(row: Harvest) -> dict[str, str]:
    """Returns the request of a trial query: its method, address and body; empty if the form no
    longer has the field that was filled.
    """
    bound = dict(row.run.parameters["fixed"][0])
    try:
        submission = fill(stored.page_form(row.form), bound, row.form.charset)
    except KeyError:
        return {}
    return {"method": submission.method, "url": submission.url, "body": submission.body}
