"""`manage.py reader`: train the page reader."""

from __future__ import annotations

from argparse import ArgumentParser

from crawlmgr.management.base import Imported, SubcommandCommand
from forums.reading.learned.weights import FILE


class Train(Imported):
    """`reader train`: trains the page reader's weights and prints their accuracy on forum
    software or sites excluded from training."""

    help = "Train the weights of the page reader on saved pages with checked truth."
    module = "tests.training.train_reader"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--data", required=True, metavar="FOLDER", help="pages.csv with html/ and truth/"
        )
        parser.add_argument(
            "--other", default="", metavar="FOLDER", help="list.jsonl of pages that are no forum's"
        )
        parser.add_argument(
            "--more",
            default="",
            metavar="FOLDER",
            help="further pages with truth, trained on with less weight",
        )
        parser.add_argument(
            "--leave-out",
            choices=("engine", "site"),
            default="engine",
            help="what a fold keeps whole",
        )
        parser.add_argument("--workers", type=int, default=1, help="processes that train at once")
        parser.add_argument(
            "--keep",
            default="",
            metavar="FILE",
            help="keeps the first stage's scores; used while pages stay so",
        )
        parser.add_argument(
            "--out",
            default=str(FILE),
            metavar="FILE",
            help="where the weights go (default: the shipped ones)",
        )


class Command(SubcommandCommand):
    help = "The page reader: train its weights."
    subcommands = {
        "train": Train(),
    }
