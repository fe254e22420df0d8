"""The inverted index over the words of pages: FTS5 without a copy of the text on SQLite, a tsvector on PostgreSQL."""

from django.db import migrations

SQLITE = "CREATE VIRTUAL TABLE focused_pagetext USING fts5(words, content='', tokenize=\"unicode61 remove_diacritics 0 tokenchars '+#'\")"
POSTGRESQL = (
    "CREATE TABLE focused_pagetext (rowid bigint PRIMARY KEY, words tsvector NOT NULL)",
    "CREATE INDEX pagetext_words ON focused_pagetext USING gin (words)",
)


def make(apps, editor):
    for statement in (SQLITE,) if editor.connection.vendor == "sqlite" else POSTGRESQL:
        editor.execute(statement)


def drop(apps, editor):
    editor.execute("DROP TABLE focused_pagetext")


class Migration(migrations.Migration):
    dependencies = [("focused", "0001_initial")]

    operations = [migrations.RunPython(make, drop)]
