"""Makes the fixtures of the upgrade's tests with version 0.1.0 itself.

Run as `python tests/upgrade/make_v010.py CHECKOUT`, where CHECKOUT is the tag v0.1.0 with an
environment in `.venv`. It writes into `tests/upgrade/v0.1.0`:

- `installation.tar.xz`: the data folder of an installation that 0.1.0's first start made (`data`),
  its database as an installation has it that ran all old migrations (`old_chain.sqlite3`), its
  backup by the command `backup` (`backup.tar`), and a dump of a PostgreSQL database of 0.1.0
  into which the backup was restored (`postgresql.sql`);
- `said.json.xz`: what 0.1.0 says of it (see `ask.py`) on SQLite and on PostgreSQL, the time at
  which it was asked, and the API token.
"""

from __future__ import annotations

import io
import json
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TARGET = HERE / "v0.1.0"
PASSWORD = "correct horse 1"  # noqa: S105 - of the fixture
KEPT = ("crawlmgr.sqlite3", "secret.key", "archive", "events", "exports")
OURS = ("crawlmgr", "forums", "focused", "deepweb")


def main() -> None:
    if len(sys.argv) == 2:
        make(Path(sys.argv[1]).resolve())
    else:
        fill()


# --- around the installation: processes of version 0.1.0


