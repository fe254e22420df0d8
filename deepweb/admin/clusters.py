"""Views of clusters of search forms: map, lists, names, and a harvest of all forms of a cluster."""

from __future__ import annotations

from datetime import UTC, datetime

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from crawlmgr.admin.views import admin_view, attempt, back, number, page, post_view
from deepweb import harvests, reads
from deepweb.admin import charts
from deepweb.forms import clustering, clusters
from deepweb.harvest_options import POLICIES
from deepweb.models import Cluster

MAX_SHARE = 100.0


@admin_view("deepweb/clusters/", "form-clusters", "deepweb.view_cluster")
def cluster_page(request: HttpRequest) -> HttpResponse:
    """Shows the map of the search forms, the clusters as lists, and for each cluster the share of
    queries whose answers had records ("submission efficiency")."""
    rows = reads.clusters()
    how = min(rows, key=lambda row: row.cluster.pk).cluster.how if rows else {}
    context = {
        "rows": rows,
        "policies": POLICIES,
        "how": how,
        "can_undo": bool(how.get(clusters.EARLIER)),
        "charts": [charts.cluster_map(rows), charts.efficiency(rows)],
        "c1": how.get("c1", clustering.C1),
        "c2": how.get("c2", clustering.C2),
    }
    trail = [(_("Search sites"), reverse("admin:sources"))]
    return page(
        request,
        "deepweb/clusters.html",
        context,
        title=_("Form clusters"),
        item="form-clusters",
        trail=trail,
    )


@post_view("deepweb/clusters/make/", "clusters-make", "deepweb.change_cluster")
def make(request: HttpRequest) -> HttpResponse:
    """Clusters all search forms again."""
    wish = request.POST.get("k", "").strip()
    k = number(wish, 1000) or None
    if wish and k is None:
        messages.error(
            request, _("The number of clusters must be a whole number from 1 to 1,000, or empty.")
        )
        return back(request, "form-clusters")
    method = "literal" if request.POST.get("method") == "literal" else "kmeans"
    shares = [
        _share(request.POST.get(name, ""), usual)
        for name, usual in (("c1", clustering.C1), ("c2", clustering.C2))
    ]
    c1, c2 = shares
    if c1 is None or c2 is None or not c1 + c2:
        messages.error(request, _("C1 and C2 must be numbers from 0 to 100, not both 0."))
        return back(request, "form-clusters")
    now = datetime.now(UTC)
    attempt(
        request,
        _("The forms are clustered."),
        lambda: clusters.cluster(now, k=k, method=method, c1=c1, c2=c2),
    )
    return back(request, "form-clusters")


@post_view("deepweb/clusters/undo/", "clusters-undo", "deepweb.change_cluster")
def undo(request: HttpRequest) -> HttpResponse:
    """Restores the clusters that the last clustering replaced."""
    attempt(request, _("The earlier clusters are back."), clusters.undo)
    return back(request, "form-clusters")


def _share(text: str, usual: float) -> float | None:
    """Parses a submitted weight C1 or C2 of eq. (3) of the deep-web paper. Returns `usual` if the
    field is empty, None if it is invalid.
    """
    if not text.strip():
        return usual
    try:
        share = float(text)
    except ValueError:
        return None
    return share if 0 <= share <= MAX_SHARE else None


@post_view("deepweb/cluster/<int:pk>/name/", "cluster-name", "deepweb.change_cluster")
def rename(request: HttpRequest, pk: int) -> HttpResponse:
    """Stores an operator's name for a cluster."""
    row = _find(pk)
    attempt(
        request, _("The name is saved."), lambda: clusters.rename(row, request.POST.get("name", ""))
    )
    return back(request, "form-clusters")


@post_view("deepweb/cluster/<int:pk>/harvest/", "cluster-harvest", "crawlmgr.add_run")
def harvest(request: HttpRequest, pk: int) -> HttpResponse:
    """Starts a harvest of all forms of a cluster with one common budget."""
    row = _find(pk)
    queries = number(request.POST.get("queries", ""), 100_000)
    if not queries:
        messages.error(
            request, _("The number of queries must be a whole number from 1 to 100,000.")
        )
        return back(request, "form-clusters")
    options = {"queries": queries, "policy": request.POST.get("policy", "") or "fresh"}
    attempt(
        request,
        _("The harvest has started."),
        lambda: harvests.start(
            harvests.of_cluster(row),
            options,
            now=datetime.now(UTC),
            label=row.name,
            user=request.user,
        ),
    )
    return back(request, "form-clusters")


def _find(pk: int) -> Cluster:
    row = Cluster.objects.filter(pk=pk).first()
    if row is None:
        raise Http404(_("There is no such cluster."))
    return row
