"""Clusters of search forms with similar subjects: computed again from the words of their pages, or
new forms assigned to existing clusters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from django.db import transaction

from deepweb.forms import clustering
from deepweb.forms.clustering import FormPageWords
from deepweb.forms.types import FormType
from deepweb.models import Cluster, Form

if TYPE_CHECKING:
    from scipy import sparse

TERMS = 20
NAME_TERMS = 3
PAPER_K = 9


def clusterable() -> list[Form]:
    """Returns the search forms for which words (of the form and its page) are stored, in the order
    in which the forms were found. The type of a form is that set by an operator, otherwise that
    found by the classifier.
    """
    forms = Form.objects.exclude(words={}).order_by("pk")
    return [form for form in forms if form.kind == FormType.SEARCH]


def _spaces(
    forms: Sequence[Form],
) -> tuple[clustering.TwoSpaces, tuple[clustering.Space, clustering.Space]]:
    pages = [FormPageWords(form.words["page"], form.words["form"]) for form in forms]
    page, form = clustering.spaces_of(pages)
    return clustering.TwoSpaces(
        page.weigh([p.page for p in pages]), form.weigh([p.form for p in pages])
    ), (page, form)


def cluster(
    now: datetime,
    *,
    k: int | None = None,
    method: str = "kmeans",
    c1: float = clustering.C1,
    c2: float = clustering.C2,
    seed: int = 1,
) -> dict[str, Any]:
    """Clusters all search forms again into `k` clusters, by the method "kmeans" or "literal" (the
    paper's algorithm as printed). If `k` is None, the number is chosen by silhouette, or is the
    paper's 9 for "literal". `c1` and `c2` weigh the words of pages and of forms; `seed` is that of
    the random numbers. A name given by an operator stays with the cluster that contains most of its
    forms. Returns a dictionary with "k", "silhouette", and "clusters": a list with the id
    ("cluster"), "name", "top_terms" and "forms" (ids) of each. Raises ValueError if there are no
    search forms."""
    forms = clusterable()
    if not forms:
        raise ValueError("there is no search form yet")
    spaces, words = _spaces(forms)
    rows = clustering.joined(spaces, c1, c2)
    silhouette_score: float | None
    if method == "literal":
        found = clustering.literal(
            spaces, k or min(PAPER_K, len(forms)), np.random.default_rng(seed), c1, c2
        )
        silhouette_score = clustering.silhouette(rows, found.labels, seed)
    elif k is None:
        found, silhouette_score, _ = clustering.choose_k(rows, seed)
    else:
        found = clustering.kmeans(rows, k, seed)
        silhouette_score = clustering.silhouette(rows, found.labels, seed)
    from scipy import sparse  # half a second to load, and few processes cluster

    how = {"method": method, "k": k, "c1": c1, "c2": c2, "silhouette": silhouette_score}
    heaviest = _heaviest(
        forms, found.labels, sparse.hstack(spaces).tocsr(), [*words[0].words, *words[1].words]
    )
    flat, own = clustering.flat_map(rows), clustering.silhouettes(rows, found.labels)
    with transaction.atomic():
        made = _store(forms, found.labels, heaviest, flat, now, how, own)
    return {"k": len(made), "silhouette": silhouette_score, "clusters": made}


def _heaviest(
    forms: Sequence[Form], labels: np.ndarray, weights: sparse.csr_matrix, words: Sequence[str]
) -> dict[int, list[str]]:
    """Returns for each cluster, by its label, up to TERMS words with the largest sums of their
    weights (eq. (1) of the deep-web paper) over the cluster's pages and forms, heaviest first.
    labels: each form's cluster; weights: (forms, words).
    """
    found = {}
    for label in sorted(set(labels.tolist())):
        terms = list(dict.fromkeys(clustering.top_terms(weights, words, labels, label, 2 * TERMS)))[
            :TERMS
        ]
        if (
            not terms
        ):  # all pages have the same words: every word is on all of them and has weight 0
            first = forms[labels.tolist().index(label)].words["page"]
            terms = sorted(first, key=lambda word: -first[word])[:TERMS]
        found[label] = terms
    return found


def _store(
    forms: Sequence[Form],
    labels: np.ndarray,
    heaviest: Mapping[int, list[str]],
    flat: np.ndarray,
    now: datetime,
    how: Mapping[str, Any],
    silhouettes: Mapping[int, float],
) -> list[dict[str, Any]]:
    earlier = {
        form.cluster_id: form.cluster
        for form in Form.objects.select_related("cluster").filter(cluster__named=True)
    }
    named: dict[int, str] = {}
    for pk, old in earlier.items():
        kept = [
            int(label) for form, label in zip(forms, labels, strict=True) if form.cluster_id == pk
        ]
        if kept and old is not None:
            named.setdefault(max(set(kept), key=kept.count), old.name)
    earlier_state = _state()
    Cluster.objects.all().delete()
    made: list[dict[str, Any]] = []
    for label, terms in heaviest.items():
        members = [place for place, own in enumerate(labels) if own == label]
        row = Cluster.objects.create(
            name=named.get(label) or ", ".join(terms[:NAME_TERMS]) or f"#{label + 1}",
            named=label in named,
            terms=terms,
            forms_count=len(members),
            made=now,
            how={**how, EARLIER: earlier_state} if not made else dict(how),
            silhouette=silhouettes.get(label),
        )
        for place in members:
            form = forms[place]
            form.cluster, form.map_x, form.map_y = row, float(flat[place][0]), float(flat[place][1])
        made.append(
            {
                "cluster": row.pk,
                "name": row.name,
                "top_terms": terms,
                "forms": [forms[place].pk for place in members],
            }
        )
    Form.objects.bulk_update(forms, ["cluster", "map_x", "map_y"], batch_size=200)
    return made


EARLIER = "earlier"
"""Key of `Cluster.how` under which the first cluster keeps the clusters that it replaced."""


def _state() -> list[dict[str, Any]]:
    """Returns the present clusters, each with its forms (id, place on the map), as JSON."""
    names = ("name", "named", "terms", "how", "silhouette")
    forms = Form.objects.filter(cluster__isnull=False)
    places = list(forms.order_by("pk").values_list("cluster_id", "pk", "map_x", "map_y"))
    found = []
    for row in Cluster.objects.order_by("pk"):
        kept = {name: getattr(row, name) for name in names} | {"made": row.made.isoformat()}
        kept["how"] = {name: value for name, value in row.how.items() if name != EARLIER}
        kept["forms"] = [list(place[1:]) for place in places if place[0] == row.pk]
        found.append(kept)
    return found


@transaction.atomic
def undo() -> None:
    """Restores the clusters before the last clustering; forms found since are in none. Raises
    ValueError if there are none."""
    kept = next(
        (row.how[EARLIER] for row in Cluster.objects.order_by("pk") if row.how.get(EARLIER)), None
    )
    if kept is None:
        raise ValueError("there are no earlier clusters")
    Cluster.objects.all().delete()
    for one in kept:
        forms = one.pop("forms")
        one["made"] = datetime.fromisoformat(one["made"])
        row = Cluster.objects.create(**one, forms_count=len(forms))
        for pk, x, y in forms:
            Form.objects.filter(pk=pk).update(cluster=row, map_x=x, map_y=y)


def assign_new(now: datetime) -> int:
    """Assigns search forms without a cluster to the nearest existing one (the clusters of other
    forms do not change); returns the number of forms assigned.
    """
    forms = clusterable()
    placed = [place for place, form in enumerate(forms) if form.cluster_id is not None]
    lone = [place for place, form in enumerate(forms) if form.cluster_id is None]
    if not placed or not lone:
        return 0
    rows = clustering.joined(_spaces(forms)[0])
    clusters = sorted({pk for place in placed if (pk := forms[place].cluster_id) is not None})
    centres = np.array(
        [
            np.asarray(rows[[p for p in placed if forms[p].cluster_id == pk]].mean(axis=0)).ravel()
            for pk in clusters
        ]
    )
    nearest, _ = clustering.assign(rows[lone], centres)
    with transaction.atomic():
        for place, choice in zip(lone, nearest, strict=True):
            form, pk = forms[place], clusters[int(choice)]
            near = [forms[p] for p in placed if forms[p].cluster_id == pk]
            Form.objects.filter(pk=form.pk).update(
                cluster_id=pk,
                map_x=float(np.mean([f.map_x for f in near])),
                map_y=float(np.mean([f.map_y for f in near])),
            )
        for pk in clusters:
            Cluster.objects.filter(pk=pk).update(
                forms_count=Form.objects.filter(cluster_id=pk).count()
            )
    return len(lone)


def rename(row: Cluster, name: str) -> None:
    """Sets an operator's name for a cluster; an empty one restores the name made of its heaviest
    terms. Raises ValueError if it is too long.
    """
    name = " ".join(name.split())
    if len(name) > 200:
        raise ValueError("a name has at most 200 characters")
    Cluster.objects.filter(pk=row.pk).update(
        name=name or ", ".join(row.terms[:NAME_TERMS]), named=bool(name)
    )
