"""The command `topic crawl`: crawls a topic while the user waits."""

from __future__ import annotations

import time
from argparse import BooleanOptionalAction
from functools import partial
from typing import Any

from django.conf import settings as django_settings
from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.conf import CrawlSettings
from crawlmgr.database import upgrade
from crawlmgr.frontier import frontier
from crawlmgr.management import foreground
from crawlmgr.management.base import Result, add_web_arguments
from crawlmgr.models import Run
from focused.models import Topic, TopicRun
from focused.parameters import GRAPHS, SOURCES, RunOptions, read_settings
from focused.run.scope import Scope
from focused.strategies.base import BUILT_IN, strategy_class
from focused.topic import topics


def add_arguments(parser: Any) -> None:
    parser.add_argument("name", help="the topic's name")
    parser.add_argument(
        "--strategy",
        help=f"one of {', '.join(BUILT_IN)}, or one of the settings (default: the topic's)",
    )
    parser.add_argument(
        "--pages", type=int, required=True, metavar="N", help="pages to ask for at the most"
    )
    parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a parameter of the strategy",
    )
    parser.add_argument(
        "--from", dest="source", choices=SOURCES, help="where pages come from (default net)"
    )
    parser.add_argument(
        "--graph", choices=GRAPHS, help="where the graph of addresses lives (default memory)"
    )
    parser.add_argument("--minutes", type=float, metavar="M", help="minutes at most")
    parser.add_argument("--relevant", type=int, metavar="N", help="stop after N relevant pages")
    parser.add_argument(
        "--ahead",
        type=int,
        metavar="N",
        help="addresses chosen before their pages have come (default: by --in-flight)",
    )
    parser.add_argument(
        "--history", type=int, metavar="RUN", help="an earlier run that the strategy learns from"
    )
    parser.add_argument(
        "--random-seed",
        type=int,
        metavar="N",
        help="beginning of the draws of strategies that draw (default 1)",
    )
    parser.add_argument("--hosts", metavar="A,B", help="stay on these hosts and their subdomains")
    parser.add_argument(
        "--paths", metavar="A,B", help="stay below these paths (* stands for anything)"
    )
    parser.add_argument("--max-depth", type=int, metavar="N", help="clicks from a seed at the most")
    parser.add_argument(
        "--sitemaps",
        action=BooleanOptionalAction,
        default=None,
        help="also read the sitemaps named by hosts with a seed or a page on topic (default: yes)",
    )
    add_web_arguments(parser)


def run(options: dict[str, Any]) -> Result:
    upgrade.ready()
    began = time.monotonic()
    run = foreground.work(_begin(options), options["name"], by_nodes=options["by_nodes"])
    row = TopicRun.objects.get(pk=run.pk)
    if not row.pages and not run.fetched and run.failed + run.refused:
        outcomes = (one for one in frontier.outcomes(run.pk) if one["reason"])
        reasons = ", ".join(f"{one['reason']} ({one['number']})" for one in outcomes)
        raise CommandError(f"No page could be read: {reasons or run.stopped_by}")
    document = {
        "run": run.pk,
        "state": run.state,
        "fetched": row.asked,
        **row.said,
        "stopped_by": run.stopped_by,
        "seconds": round(time.monotonic() - began, 3),
        "requests": run.requests,
        "duplicates": row.duplicates,
        "failed": row.failed,
        "pages": row.pages,
        "refused": row.refused,
        "strategy": run.parameters["strategy"],
    }
    text = f"{row.asked} asked for, {row.pages} fetched, {row.failed} failed"
    text += f", {row.duplicates} duplicates, {run.requests} requests"
    text += f", on topic: {in_words(row)}"
    text += f", {document['seconds']} s, ended by: {run.stopped_by}"
    return Result(document, text, missing=foreground.unfinished(run))


def in_words(row: TopicRun) -> str:
    """Returns the estimated number of pages on topic with the interval of their share, or the doubt
    for which there is none."""
    if row.harvest_rate is None:
        return str(row.said["harvest_doubt"])
    low, high = row.harvest["interval"]
    return f"{row.found} ({row.harvest_rate:.0%}, {low:.0%} to {high:.0%})"


def _begin(options: dict[str, Any]) -> Run:
    scope = {"hosts": options["hosts"], "paths": options["paths"], "depth": options["max_depth"]}
    names = (
        "pages",
        "source",
        "graph",
        "minutes",
        "relevant",
        "ahead",
        "history",
        "random_seed",
        "sitemaps",
    )
    run_options: dict[str, Any] = {name: options[name] for name in names}
    pairs = [text.partition("=") for text in options["param"]]
    parameters = {key.strip(): value.strip() for key, _, value in pairs}
    try:
        topic = Topic.objects.get(name=options["name"])
        chosen = {key: value for key, value in scope.items() if value is not None}
        _check(options["strategy"] or topic.strategy, parameters, run_options, chosen)
        if chosen:
            run_options["scope"] = {**topic.options.get("scope", {}), **chosen}
        settings = foreground.web_settings(
            options, [seed.url for seed in topic.seeds.all()], stored=_stored(topic)
        )
        create = partial(
            topics.crawl,
            topic,
            strategy=options["strategy"] or "",
            parameters=parameters,
            options=run_options,
            settings=settings,
            start=False,
        )
        return foreground.begun(
            lambda: create(now=SYSTEM.now()), "topic", by_nodes=options["by_nodes"]
        )
    except Topic.DoesNotExist:
        raise CommandError(f"There is no topic {options['name']}; `topic add` makes one.") from None
    except ValueError as error:
        raise CommandError(str(error)) from None


def _stored(topic: Topic) -> str:
    return CrawlSettings.from_mapping(topic.settings).allow_private


def _check(
    strategy: str, parameters: dict[str, Any], run_options: dict[str, Any], scope: dict[str, Any]
) -> None:
    """Checks the arguments of the command before anything is started. Raises a CommandError with
    exit status 2 if they are invalid."""
    try:
        read_settings(
            strategy_class(strategy, django_settings.TOPIC_STRATEGIES).Settings, parameters
        )
        read_settings(
            RunOptions, {name: value for name, value in run_options.items() if value is not None}
        )
        Scope.from_mapping(scope)
    except ValueError as error:
        raise CommandError(str(error), returncode=2) from None
