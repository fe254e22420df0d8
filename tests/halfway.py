"""Tests the way from release 0.1.0 to the current tables: drops all tables, creates those of 0.1.0
with some rows, and runs the later migrations. Run by `manage.py shell` on an installation of its
own; prints the results as JSON for `test_migrations.py`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from crawlmgr.management import database
from crawlmgr.management.database import OURS

RELEASED = [  # the newest migrations of release 0.1.0
    ("crawlmgr", "0001_initial"),
    ("forums", "0007_silence"),
    ("focused", "0004_ontology"),
    ("deepweb", "0002_without_html"),
]
PROXY = "http://user:word@10.0.0.1:3128"
SETTINGS = {"allow_private": "*", "proxy": PROXY}
WORDS = "rusty pump"


def tell() -> None:
    """Prints the tables of a new database, and tables and rows of a 0.1.0 database after `migrate`
    and after a further `migrate` without a record that the squashed migrations were applied."""
    told: dict[str, Any] = {"fresh": tables()}
    take_away()
    fill(old_chain(RELEASED))
    call_command("migrate", verbosity=0)
    told |= {"migrated": tables(), "rows": mended(), "recorded": recorded()}
    before = content()
    MigrationRecorder(connection).migration_qs.filter(
        app__in=OURS, name__contains="squashed"
    ).delete()
    database.ready_for_nodes()
    told["old names"] = recorded()
    call_command("migrate", verbosity=0)
    told |= {"again": tables(), "recorded again": recorded(), "untouched": content() == before}
    json.dump(told, sys.stdout)


def recorded() -> list[str]:
    """The names of the project's migrations that the database has recorded."""
    rows = MigrationRecorder(connection).migration_qs.filter(app__in=OURS)
    return sorted(f"{row.app}.{row.name}" for row in rows)


def take_away() -> None:
    """Drops the project's tables and deletes the records of their migrations."""
    with connection.constraint_checks_disabled(), connection.cursor() as cursor:
        for table in sorted(
            connection.introspection.table_names(cursor), key=lambda name: not name.endswith("text")
        ):
            if table.startswith(tuple(f"{app}_" for app in OURS)):
                cursor.execute(
                    f'DROP TABLE IF EXISTS "{table}"'
                    + ("" if connection.vendor == "sqlite" else " CASCADE")
                )
    MigrationRecorder(connection).migration_qs.filter(app__in=OURS).delete()


def old_chain(targets: list[tuple[str, str]]) -> Any:
    """Applies the migrations one by one, without the squashed ones; returns the app registry
    (models) after `targets`."""
    executor = MigrationExecutor(connection)
    executor.loader = MigrationLoader(connection, replace_migrations=False)
    return executor.migrate(targets).apps


def fill(apps: Any) -> None:
    """Inserts a row of each kind that a later migration changes."""

    def add(label: str, /, **values: Any) -> Any:
        return apps.get_model(label).objects.create(**values)

    now = timezone.now()
    host = add("crawlmgr.Host", key="http://10.0.0.9:80")
    site = add(
        "forums.Site",
        name="f",
        url="http://10.0.0.9/",
        url_hash=1,
        settings=SETTINGS,
        added=now,
        host=host,
    )
    add(
        "crawlmgr.Run",
        kind="forum",
        label="f",
        target=site.pk,
        parameters={"settings": SETTINGS},
        created=now,
    )
    topic = add("focused.Topic", name="t", settings=SETTINGS, added=now)
    add("focused.Seed", topic=topic, url="http://10.0.0.8/", url_hash=5)
    add("focused.SampleDocument", topic=topic, name="s", text="twelve chars", added=now)
    add("focused.Comparison", topic=topic, trails={"best_first": [1, 2]}, created=now)
    run = add("crawlmgr.Run", kind="topic", label="t", target=topic.pk, created=now)
    add("focused.TopicRun", run=run, topic=topic)
    page = add(
        "focused.TopicPage",
        run=run,
        step=1,
        mark=1,
        url="http://a.example/",
        url_hash=2,
        at=now,
        words=WORDS.encode(),
    )
    with connection.cursor() as cursor:
        words = "%s::tsvector" if connection.vendor == "postgresql" else "%s"
        cursor.execute(
            f"INSERT INTO focused_pagetext (rowid, words) VALUES (%s, {words})",  # noqa: S608
            [  # noqa: S608
                page.pk,
                WORDS,
            ],
        )
    source = add(
        "deepweb.Source",
        url="http://10.0.0.7/",
        key_hash=3,
        name="s",
        parameters=SETTINGS,
        created=now,
    )
    form = add(
        "deepweb.Form",
        source=source,
        signature="x",
        page_url="http://10.0.0.7/",
        action="/",
        method="get",
        type="search",
        found=now,
    )
    add("deepweb.Record", form=form, source=source, key_hash=4, text="an old pump", first_seen=now)


