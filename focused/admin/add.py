"""View with the form for adding a topic: seeds, samples (addresses, text, files) and keywords. Its
parsing of submitted texts and addresses is also used by other views.
"""

from __future__ import annotations

from datetime import UTC, datetime

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from crawlmgr.admin.views import admin_view, back, opens_nothing, page
from crawlmgr.web.encoding import decode
from focused.judge.relevance import BadLine, read_keywords, read_seeds
from focused.models import Topic
from focused.topic import readings, samples, topics

LINES_TOLD = 12
MAX_FILES = 200
MAX_FILE_BYTES = 5_000_000
MAX_FILES_BYTES = 20_000_000
# maximum number of seed addresses (lines) in a form; processing this many takes about a second
MAX_SEEDS = 10_000


class TopicForm(forms.Form):
    """Form for a new topic; samples or keywords are required, since relevance is computed from
    them."""

    name = forms.CharField(max_length=200, strip=True, label=gettext_lazy("Name"))
    seeds = forms.CharField(required=False, max_length=1_000_000, label=gettext_lazy("Seeds"))
    seeds_file = forms.FileField(required=False)
    texts = forms.CharField(
        required=False, max_length=2_000_000, label=gettext_lazy("Sample texts")
    )
    addresses = forms.CharField(
        required=False, max_length=200_000, label=gettext_lazy("Sample pages")
    )
    keywords = forms.CharField(required=False, max_length=20_000, label=gettext_lazy("Keywords"))
    delay_seconds = forms.FloatField(
        min_value=0, max_value=3600, initial=1.0, label=gettext_lazy("Pause between requests")
    )
    private = forms.BooleanField(
        required=False, label=gettext_lazy("Allow private addresses for this topic")
    )

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"]).strip()
        if Topic.objects.filter(name=name).exists():
            raise forms.ValidationError(_("There is a topic of that name already."))
        return name

    def clean_keywords(self) -> dict[str, float]:
        try:
            return read_keywords(self.cleaned_data["keywords"])
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None


