"""The index of words names the run and the topic of each page too, so that a search is narrowed inside it."""

import zlib

from django.db import migrations

SQLITE = "CREATE VIRTUAL TABLE focused_pagetext USING fts5(words, place, content='', tokenize=\"unicode61 remove_diacritics 0 tokenchars '+#'\")"
SQLITE_BEFORE = "CREATE VIRTUAL TABLE focused_pagetext USING fts5(words, content='', tokenize=\"unicode61 remove_diacritics 0 tokenchars '+#'\")"
POSTGRESQL = """UPDATE focused_pagetext x SET words = x.words || array_to_tsvector(array_remove(ARRAY['run#' || r.run_id, 'topic#' || r.topic_id], NULL))
FROM focused_topicpage t JOIN focused_topicrun r ON r.run_id = t.run_id WHERE t.id = x.rowid"""
PAGES = """SELECT t.id, t.words, t.packed, t.run_id, r.topic_id FROM focused_topicpage t JOIN focused_topicrun r ON r.run_id = t.run_id
WHERE t.kind = 0 AND t.id > %s ORDER BY t.id LIMIT 500"""
MOST_WORDS = 16_000


def _fill(editor, put):
    """Every page's words once more, some at a time: nothing is read while something is written."""
    last = -1
    with editor.connection.cursor() as cursor:
        while True:
            cursor.execute(PAGES, [last])
            rows = cursor.fetchall()
            if not rows:
                return
            for pk, words, packed, run, topic in rows:
                words = bytes(words or b"")
                text = (zlib.decompress(words) if packed else words).decode("utf-8")
                put(cursor, pk, " ".join(text.split(" ")[:MOST_WORDS]), run, topic)
            last = rows[-1][0]


def _with_place(cursor, pk, text, run, topic):
    place = f"run#{run}" if topic is None else f"run#{run} topic#{topic}"
    cursor.execute("INSERT INTO focused_pagetext (rowid, words, place) VALUES (%s, %s, %s)", [pk, text, place])


def _without_place(cursor, pk, text, run, topic):
    cursor.execute("INSERT INTO focused_pagetext (rowid, words) VALUES (%s, %s)", [pk, text])


def name_places(apps, editor):
    if editor.connection.vendor != "sqlite":
        editor.execute(POSTGRESQL)
        return
    editor.execute("DROP TABLE focused_pagetext")
    editor.execute(SQLITE)
    _fill(editor, _with_place)


def forget_places(apps, editor):
    if editor.connection.vendor != "sqlite":
        return  # lexemes that nobody asks for do no harm
    editor.execute("DROP TABLE focused_pagetext")
    editor.execute(SQLITE_BEFORE)
    _fill(editor, _without_place)


class Migration(migrations.Migration):
    dependencies = [("focused", "0005_named_private_hosts")]

    operations = [migrations.RunPython(name_places, forget_places)]
