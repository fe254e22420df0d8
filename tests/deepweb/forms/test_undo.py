"""A clustering can be undone, and sites on one host have names that differ."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from deepweb.forms import clusters, sources
from deepweb.models import Cluster, Form

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 1, tzinfo=UTC)


def test_the_clusters_before_the_last_clustering_come_back() -> None:
    (site,) = sources.add(["http://x.org/"], NOW)
    for place, word in enumerate(("tulip", "tulip", "engine", "engine")):
        words = {word: 3.0, f"{word}s": 2.0, f"other{place}": 1.0}
        Form.objects.create(
            source=site,
            signature=str(place),
            type="search",
            words={"page": words, "form": words},
            found=NOW,
        )
    clusters.cluster(NOW, k=2)
    clusters.rename(Cluster.objects.order_by("pk")[0], "Gardens")
    before = {(form.pk, form.cluster.name, form.map_x) for form in Form.objects.all()}
    clusters.cluster(NOW, k=1)
    assert Cluster.objects.count() == 1
    clusters.undo()
    assert {(form.pk, form.cluster.name, form.map_x) for form in Form.objects.all()} == before
    assert Cluster.objects.filter(named=True, name="Gardens", forms_count=2).exists()
    with pytest.raises(ValueError):
        clusters.undo()


def test_sites_on_one_host_have_names_that_differ() -> None:
    urls = ["http://x.org/", "http://x.org/wiki/", "http://x.org/s?db=maps", "http://y.org:8080"]
    names = [site.name for site in sources.add(urls, NOW)]
    assert names == ["x.org", "x.org/wiki", "x.org/s?db=maps", "y.org:8080"]
