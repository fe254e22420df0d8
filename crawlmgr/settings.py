"""All settings. Values that differ between installations come from environment variables; an
invalid one ends the process."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _

from crawlmgr import environment, installation, logs
from crawlmgr.web.http.fetch_pool import share_memory

# called before a library starts threads: the first thread fixes the number of malloc arenas
share_memory()

BASE_DIR = installation.BASE
DATA_DIR = environment.data_folder(installation.default_data())
ARCHIVE_DIR = DATA_DIR / "archive"
# s3://bucket/folder to which completed WARC files are moved; "" to keep them in ARCHIVE_DIR
ARCHIVE_STORE = environment.store("CRAWLMGR_ARCHIVE_STORE")
ARCHIVE_S3_ENDPOINT = environment.endpoint("CRAWLMGR_S3_ENDPOINT")
EXPORT_DIR = DATA_DIR / "exports"
BACKUP_DIR = environment.folder("CRAWLMGR_BACKUPS", DATA_DIR / "backups")
LOG_DIR = DATA_DIR / "logs"
EVENTS_DIR = DATA_DIR / "events"

SECRET_KEY, KEY_PROBLEM = environment.secret_key(DATA_DIR)
DEBUG = False
ALLOWED_HOSTS = environment.words("CRAWLMGR_ALLOWED_HOSTS", ("127.0.0.1", "localhost", "[::1]"))
CONTACT = environment.contact()
METRICS_TOKEN = environment.token("CRAWLMGR_METRICS_TOKEN")
API_RATE = (  # API requests allowed per minute for each token
    f"{environment.whole('CRAWLMGR_API_RATE', 600, 1, 1_000_000)}/m"
)

# --- crawling --- One task works on one slice of a run. The times must satisfy: slice + the longest
# fetch < timeout < retry, and retry > timeout x (2 + queue_limit / workers), because django-q2
# counts retry from the moment a task is taken from the table of queued tasks, not from the moment
# it starts.
WORKERS = environment.whole("CRAWLMGR_WORKERS", 4, 1, 64)
SLICE_SECONDS = environment.number("CRAWLMGR_SLICE_SECONDS", 20, 0.2, 600)
LEASE_SECONDS = environment.number("CRAWLMGR_LEASE_SECONDS", 90, 1, 3600)
TASK_TIMEOUT_SECONDS = environment.whole("CRAWLMGR_TIMEOUT_SECONDS", 90, 2, 3600)
RETRY_SECONDS = environment.whole("CRAWLMGR_RETRY_SECONDS", 300, 3, 20000)
TICK_SECONDS = environment.number("CRAWLMGR_TICK_SECONDS", 5, 0.5, 60)
STALL_SECONDS = environment.number("CRAWLMGR_STALL_SECONDS", 60, 2, 3600)
# whether forum readings are corrected by consistency checks between pages (see the glossary:
# teacher); 0 only to measure the benefit of these checks
FORUM_TEACHER = bool(environment.whole("CRAWLMGR_FORUM_TEACHER", 1, 0, 1))
MIN_FREE_BYTES = int(environment.number("CRAWLMGR_MIN_FREE_MB", 500, 0, 1e7)) * 1_000_000
KEEP_DAYS = {  # by kind of stored history: days for which it is kept, 0 for ever
    "events": environment.whole("CRAWLMGR_KEEP_EVENTS_DAYS", 90, 0, 36_500),
    "failed_logins": 1,
    "tasks": environment.whole("CRAWLMGR_KEEP_TASKS_DAYS", 30, 0, 36_500),
    "nodes": environment.whole("CRAWLMGR_KEEP_NODES_DAYS", 30, 0, 36_500),
    "hours": environment.whole("CRAWLMGR_KEEP_HOURS_DAYS", 0, 0, 36_500),
    "addresses": environment.whole("CRAWLMGR_KEEP_ADDRESSES_DAYS", 0, 0, 36_500),
    "fetches": environment.whole("CRAWLMGR_KEEP_FETCHES_DAYS", 0, 0, 36_500),
    "runs": environment.whole("CRAWLMGR_KEEP_RUNS_DAYS", 0, 0, 36_500),
    "archive": environment.whole("CRAWLMGR_KEEP_ARCHIVE_DAYS", 0, 0, 36_500),
}  # values set in the web interface override these
RUNS_WITH_SEEDS = ["topic", "deepweb-find"]
"""Kinds of runs whose report tells what became of their first addresses."""
# kinds of runs that are never pruned, because results of crawls belong to them
RUNS_WITH_RESULTS = ("topic", "deepweb-find", "deepweb-harvest")

CRAWLERS = {
    "forum": "forums.crawler.ForumCrawler",
    "forum-discovery": "forums.discovery_crawler.DiscoveryCrawler",
    "topic": "focused.crawler.TopicCrawler",
    "topic-samples": "focused.topic.samples.SampleCrawler",
    "deepweb-find": "deepweb.crawler.FormFinder",
    "deepweb-harvest": "deepweb.crawler.HarvestCrawler",
}
JOBS = {  # for each kind of run that sends no web requests: the class that carries out such runs
    "export": "crawlmgr.exports.saved_exports.ExportJob",
    "backup": "crawlmgr.upkeep.backups.BackupJob",
    "simulation": "forums.simulation.simulations.SimulationJob",
    "topic-texts": "focused.topic.readings.TextsJob",
    "topic-compare": "focused.lab.stored_comparisons.ComparisonJob",
    "forum-reread": "forums.sites.rereads.RereadJob",
    "forum-removal": "forums.sites.sites.SiteRemoval",
    "topic-removal": "focused.topic.topics.TopicRemoval",
    "deepweb-removal": "deepweb.forms.sources.SourceRemoval",
}
CRAWL_DISPATCHERS = [
    "forums.dispatch.start_due",
    "focused.topic.topics.start_due",
    "deepweb.harvests.start_due",
]
"""Dotted names of functions that start due crawls; they are not called while all crawling is
paused."""
DISPATCHERS = [
    *CRAWL_DISPATCHERS,
    "crawlmgr.exports.saved_exports.start_due",
    "crawlmgr.upkeep.backups.start_due",
    "crawlmgr.upkeep.backups.sweep",
    "crawlmgr.alarms.alarms.dispatch",
    "crawlmgr.upkeep.removals.carry_out",
]
# by kind of run: function that computes an item's next start after a change of its working hours;
# called with the item's key, the hours and the time
TIMED = {
    "forum": "forums.plans.plans.retime",
    "topic": "focused.topic.topics.retime",
    "export": "crawlmgr.exports.saved_exports.retime",
    "backup": "crawlmgr.upkeep.backups.retime",
    "deepweb-harvest": "deepweb.harvests.retime",
}
# functions that return scheduled items; called with the time and the maximum number of items
RECURRING = [
    "crawlmgr.schedule.recurring.own",
    "crawlmgr.upkeep.backups.entries",
    "forums.dispatch.entries",
    "focused.topic.topics.entries",
    "deepweb.harvests.entries",
]
# For each kind of run, the function that sets how often an item is started. It is called with the
# item's key, the interval in seconds (None: no schedule) and the current time.
REPEATED = {
    "export": "crawlmgr.exports.saved_exports.repeat",
    "backup": "crawlmgr.upkeep.backups.repeat",
    "topic": "focused.topic.topics.repeat_by_key",
    "deepweb-harvest": "deepweb.harvests.repeat_by_key",
}
# For each kind of item that can be deleted from a list of the web interface: the function that
# deletes one item. It is called with the item's primary key, the time and the user, and does
# nothing if the item no longer exists.
DELETABLE = {
    "forum": "forums.sites.sites.start_removal_by_key",
    "export": "crawlmgr.exports.saved_exports.remove_by_key",
    "topic": "focused.topic.topics.start_removal_by_key",
    "source": "deepweb.forms.sources.start_removal_by_key",
}
ALARM_CAUSES = ["crawlmgr.alarms.causes.shared", "forums.sites.alarms.causes"]
WATCHERS = ["crawlmgr.frontier.hosts.cut_times", "forums.sites.alarms.watch"]
STORED_TIMES = {
    # stored times on which later work depends, by table, and the days by which the program's own
    # rules can put them ahead of the present: a later one comes from a clock that was wrong
    "crawlmgr.Run": {"lease_until": 1, "waiting_until": 32, "started": 1, "finished": 1},
    "crawlmgr.Node": {"heartbeat": 1, "dispatched": 1},
    "crawlmgr.Export": {"next_at": 367},
    "crawlmgr.BackupPlan": {"next_at": 367},
    "forums.Board": {
        **dict.fromkeys(("next_visit", "next_until", "rests_until"), 32),
        **dict.fromkeys(("last_visit", "complete_at", "watched_since", "read_since"), 1),
    },
    "forums.OverviewSource": {"rests_until": 32, "read_at": 1},
    "forums.Visit": {"started": 1, "finished": 1},
    "focused.Topic": {"next_run": 367},
    "deepweb.Form": {"next_harvest": 367},
}
DEMOS = {  # parts of the command `demo`, in the order in which they are added
    "forum": "forums.commands.demo.ForumDemo",
    "topic": "focused.commands.demo.TopicDemo",
    "deepweb": "deepweb.commands.demo.DeepwebDemo",
}
EXPORTS = [
    "crawlmgr.exports.exports.TABLES",
    "forums.exports.TABLES",
    "deepweb.exports.TABLES",
]
# functions that rebuild tables computed from others; such tables are left out of backups and
# rebuilt after a restore
DERIVED = ["focused.run.search.rebuild"]
SEALED = [  # columns with values that `services.vault` encrypted
    "crawlmgr.AlarmChannel.sealed",
    "forums.SiteLogin.secret",
    "forums.SiteLogin.session",
    "forums.Site.settings",
    "focused.Topic.settings",
]
KEPT_FOLDERS = [
    "events"
]  # folders in the data folder with files that database rows refer to; backed up like the archive
TOPIC_STRATEGIES: dict[
    str, str
] = {}  # crawl strategies outside focused/strategies: name -> dotted name of the class
# functions that process a topic's page, in this order, before its relevance is computed; called
# outside any transaction
TOPIC_READ_STAGES = ["focused.run.parse.clean", "focused.run.parse.convert"]
TOPIC_STORE_STAGES = [
    "focused.run.stored_pages.judge",
    "focused.run.stored_pages.keep",
    "focused.run.search.index",
]

BROKER_URL = environment.broker(
    "CRAWLMGR_BROKER_URL"
)  # address of Redis or Valkey; "" keeps the queue of tasks in the database
QUEUE_STORE = "crawlmgr.workers.queue_redis" if BROKER_URL else "crawlmgr.workers.queue_rows"
Q_CLUSTER: dict[str, Any] = {
    "name": "crawl",
    "label": _("Queue"),
    "orm": "default",
    "broker_class": f"{QUEUE_STORE}.Broker",
    "workers": WORKERS,
    "queue_limit": WORKERS,
    "bulk": 1,
    "timeout": TASK_TIMEOUT_SECONDS,
    "retry": RETRY_SECONDS,
    "max_attempts": 3,
    "ack_failures": True,
    "save_limit": -1,
    "recycle": 100,
    "max_rss": 900_000,
    "poll": 0.2,
    "guard_cycle": 1,
    "catch_up": False,
    "ALT_CLUSTERS": {},
}

# --- Django
# --------------------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "unfold.contrib.filters",
    "crawlmgr.admin.apps.DeskConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "axes",
    "crawlmgr.apps.CrawlmgrConfig",  # must come before django-q2, whose import it prepares
    "django_q",
    "forums.apps.ForumsConfig",
    "focused.apps.FocusedConfig",
    "deepweb.apps.DeepwebConfig",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "crawlmgr.admin.errors.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "crawlmgr.admin.errors.BoundMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "crawlmgr.admin.errors.NoNulMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "crawlmgr.admin.errors.ReusedQueriesMiddleware",
]

ROOT_URLCONF = "crawlmgr.urls"
WSGI_APPLICATION = "crawlmgr.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [installation.TEMPLATES],
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    [
                        "crawlmgr.admin.tags.Loader",
                        "django.template.loaders.app_directories.Loader",
                    ],
                ),
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "libraries": {"desk": "crawlmgr.admin.tags", "topics": "focused.admin.titles"},
        },
    }
]

DATABASES = {"default": environment.database(DATA_DIR)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# django-q2 reports the state of its clusters through the cache, so all processes must share it
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.filebased.FileBasedCache",
        "LOCATION": str(DATA_DIR / "cache"),
    }
}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "/admin/"
# Failed logins: django-axes counts them by user name and IP address; the login form
# (crawlmgr.access.login) asks django-axes and refuses further tries.
AXES_FAILURE_LIMIT = 5
LOGIN_FAILURES_OF_ADDRESS = (
    30  # failed logins from one IP address, over all user names, after which it is refused
)
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_CLIENT_IP_CALLABLE = "crawlmgr.access.login.client_address"
AXES_RESET_ON_SUCCESS = True
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
# these checks are silenced: they demand the middleware and backend of django-axes, whose responses
# would replace the login form
SILENCED_SYSTEM_CHECKS = ["axes.W002", "axes.W003"]
# whether a proxy in front of the web server provides TLS and sets X-Forwarded-Proto and
# X-Forwarded-For
BEHIND_TLS = environment.switch("CRAWLMGR_TLS")
if BEHIND_TLS:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 365 * 86400
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = True
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "crawlmgr" / "locale", BASE_DIR / "crawlmgr" / "locale" / "libraries"]
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATICFILES_DIRS = [installation.STATIC]
STATIC_ROOT = DATA_DIR / "static"
MAX_UPLOAD_BYTES = 125_000_000  # maximum size of a request's body, including uploaded files
CSRF_FAILURE_VIEW = "crawlmgr.admin.errors.forged"
FILE_UPLOAD_PERMISSIONS = 0o600  # also applies to files copied by collectstatic
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

LOG_FETCHES = environment.switch("CRAWLMGR_LOG_FETCHES")  # log each fetch of a crawl at level info
LOG_REQUESTS = environment.switch("CRAWLMGR_LOG_REQUESTS")  # log each request to the web server
LOGGING = logs.configuration(
    LOG_DIR,
    level=environment.choice(
        "CRAWLMGR_LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
    ),
    form=environment.choice("CRAWLMGR_LOG_FORMAT", "TEXT", ("TEXT", "JSON")),
    to=environment.choice("CRAWLMGR_LOG_TO", "FILE", ("FILE", "STDERR")),
    most_bytes=int(environment.number("CRAWLMGR_LOG_MB", 10, 0.01, 10_000) * 1_000_000),
    secrets=[
        SECRET_KEY,
        METRICS_TOKEN,
        str(DATABASES["default"].get("PASSWORD", "")),
        environment.admin_password(),
        environment.password_of(BROKER_URL),
    ],
)

_BLUE = {  # shades of the accent colour of the web interface
    "50": "oklch(97% .014 254.6)",
    "100": "oklch(93.2% .032 255.6)",
    "200": "oklch(88.2% .059 254.1)",
    "300": "oklch(80.9% .105 251.8)",
    "400": "oklch(70.7% .165 254.6)",
    "500": "oklch(62.3% .19 259.8)",
    "600": "oklch(54.6% .2 262.9)",
    "700": "oklch(48.8% .2 264.4)",
    "800": "oklch(42.4% .18 265.6)",
    "900": "oklch(37.9% .146 265.5)",
    "950": "oklch(28.2% .091 267.9)",
}
UNFOLD: dict[str, Any] = {
    "SITE_TITLE": _("Crawl manager"),
    "SITE_HEADER": _("Crawl manager"),
    "SITE_SYMBOL": "travel_explore",
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("desk.svg")}
    ],
    "SITE_URL": None,
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_LANGUAGES": True,
    "ACCOUNT": {
        "navigation": [
            {"title": _("Sessions"), "link": reverse_lazy("admin:sessions")},
            {"title": _("Change password"), "link": reverse_lazy("admin:password_change")},
        ]
    },
    "COLORS": {"primary": _BLUE},
    "LOGIN": {"redirect_after": lambda request: reverse_lazy("admin:index")},
    "STYLES": [lambda request: static("desk.css")],
    "SCRIPTS": [
        lambda request: static("desk.js"),
        lambda request: static("keys.js"),
        lambda request: static("tables.js"),
        lambda request: static("chart-tools.js"),
        lambda request: static("pane.js"),
        lambda request: static("tabs.js"),
    ],
    "SIDEBAR": {
        "show_search": False,
        "show_all_applications": False,
        "navigation": "crawlmgr.admin.tree.navigation",
    },
}