def texts_of(request: HttpRequest) -> list[tuple[str, str]]:
    """Returns the submitted samples as pairs of name and text: from pasted text (a line of three or
    more dashes separates two samples) and from files. Empty ones are left out. Raises ValueError
    with a one-line message if there are more than MAX_FILES files, or one of them or all together
    are larger than MAX_FILE_BYTES or MAX_FILES_BYTES."""
    parts: list[list[str]] = [[]]
    for line in request.POST.get("texts", "").splitlines():
        if line.strip().strip("-—") == "" and len(line.strip()) >= 3:
            parts.append([])
        else:
            parts[-1].append(line)
    found = []
    for lines in parts:
        text = "\n".join(lines).strip()
        if text:
            found.append((text.split("\n", 1)[0][:60], text))
    files = request.FILES.getlist("files")
    if len(files) > MAX_FILES or sum(file.size or 0 for file in files) > MAX_FILES_BYTES:
        told = {"number": MAX_FILES, "size": MAX_FILES_BYTES // 1_000_000}
        raise ValueError(
            _("At most %(number)s files, %(size)s MB in total, can be uploaded at once.") % told
        )
    for file in files:
        text = (
            text_of(file).replace("\0", "").strip()
        )  # NUL characters, which a binary file may contain, cannot be stored
        if text:
            found.append((file.name or _("file"), text))
    return found


def text_of(file: UploadedFile) -> str:
    """Returns the text of an uploaded file. Raises ValueError with a one-line message if it is
    larger than MAX_FILE_BYTES."""
    if (file.size or 0) > MAX_FILE_BYTES:
        told = {"name": (file.name or "")[:80], "size": MAX_FILE_BYTES // 1_000_000}
        raise ValueError(_("%(name)s is larger than %(size)s MB.") % told)
    return decode(file.read())[0]


def lines_of(request: HttpRequest, field: str, file: str) -> list[str]:
    """Returns the lines of addresses that were pasted into the form field `field` or uploaded as
    `file`. Raises ValueError with a one-line message if there are more than MAX_SEEDS lines, or
    more than 100 * MAX_SEEDS characters in all.
    """
    upload = request.FILES.get(file)
    lines = request.POST.get(field, "").splitlines() + (
        text_of(upload).splitlines() if upload else []
    )
    if len(lines) > MAX_SEEDS or sum(map(len, lines)) > 100 * MAX_SEEDS:
        told = {"number": f"{MAX_SEEDS:,}"}
        raise ValueError(
            _(
                "At most %(number)s lines of addresses at once; for more, use the command `topic"
                " add --seeds FILE`."
            )
            % told
        )
    return lines


def tell_bounds(request: HttpRequest, found: readings.Bounded) -> None:
    """Shows messages that name the samples which were truncated or left out because of the size
    limits."""
    for names, text in (
        (found.truncated, _("Too long, truncated to the first %(most)s characters: %(names)s")),
        (
            found.left_out,
            _("Not added, because a topic holds at most %(all)s characters of samples: %(names)s"),
        ),
    ):
        if names:
            told = ", ".join(name[:60] for name in names[:LINES_TOLD]) + (
                ", …" if len(names) > LINES_TOLD else ""
            )
            bounds = {
                "most": f"{readings.MAX_SAMPLE_CHARACTERS:,}",
                "all": f"{readings.MAX_TOPIC_CHARACTERS:,}",
            }
            messages.warning(request, text % {**bounds, "names": told})


def tell_bad_lines(request: HttpRequest, bad: list[BadLine], what: str) -> None:
    """Shows a message with the number and text of the lines that are not addresses and were left
    out, if there are any; `what` is the display name of the list in which they were."""
    if bad:
        told = "; ".join(f"{line.number}: {line.text[:80]}" for line in bad[:LINES_TOLD])
        more = "; …" if len(bad) > LINES_TOLD else ""
        text = ngettext(
            "%(number)s line of the %(what)s is not an address and was skipped (%(lines)s)",
            "%(number)s lines of the %(what)s are not addresses and were skipped (%(lines)s)",
            len(bad),
        )
        messages.warning(request, text % {"number": len(bad), "what": what, "lines": told + more})


@admin_view("topics/add/", "topic-add", "focused.view_topic", post="focused.add_topic")
def add(request: HttpRequest) -> HttpResponse:
    """Shows and processes the form for a new topic."""
    if not request.user.has_perm("focused.add_topic"):
        raise PermissionDenied
    form = TopicForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid() and opens_nothing(request, form, "private"):
        topic = _make(request, form)
        if topic is not None:
            return back(request, "topic", topic.pk)
    trail = [(_("Topics"), reverse("admin:topics"))]
    status = 422 if form.errors else 200
    return page(
        request,
        "focused/add.html",
        {"form": form},
        title=_("Add topic"),
        item="topic-add",
        trail=trail,
        status=status,
    )


def _make(request: HttpRequest, form: TopicForm) -> Topic | None:
    data, now = form.cleaned_data, datetime.now(UTC)
    lines: list[str] = []
    texts: list[tuple[str, str]] = []
    try:
        lines = lines_of(request, "seeds", "seeds_file")
    except ValueError as error:
        form.add_error("seeds", str(error))
    try:
        texts = texts_of(request)
    except ValueError as error:
        form.add_error("texts", str(error))
    if form.errors:
        return None
    seeds, bad = read_seeds(lines)
    pages, bad_pages = read_seeds(data["addresses"].splitlines()[:MAX_SEEDS])
    found = readings.bounded(texts)
    documents = found.kept
    if not seeds:
        form.add_error("seeds", _("A topic needs an address to start from."))
    if not (documents or pages or data["keywords"]):
        form.add_error(
            "texts", _("A topic needs samples or keywords to decide which pages are on topic.")
        )
    if form.errors:
        tell_bad_lines(request, bad, _("seeds"))
        return None
    settings: dict[str, object] = {"delay_seconds": data["delay_seconds"]}
    if data["private"]:
        settings["allow_private"] = ",".join(topics.authorities([*seeds, *pages]))
    topic = topics.add(
        data["name"],
        seeds,
        documents=documents,
        keywords=data["keywords"],
        settings=settings,
        now=now,
    )
    readings.renew(
        topic, now=now, user=request.user, drawing=bool(documents) and not data["keywords"]
    )
    tell_bounds(request, found)
    if pages:
        samples.fetch(topic, pages, now=now, user=request.user)
        messages.info(request, _("The sample pages are being fetched."))
    tell_bad_lines(request, bad, _("seeds"))
    tell_bad_lines(request, bad_pages, _("sample pages"))
    messages.success(request, _("%(name)s is saved.") % {"name": topic.name})
    return topic
