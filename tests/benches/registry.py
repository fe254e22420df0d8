"""The benchmarks of `manage.py bench`: module and help text by name. Each module has
`add_arguments(parser)`, `run(options)`, which returns what `--json` prints, and `table(result)`."""

BENCHES = {
    "desk": (
        "tests.benches.desk.desk",
        "CPU time of every page of the desk with years of data, compared with 1/100 of the "
        "data (SQLite; generates and keeps the data)",
    ),
    "exports": (
        "tests.benches.forums.exports",
        "memory and CPU of an export of two million posts, or of their pages as WARC, in each"
        " format, beside its own idle (SQLite)",
    ),
    "fetch": (
        "tests.benches.fetching.fetch",
        "pages per CPU second (fetching, links, text, storage) compared with Scrapy",
    ),
    "hostile": (
        "tests.benches.hostile.hostile",
        "CPU time of parsing hostile pages as their size doubles",
    ),
    "idle": (
        "tests.benches.soak.idle",
        "processes, memory and CPU of an idle installation, of its web server under requests,"
        " and of commands that only print",
    ),
    "soak": (
        "tests.benches.soak.soak",
        "crawls of a forum, a topic and a form under SIGKILL, SIGSTOP and database restarts, "
        "while clients read the desk: counts lost and duplicate data",
    ),
    "line": (
        "tests.benches.fetching.line",
        "pages per second over many hosts with many requests in flight, compared with Scrapy",
    ),
    "nodes": (
        "tests.benches.nodes.nodes",
        "speed of real nodes together compared with each alone, and the database cost of a "
        "page; --simulate: up to 1,000 nodes of unequal speed",
    ),
    "pages": (
        "tests.benches.forums.pages",
        "opening a forum's pages with 2,000 and with 200,000 posts, as a ratio",
    ),
    "planning": (
        "tests.benches.forums.planning",
        "planning 100, 1,000 and 10,000 boards: a timetable, and a day of the closed loop",
    ),
    "read": (
        "tests.benches.forums.read",
        "CPU time of reading saved forum pages (list.jsonl with file and base_url a line), or"
        " with --leave-out how right it is.",
    ),
    "replay": (
        "tests.benches.forums.replay",
        "dispatcher and crawler over a log replayed on loopback with an injected clock: "
        "measured delays beside simulated ones",
    ),
    "schedules": (
        "tests.benches.forums.schedules",
        "delay of every policy against era on event logs (board,thread,kind,ts): the "
        "reference table, with a paired bootstrap",
    ),
    "teacher": (
        "tests.benches.forums.teacher",
        "the same sites read with the teacher off and on, against their truth",
    ),
    "forms": (
        "tests.benches.forms.forms",
        "form types by cross-validation over domains, with the rules alone beside it (--data:"
        " folder with forms.jsonl.gz)",
    ),
    "selection": (
        "tests.benches.forms.selection",
        "query policies (paper, frequency, fresh, random, greedy oracle) and size estimates "
        "on synthetic hidden databases",
    ),
    "harvest": (
        "tests.benches.forms.harvest",
        "harvests a form whose database is known: coverage by policy, size estimates, records"
        " field by field",
    ),
    "strategies": (
        "tests.benches.topics.strategies",
        "strategy × topic: targets found at 10, 25 and 50 % of the pages (--data: folder with"
        " packs of recorded sites)",
    ),
    "choosing": (
        "tests.benches.topics.choosing",
        "cost a page of every strategy beside best first: all a crawl does for it, and "
        "choosing alone (--data: folder of packs)",
    ),
    "relevance": (
        "tests.benches.topics.relevance",
        "AUC of the page score and of the judge that learns, topic by topic (--data: folder "
        "with packs of recorded sites)",
    ),
    "frontier": (
        "tests.benches.topics.frontier",
        "pages a CPU-second of the whole loop with few and many URLs waiting, and bytes per URL",
    ),
    "laboratory": (
        "tests.benches.topics.laboratory",
        "every strategy over several draws of a recorded web: seconds, memory, and the "
        "figures after a kill (--data: packs)",
    ),
    "focused": (
        "tests.benches.topics.focused",
        "pages per CPU-second of a live topic crawl, beside Scrapy with the same links and scoring",
    ),
}
