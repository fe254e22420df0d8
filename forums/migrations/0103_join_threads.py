"""Joins threads that version 0.1.0 stored twice, under the address of one of their posts or of a
moved thread that leads to them, and removes session ids from stored addresses.

Works in short transactions; a migration that was interrupted begins again and finds the rest."""

from django.db import migrations
from django.utils import timezone

from crawlmgr.web.url import UrlError, canonical, url_hash, without_session
from forums.reading import names_post, post_key, thread_key
from forums.visits import moved_addresses

AT_A_TIME = 500
INFO = 20  # level of the event


def join(apps, schema_editor):
    for site in apps.get_model("forums", "Site").objects.order_by("pk"):
        for model, names in (
            ("Board", ("url",)),
            ("Thread", ("url", "last_page_url", "previous_page_url")),
        ):
            remove_sessions(apps.get_model("forums", model).objects.filter(site_id=site.pk), names)
        threads = apps.get_model("forums", "Thread").objects.filter(site_id=site.pk)
        last = 0
        while some := list(threads.filter(pk__gt=last).order_by("pk")[:AT_A_TIME]):
            last = some[-1].pk
            for thread, other in [*by_posts(apps, some), *by_redirects(apps, some)]:
                other = threads.filter(pk=other.pk).first()
                thread = threads.filter(pk=thread.pk).first()
                if thread is not None and other is not None:
                    moved_addresses.join(thread, other)
        number = site.aliases.count()
        if number:
            apps.get_model("crawlmgr", "Event").objects.create(
                at=timezone.now(),
                level=INFO,
                code="threads_joined",
                text=f"{site.name}: {number} threads that were stored twice are joined",
            )


def remove_sessions(rows, names):
    for name in names:
        for pk, url in rows.filter(**{f"{name}__contains": "sid="}).values_list("pk", name):
            plain = without_session(url)
            if plain != url:
                rows.filter(pk=pk).update(**{name: plain})


def by_posts(apps, some):
    """Yields (thread, double): threads that have the post whose address the double has."""
    doubles = {post_key(one.url): one for one in some if names_post(one.url)}
    if not doubles:
        return
    posts = apps.get_model("forums", "Post").objects.filter(
        thread__site_id=some[0].site_id,
        key__in=[one for key in doubles for one in moved_addresses.stored_keys(key)],
    )
    for post in posts.select_related("thread"):
        double = doubles.get(post_key(post.url))
        if double is not None and double.pk != post.thread_id and not names_post(post.thread.url):
            yield post.thread, double


def by_redirects(apps, some):
    """Yields (thread, double): threads to whose address the double's was redirected, and whose
    title is that of the double or which has a post of it."""
    own = {}
    for one in some:
        try:
            own[url_hash(canonical(one.url))] = one
        except UrlError:
            continue
    pages = apps.get_model("crawlmgr", "Page").objects.filter(url_hash__in=list(own), status=200)
    for digest, final in pages.exclude(final_url="").values_list("url_hash", "final_url"):
        double, key = own[digest], thread_key(final)
        if key == double.key or thread_key(double.url) != double.key:
            continue
        thread = type(double).objects.filter(site_id=double.site_id, key=key).first()
        if thread is not None and moved_addresses.are_one(thread, double):
            yield thread, double


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("forums", "0102_alias"), ("crawlmgr", "0100_initial")]

    operations = [migrations.RunPython(join, migrations.RunPython.noop)]