def make(checkout: Path) -> None:
    """Makes, asks and packs the installation."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        data = folder / "data"
        begin(checkout, data)
        token = run(checkout, data, str(HERE / "make_v010.py"), "fill", "-").splitlines()[-1]
        at = (datetime.now(UTC) + timedelta(minutes=7)).replace(second=0, microsecond=0)
        run(checkout, data, "manage.py", "backup", str(folder / "backup.tar"))
        tidy(data)
        old_chain(checkout, folder)
        told = {"at": at.isoformat(), "token": token}
        told["sqlite"] = ask(checkout, shutil.copytree(data, folder / "asked"), at, token)
        told["postgresql"] = postgresql(checkout, folder, at, token)
        pack(folder, told)


def begin(checkout: Path, data: Path) -> None:
    """Starts `serve` once on the empty folder: it makes the tables, administrator and a node."""
    sys.path.insert(0, str(checkout))
    from tests.serving import Serve

    own = {"CRAWLMGR_DATA": str(data), "CRAWLMGR_ADMIN_PASSWORD": PASSWORD}
    serve = Serve({**os.environ, **own}, data.with_name("serve.log"), root=checkout)
    serve.start()
    healthy = serve.healthy(120)
    serve.end()
    assert healthy, serve.told()


def run(checkout: Path, data: Path, *words: str, **environment: str) -> str:
    """Runs a Python program in the checkout and returns what it prints."""
    own = {"CRAWLMGR_DATA": str(data), "CRAWLMGR_MIN_FREE_MB": "0", **environment}
    words = (str(checkout / ".venv/bin/python"), *words)
    done = subprocess.run(  # noqa: S603 - our own programs
        words, cwd=checkout, env={**os.environ, **own}, stdout=subprocess.PIPE, text=True
    )
    if done.returncode:
        raise SystemExit(f"{words[1:]} failed")
    return done.stdout


def ask(checkout: Path, data: Path, at: datetime, token: str, **environment: str) -> Any:
    words = (str(HERE / "ask.py"), at.isoformat())
    return json.loads(run(checkout, data, *words, API_TOKEN=token, **environment))


def tidy(data: Path) -> None:
    """Leaves only what an installation cannot make anew."""
    for path in data.iterdir():
        if path.name not in KEPT:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def old_chain(checkout: Path, folder: Path) -> None:
    """Restores the backup into tables that the old migrations made one by one."""
    code = (
        "from tests import halfway; halfway.take_away(); from django.core.management import"
        " call_command; halfway.old_chain([(a, n) for a, n in {targets}]);"
        " call_command('migrate', verbosity=0)"
    )
    newest = [
        (app, sorted(f.stem for f in (checkout / app / "migrations").glob("0*.py"))[-1])
        for app in OURS
    ]
    data = folder / "chain"
    run(checkout, data, "manage.py", "migrate", "-v0")
    run(checkout, data, "manage.py", "shell", "-v0", "-c", code.format(targets=newest))
    run(checkout, data, "manage.py", "restore", str(folder / "backup.tar"))
    shutil.move(data / "crawlmgr.sqlite3", folder / "old_chain.sqlite3")


def postgresql(checkout: Path, folder: Path, at: datetime, token: str) -> Any:
    """Restores the backup into PostgreSQL, dumps that database, and asks it."""
    from crawlmgr.benches.postgresql import Server, find_binaries

    binaries = find_binaries()
    assert binaries is not None, "PostgreSQL is needed"
    server = Server(binaries)
    server.start()
    try:
        server.create("kept")
        url, data = server.url("kept"), folder / "restored"
        run(checkout, data, "manage.py", "restore", str(folder / "backup.tar"), DATABASE_URL=url)
        dump = (binaries / "pg_dump", "-h", server.folder, "-U", "crawlmgr", "-Ox", "kept")
        dump += ("--rows-per-insert=100",)
        with (folder / "postgresql.sql").open("w") as output:
            subprocess.run(dump, check=True, stdout=output)  # noqa: S603 - its own program
        return ask(checkout, data, at, token, DATABASE_URL=url)
    finally:
        server.stop()


def pack(folder: Path, told: dict[str, Any]) -> None:
    TARGET.mkdir(exist_ok=True)
    with tarfile.open(TARGET / "installation.tar.xz", "w:xz", preset=9) as tar:
        for name in ("data", "old_chain.sqlite3", "backup.tar", "postgresql.sql"):
            tar.add(folder / name, name)
    text = json.dumps(told, ensure_ascii=False, sort_keys=True)
    (TARGET / "said.json.xz").write_bytes(lzma.compress(text.encode(), preset=9))


# --- inside: fills the installation, in a process of version 0.1.0


def fill() -> None:
    """Fills an empty installation through commands and services, and prints its API token."""
    sys.path.insert(0, os.getcwd())
    os.environ["DJANGO_SETTINGS_MODULE"] = "crawlmgr.settings"
    import django

    django.setup()
    from tests.site.forum import ForumServer, LocalForum
    from tests.site.search import SearchServer, SearchSite

    people()
    forum = LocalForum(boards=3, threads=8, days=20)
    with ForumServer(forum) as members, SearchServer(SearchSite(books=60)) as books:
        visited(members.url, forum)
        with ForumServer(LocalForum(boards=2, threads=6, seed=11)) as guests:
            planned(guests.url)
            crawled(guests.url)
        harvested(books.url + "search")
    of_the_desk()
    print(command("token", "add", "reports", "--role", "operator")["token"])  # noqa: T201


def command(*words: str) -> Any:
    """Runs a command of version 0.1.0 and returns the JSON document that it prints."""
    from django.core.management import call_command

    with redirect_stdout(io.StringIO()) as said:
        call_command(*words, "--json")
    return json.loads(said.getvalue())


def now() -> datetime:
    return datetime.now(UTC)


def people() -> None:
    """A user of each role beside the administrator of the first start."""
    from django.contrib.auth.models import Group, User

    for role in ("viewer", "operator", "administrator"):
        user = User.objects.create_user(f"a-{role}", "", PASSWORD, is_staff=True)
        user.groups.set(Group.objects.filter(name=role))


def visited(url: str, forum: Any) -> None:
    """A forum for members, visited twice, with its plan, a log of its events and a simulation."""
    from crawlmgr.management import foreground
    from forums.models import Site
    from forums.services import event_logs, logins, simulations, sites

    web = ("--allow-private", "--delay", "0")
    site = command("forum", "add", url, "--timezone", "UTC", *web)["site"]
    forum.members_only = True
    login = {"user": "anna", "password": "pass word&1"}
    logins.save(site, "form", login, address=url + "login", now=now())
    command("forum", "crawl", str(site), "--history-days", "400", *web)
    number = forum.open(1, now()).number
    forum.reply(number, now())
    forum.reply(1, now())
    command("forum", "crawl", str(site), *web)
    secret = {"headers": {"X-Key": "hidden key"}, "cookies": {"way": "hidden way"}}
    secret["proxy"] = "http://user:word@127.0.0.1:3128"
    sites.update(site, {"settings": secret, "interval_seconds": 7200}, now=now())
    command("forum", "plan", str(site), "--visits-per-day", "30")
    log = event_logs.make_log(Site.objects.get(pk=site), now=now())
    setup = {"policies": ["era", "optimal"], "visits_per_board": [4], "history_days": 5}
    setup |= {"test_days": 3, "theta": 0.5, "min_events": 0, "timezone": "UTC", "bins": 24}
    setup |= {"reading": "cyclic", "target_hours": 24.0}
    made = simulations.start(log, "schedules", setup, now=now())
    foreground.work(made.run, "simulation")


def planned(url: str) -> None:
    """A second forum, whose plan has fixed times, with a doubt and a look at its index."""
    from forums.models import Look, OverviewSource
    from forums.services import doubts

    web = ("--allow-private", "--delay", "0")
    site = command("forum", "add", url, "--name", "Guests", "--timezone", "Asia/Shanghai", *web)
    number = site["site"]
    command("forum", "crawl", str(number), "--history-days", "30", *web)
    command("forum", "plan", str(number), "--policy", "optimal", "--visits-per-day", "12")
    doubts.note(number, "board_empty", "a board", {"rows": 0}, now())
    source = OverviewSource.objects.filter(site=number).order_by("pk").first()
    assert source is not None
    Look.objects.create(source=source, at=now(), cost=1.0, shown=4)


def crawled(url: str) -> None:
    """A topic with samples, a run over a small web, marks, a comparison and secret settings."""
    from crawlmgr.management import foreground
    from crawlmgr.models import WarcFile
    from crawlmgr.services import sealed_settings
    from focused.models import Topic, TopicPage
    from focused.services import comparisons, marks

    with tempfile.TemporaryDirectory() as folder:
        seeds, samples = Path(folder) / "seeds", Path(folder) / "samples"
        seeds.write_text(url)
        samples.mkdir()
        (samples / "one.txt").write_text("A lantern by the river, an old stone lantern in winter.")
        (samples / "two.txt").write_text(
            "The river market sells a lantern of silver and of copper."
        )
        words = ("--documents", str(samples), "--keywords", "lantern,river=0.5")
        command("topic", "add", "Lanterns", "--seeds", str(seeds), *words)
    web = ("--allow-private", "--delay", "0")
    command("topic", "crawl", "Lanterns", "--strategy", "adaptive", "--pages", "25", *web)
    graph = ("--graph", "database", "--pages", "6")
    command("topic", "crawl", "Lanterns", "--strategy", "breadth_first", *graph, *web)
    topic = Topic.objects.get()
    for place, page in enumerate(
        TopicPage.objects.filter(kind=TopicPage.Kind.PAGE).order_by("pk")[:4]
    ):
        marks.mark(page, place % 2 == 0)
    files = list(WarcFile.objects.filter(run__kind="topic").values_list("pk", flat=True))
    strategies: dict[str, dict[str, Any]] = {"best_first": {}, "breadth_first": {}}
    made = comparisons.start(topic, strategies, 10, files, now=now())
    foreground.work(made.run, "comparison")
    secret = {"headers": {"Authorization": "hidden topic key"}}
    topic.settings = sealed_settings.sealed({**topic.settings, **secret})
    topic.save()


def harvested(url: str) -> None:
    """A search site, found, in a cluster and harvested."""
    web = ("--allow-private", "--delay", "0")
    found = command("deepweb", "find", url, "--depth", "1", *web)
    form = next(one["form"] for one in found["forms"] if one["type"] == "search")
    words = ("--queries", "12", "--probes", "0", "--details", "10", "--seed-terms", "lantern")
    command("deepweb", "harvest", str(form), *words, *web)
    command("deepweb", "cluster")


def of_the_desk() -> None:
    """Schedules, exports, alarms and all that users set on the desk."""
    from django.contrib.auth.models import User

    from crawlmgr.models import Alarm, ListView
    from crawlmgr.services import alarm_channels, alarms, deletions, pruning, settings_history

    user = User.objects.get(username="admin")
    command("schedule", "every", "topic", "1", "24")
    command("schedule", "every", "deepweb-harvest", "1", "168")
    hours = ("--hours", "mon-fri 22:00-06:00", "--timezone", "Asia/Shanghai", "--jitter", "20")
    command("schedule", "hours", "topic", "1", *hours)
    command("exports", "add", "All posts", "posts", "--format", "csv", "--every-hours", "24")
    command("exports", "write", "1")
    command("exports", "address", "1")
    command("backups", "--every", "24", "--keep", "3")
    pruning.keep({"runs": 90}, now=now(), user=user)
    ListView.objects.create(user=user, list="forums", name="Mine", query="o=-posts&q=river")
    settings_history.note("topic", 1, {"threshold": 0.5}, {"threshold": 0.6}, now=now(), user=user)
    settings_history.keep_preset("topic:adaptive", "Careful", {"a": 1}, now=now(), user=user)
    deletions.ask("export", {99: "An export"}, now(), user)
    webhook = {"url": "https://hooks.example.org/services/hidden"}
    alarm_channels.add("Hook", "webhook", webhook, now=now(), quiet=(1320, 360), user=user)
    mail = {"host": "mail.example.org", "port": "25", "security": "none", "user": "desk"}
    mail |= {"password": "hidden word", "sender": "desk@example.org", "to": "a@example.org"}
    channel = alarm_channels.add("Mail", "mail", mail, now=now(), language="zh-hans", user=user)
    alarms.test(channel, now())
    Alarm.objects.create(cause="disk", rule="disk", text="disk", begun=now(), facts={"free": 1})
    empty_tables()


def empty_tables() -> None:
    """Writes the names of the tables that stayed empty to standard error."""
    from django.apps import apps

    ours = [model for model in apps.get_models() if model.__module__.split(".")[0] in OURS]
    left = [model._meta.label for model in ours if not model._base_manager.exists()]
    sys.stderr.write(f"Empty: {', '.join(left)}\n")


if __name__ == "__main__":
    main()
