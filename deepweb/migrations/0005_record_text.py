"""An index of the parts of words of records: FTS5 with trigrams kept by triggers on SQLite, pg_trgm on PostgreSQL where it may be had."""

from django.db import DatabaseError, migrations, transaction

SQLITE = (
    "CREATE VIRTUAL TABLE deepweb_recordtext USING fts5(text, content='deepweb_record', content_rowid='id', tokenize='trigram')",
    """CREATE TRIGGER deepweb_recordtext_new AFTER INSERT ON deepweb_record BEGIN
    INSERT INTO deepweb_recordtext (rowid, text) VALUES (new.id, new.text); END""",
    """CREATE TRIGGER deepweb_recordtext_gone AFTER DELETE ON deepweb_record BEGIN
    INSERT INTO deepweb_recordtext (deepweb_recordtext, rowid, text) VALUES ('delete', old.id, old.text); END""",
    """CREATE TRIGGER deepweb_recordtext_changed AFTER UPDATE OF text ON deepweb_record WHEN old.text <> new.text BEGIN
    INSERT INTO deepweb_recordtext (deepweb_recordtext, rowid, text) VALUES ('delete', old.id, old.text);
    INSERT INTO deepweb_recordtext (rowid, text) VALUES (new.id, new.text); END""",
    "INSERT INTO deepweb_recordtext (deepweb_recordtext) VALUES ('rebuild')",
)
SQLITE_BACK = (
    "DROP TRIGGER deepweb_recordtext_new", "DROP TRIGGER deepweb_recordtext_gone", "DROP TRIGGER deepweb_recordtext_changed",
    "DROP TABLE deepweb_recordtext",
)
POSTGRESQL = (
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    "CREATE INDEX record_text ON deepweb_record USING gin (upper(text) gin_trgm_ops)",
)


def make(apps, editor):
    if editor.connection.vendor == "sqlite":
        for statement in SQLITE:
            editor.execute(statement)
        return
    try:
        with transaction.atomic(using=editor.connection.alias):
            for statement in POSTGRESQL:
                editor.execute(statement)
    except DatabaseError:  # a server without the extension, or a user who may not make one: records are searched without an index
        return


def drop(apps, editor):
    if editor.connection.vendor != "sqlite":
        editor.execute("DROP INDEX IF EXISTS record_text")
        return
    for statement in SQLITE_BACK:
        editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("deepweb", "0004_learned_roles")]

    operations = [migrations.RunPython(make, drop)]
