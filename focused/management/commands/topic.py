"""`manage.py topic` with its subcommands add, crawl, compare, strategies, pack and train-prior."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crawlmgr.management.base import Imported, SubcommandCommand
from focused.parameters import CONTEXTS


class Compare(Imported):
    """Arguments of the command `topic compare`, which compares strategies over one archive with the
    same seeds and number of fetches."""

    help = (
        "run strategies over the same archive with the same seeds and number of fetches, no "
        "network; --trail FILE.csv writes every fetch of every strategy: what was fetched from "
        "where, how similar, whether a target"
    )
    module = "focused.commands.compare"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("name", help="the topic's name")
        parser.add_argument(
            "--strategies",
            required=True,
            help="names by comma; with parameters: shark:gamma=0.2:depth=5",
        )
        parser.add_argument(
            "--pages", type=int, required=True, metavar="N", help="fetches for each strategy"
        )
        parser.add_argument(
            "--archive", type=Path, nargs="+", required=True, metavar="FILE.warc.gz"
        )
        parser.add_argument(
            "--labels", type=Path, metavar="FILE.csv", help="the judge: url,label[,role][,depth]"
        )
        parser.add_argument("--random-seed", type=int, default=1)
        parser.add_argument(
            "--draws",
            type=int,
            default=1,
            help="draws of samples: the topic's own, then others by the labels",
        )
        parser.add_argument(
            "--repeats",
            type=int,
            default=1,
            help="runs with other random numbers and ties in random order",
        )
        parser.add_argument(
            "--random-ties", action="store_true", help="take URLs of equal priority in random order"
        )
        parser.add_argument(
            "--growing",
            action="store_true",
            help="similarity curve weighed by what each run had fetched so far",
        )
        parser.add_argument(
            "--checkpoints", type=int, default=20, help="points of each curve (default 20)"
        )
        trail = (
            "write a row a fetch (what from where, how similar, its label), to read why one is"
            " ahead"
        )
        parser.add_argument("--trail", type=Path, metavar="FILE.csv", help=trail)
        parser.add_argument(
            "--context",
            choices=CONTEXTS,
            default="plain",
            help="how words around a link are weighed",
        )
        parser.add_argument(
            "--main-text",
            action="store_true",
            help="judge pages by their main text, menus left out",
        )
        files = parser.add_argument_group(
            "the topic from files, in place of the one that was added"
        )
        files.add_argument("--seeds", type=Path, metavar="FILE", help="one URL a line")
        files.add_argument(
            "--documents", type=Path, metavar="FILE_OR_FOLDER", help="samples of the topic"
        )
        files.add_argument(
            "--keywords", default="", metavar='"a,b=0.5"', help="words of the topic, with weights"
        )


class TrainPrior(Imported):
    """The command `topic train-prior`: trains the weights with which the strategy `adaptive`
    begins, on recorded webs with labelled topics."""

    help = (
        "train the weights that `adaptive` begins with on recorded webs (--data: folder with packs)"
    )
    module = "tests.training.train_prior"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "--data",
            type=Path,
            required=True,
            metavar="FOLDER",
            help="packs: pages.warc.gz, topics, baselines.json",
        )
        parser.add_argument("--without", default="", metavar="PACK,PACK", help="packs to leave out")
        parser.add_argument(
            "--seed",
            type=int,
            default=1,
            help="of the random draws (default 1): tells how much a training varies",
        )
        parser.add_argument(
            "--trainings",
            type=int,
            default=1,
            help="average of so many trainings, seeds counted up from --seed",
        )
        parser.add_argument(
            "--out",
            type=Path,
            metavar="FILE.json",
            help="where the weights go (default: the program's own file)",
        )


class Command(SubcommandCommand):
    help = "Topics crawled on purpose: make one, crawl it, compare strategies, list them."
    subcommands = {
        "add": Imported(
            "make a topic from a file of seeds, samples and keywords", "focused.commands.add"
        ),
        "crawl": Imported("crawl a topic now", "focused.commands.crawl"),
        "compare": Compare(),
        "strategies": Imported(
            "list the strategies with every parameter, its default, range and meaning",
            "focused.commands.strategies",
        ),
        "pack": Imported(
            "make a pack of recorded pages with topics from the web's own structure, for"
            " `bench strategies` and `topic train-prior`",
            "focused.commands.pack",
        ),
        "train-prior": TrainPrior(),
    }