def mended() -> dict[str, Any]:
    """Returns what the migrated database contains of the inserted rows: settings, comparison,
    numbers of words and search results."""
    from crawlmgr.models import Run
    from crawlmgr.services.sealed_settings import opened
    from deepweb.models import Source
    from focused.models import ComparisonPart, SampleDocument, Topic
    from forums.models import Site

    stored = {
        "site": Site.objects.get().settings,
        "run": Run.objects.get(kind="forum").parameters["settings"],
        "topic": Topic.objects.get().settings,
        "source": Source.objects.get().parameters,
    }
    part, one = ComparisonPart.objects.get(), "SELECT COUNT(*) FROM "
    searches = {
        "sqlite": [
            "focused_pagetext WHERE focused_pagetext MATCH 'words : pump AND place : \"topic#1\"'",
            "deepweb_recordtext WHERE deepweb_recordtext MATCH 'pump'",
        ],
        "postgresql": [
            "focused_pagetext WHERE words @@ '''topic#1'' & pump'::tsquery",
            "deepweb_record WHERE upper(text) LIKE '%PUMP%'",
        ],
    }[connection.vendor]
    found = []
    with connection.cursor() as cursor:
        for search in searches:
            cursor.execute(one + search)
            found += cursor.fetchone()
    return {
        "allowed": {name: table["allow_private"] for name, table in stored.items()},
        "plain": [name for name, table in stored.items() if "word" in table["proxy"]],
        "proxies": [opened(table)["proxy"] for table in stored.values()],
        "private proxies": {name: table.get("proxy_private") for name, table in stored.items()},
        "part": [part.key, part.trail],
        "characters": SampleDocument.objects.get().characters,
        "found": found,
    }


def content() -> dict[str, list[str]]:
    """All rows of the project's tables."""
    with connection.cursor() as cursor:
        found = {}
        for table in connection.introspection.table_names(cursor):
            if table.startswith(tuple(f"{app}_" for app in OURS)):
                cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - our own tables
                found[table] = sorted(map(repr, cursor.fetchall()))
        return found


def tables() -> list[str]:
    """The project's tables with columns, constraints, indexes, triggers and sequences, independent
    of the order of columns, which differs if a migration has recreated an SQLite table."""
    asked = {"sqlite": _of_sqlite, "postgresql": _of_postgresql}[connection.vendor]
    return sorted(line for line in asked() if any(f"{app}_" in line for app in OURS))


def _of_sqlite() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT type, name, COALESCE(sql, '') FROM sqlite_master")
        return [
            f"{kind} {name}:"
            f" {' | '.join(sorted(_parts(sql))) if sql.startswith('CREATE TABLE') else sql}"
            for kind, name, sql in cursor.fetchall()
        ]


def _parts(sql: str) -> list[str]:
    """The columns and constraints of a CREATE TABLE statement."""
    parts, depth = [""], 0
    for sign in sql[sql.index("(") + 1 : sql.rindex(")")]:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def _of_postgresql() -> list[str]:
    asked = (
        (
            "SELECT 'column', c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod),"
            " a.attnotnull::text, a.attidentity::text, COALESCE(pg_get_expr(d.adbin, d.adrelid),"
            " '') FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid AND c.relkind = 'r'"
            " LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE"
            " a.attnum > 0 AND NOT a.attisdropped AND c.relnamespace = 'public'::regnamespace"
        ),
        (
            "SELECT 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM"
            " pg_constraint WHERE connamespace = 'public'::regnamespace"
        ),
        "SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
        (
            "SELECT 'sequence', sequencename, data_type::text, start_value::text,"
            " increment_by::text, max_value::text FROM pg_sequences"
        ),
        "SELECT 'trigger', tgrelid::regclass::text, tgname FROM pg_trigger WHERE NOT tgisinternal",
    )
    with connection.cursor() as cursor:
        lines = []
        for query in asked:
            cursor.execute(query)
            lines += [" ".join(row) for row in cursor.fetchall()]
        return lines
