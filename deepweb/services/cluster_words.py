"""Query words from the cluster of forms to which a form belongs: the terms with the highest weight
in the cluster, and words that found records at other forms of the cluster."""

from __future__ import annotations

from collections import Counter

from deepweb.models import COUNTED, Form, Harvest, Query
from deepweb.query_words import query_words

HARVESTS = 20
QUERIES = 500
PAID = 20


def cluster_terms(form: Form) -> list[str]:
    """Returns the terms with the largest weights in the form's cluster, which the deep-web paper
    uses as seed words; [] if the form has no cluster.
    """
    return list(form.cluster.terms) if form.cluster is not None else []


def paid_words(form: Form) -> list[str]:
    """Returns single words that found new records at the cluster's other forms in their latest
    harvests, those with most new records first; empty without a cluster.
    """
    if form.cluster_id is None:
        return []
    others = (
        Harvest.objects.filter(form__cluster_id=form.cluster_id)
        .exclude(form_id=form.pk)
        .order_by("-pk")
    )
    ids = list(others.values_list("pk", flat=True)[:HARVESTS])
    rows = Query.objects.filter(harvest_id__in=ids, kind__in=COUNTED, new__gt=0).order_by(
        "-new", "pk"
    )
    brought: Counter[str] = Counter()
    for terms, new in rows.values_list("terms", "new")[:QUERIES]:
        if len(terms) == 1 and query_words(terms[0][1]) == [terms[0][1]]:
            brought[terms[0][1]] += new
    return [word for word, _ in brought.most_common(PAID)]
