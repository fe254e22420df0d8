"""The command `manage.py deepweb` with its subcommands classify, train, find, cluster and
harvest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crawlmgr.management.base import Imported, SubcommandCommand, add_web_arguments
from deepweb.harvest_options import POLICIES


class Train(Imported):
    """The command `deepweb train`: trains the form classifier on labelled forms and reports its
    accuracy on unseen domains."""

    help = (
        "rebuild the form classifier from labelled forms; figures by 5-fold cross-validation "
        "that never splits a domain"
    )
    module = "tests.training.train_forms"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "file",
            type=Path,
            metavar="FORMS.jsonl[.gz]",
            help='lines {"html", "url", "type", "domain"?}',
        )
        parser.add_argument(
            "--out",
            type=Path,
            metavar="FILE.json",
            help="where the model goes (default: the program's own)",
        )
        parser.add_argument(
            "--folds", type=int, default=5, help="folds of the cross-validation (default 5)"
        )
        parser.add_argument(
            "--random-seed", type=int, default=1, help="how domains fall into folds (default 1)"
        )
        parser.add_argument(
            "--more",
            type=Path,
            action="append",
            default=[],
            metavar="FORMS.jsonl",
            help=(
                "further forms to train on, never judged; a line may say its weight, above 0 and at"
                " most 1 (may be repeated)"
            ),
        )
        parser.add_argument(
            "--corrected",
            action="store_true",
            help="add the forms whose type was corrected on the desk",
        )
        parser.add_argument("--dry-run", action="store_true", help="only measure, write no model")


class Harvest(Imported):
    """`deepweb harvest`: harvests a form, or all forms of a cluster, and stores the records."""

    help = "ask a search form and store the records that come back"
    module = "deepweb.commands.harvest"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "form",
            nargs="?",
            metavar="FORM_OR_URL",
            help="number of a form, or the address of a page with one",
        )
        parser.add_argument(
            "--cluster", type=int, metavar="C", help="all forms of this cluster, out of one budget"
        )
        parser.add_argument(
            "--queries",
            type=int,
            default=100,
            metavar="N",
            help="queries for records at the most (default 100)",
        )
        parser.add_argument(
            "--requests", type=int, metavar="N", help="requests at the most, result pages included"
        )
        parser.add_argument(
            "--policy",
            choices=POLICIES,
            default="fresh",
            help="how queries are chosen (default fresh)",
        )
        parser.add_argument(
            "--seed-terms", default="", metavar="A,B", help="words to begin with, by comma"
        )
        parser.add_argument(
            "--max-pages",
            type=int,
            default=200,
            metavar="N",
            help="result pages of one query at the most (default 200)",
        )
        parser.add_argument(
            "--probes",
            type=int,
            default=240,
            metavar="N",
            help="random queries beside them, for the size (240)",
        )
        parser.add_argument(
            "--details",
            default="1000",
            metavar="N|all",
            help="detail pages fetched at the most (default 1000)",
        )
        parser.add_argument(
            "--coverage",
            type=float,
            metavar="SHARE",
            help="end when this share of the database is surely reached",
        )
        parser.add_argument(
            "--no-stop-rule",
            action="store_true",
            help="spend the whole budget, whatever the queries bring",
        )
        parser.add_argument("--release", action="store_true", help="let this form be sent by POST")
        parser.add_argument("--random-seed", type=int, default=1)
        add_web_arguments(parser)


class Command(SubcommandCommand):
    help = "Databases behind search forms: find and type forms, group them, ask them."
    subcommands = {
        "classify": Imported(
            "type the forms of a file of JSON lines: search, login, registration, newsletter,"
            " contact, password recovery, order, other",
            "deepweb.commands.classify",
        ),
        "train": Train(),
        "find": Imported(
            "crawl sites for their forms and tell what each form is for", "deepweb.commands.find"
        ),
        "cluster": Imported(
            "group the search forms by what they search", "deepweb.commands.cluster"
        ),
        "harvest": Harvest(),
    }
