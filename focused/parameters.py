"""Typed parameters of strategies and runs: fields of a frozen dataclass with default, help, range
and choices, for forms and the command line. `RunOptions` are those of a run: budgets,
sources of pages, storage of the link graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

Value = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Parameter:
    """The description of one parameter for forms and lists; the parameter's type is that of its
    default."""

    name: str
    default: Value
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    title: str = ""
    """The parameter's display name; without one its identifier is shown."""

    @property
    def kind(self) -> str:
        """The kind of the parameter: bool, int, float or choice."""
        return "choice" if self.choices else type(self.default).__name__

    def read(self, value: Value) -> Value:
        """Converts a value, which may be text, to the parameter's type. Raises ValueError with a
        one-line message if it is invalid or out of range.
        """
        if self.choices:
            if value not in self.choices:
                raise ValueError(f"{self.name} is one of {', '.join(self.choices)}, not {value}")
            return value
        if isinstance(self.default, bool):
            return self._read_bool(value)
        try:
            number = int(value) if isinstance(self.default, int) else float(value)
        except ValueError:
            raise ValueError(
                f"{self.name} is {'a whole number' if self.kind == 'int' else 'a number'}, not"
                f" {value}"
            ) from None
        if not (self.low is None or number >= self.low) or not (
            self.high is None or number <= self.high
        ):
            raise ValueError(
                f"{self.name} lies between {self.low:g} and {self.high:g}, not {str(value)[:20]}"
            )
        return number

    def _read_bool(self, value: Value) -> bool:
        words = {
            "true": True,
            "yes": True,
            "on": True,
            "1": True,
            "false": False,
            "no": False,
            "off": False,
            "0": False,
        }
        try:
            return words[str(value).lower()]
        except KeyError:
            raise ValueError(f"{self.name} is yes or no, not {value}") from None


def gettext_noop(text: str) -> str:
    """Marks a text for translation and returns it unchanged. Replaces Django's function in pure
    modules; the web interface translates the text when it is displayed."""
    return text


def parameter(
    default: Any,
    help: str,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    title: str = "",
) -> Any:
    """Makes a dataclass field that is a parameter, to be used as the field's default value; numbers
    need `low` and `high`, texts need `choices`."""
    shown = {"help": help, "low": low, "high": high, "choices": choices, "title": title}
    return field(default=default, metadata={"default": default, "shown": shown})


def parameters_of(settings: type) -> tuple[Parameter, ...]:
    """Returns the parameters that a settings dataclass declares, in order."""
    return tuple(
        Parameter(name=f.name, default=f.metadata["default"], **f.metadata["shown"])
        for f in fields(settings)
    )


def read_settings(settings: type, values: Mapping[str, Value]) -> Any:
    """Makes an instance of a settings dataclass from names and values (text or typed). Raises
    ValueError for an unknown name or an invalid value.
    """
    known = {p.name: p for p in parameters_of(settings)}
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise ValueError(f"no parameter {unknown[0]}; there are: {', '.join(known) or 'none'}")
    return settings(**{name: known[name].read(value) for name, value in values.items()})


SOURCES = ("net", "archive", "mixed")
GRAPHS = ("memory", "database")
PAGES_PER_HOST = 20_000
"""Default limit of pages fetched from one host in a run; its further addresses are dropped. Without
a limit, a host that generates addresses without end (search results, filters) would use up a run
over many hosts. 20,000 pages take five hours at the usual delay."""
CONTEXTS = ("plain", "weighted")
"""Names of the ways to weigh the words around a link; keys of `focused.run.parse.CONTEXTS`."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a topic run. The budgets `minutes`, `relevant` and `pages_per_host` are unlimited
    if 0; the budget `pages` is at least 1 and always applies."""

    pages: int = parameter(
        1000,
        gettext_noop("Maximum number of pages to fetch"),
        1,
        100_000_000,
        title=gettext_noop("Number of pages"),
    )
    minutes: float = parameter(
        0.0,
        gettext_noop("Maximum number of minutes (0: no limit)"),
        0,
        1_000_000,
        title=gettext_noop("Time limit"),
    )
    relevant: int = parameter(
        0,
        gettext_noop("Stop after N relevant pages (0: no limit)"),
        0,
        100_000_000,
        title=gettext_noop("Relevant pages"),
    )
    pages_per_host: int = parameter(
        PAGES_PER_HOST,
        gettext_noop(
            "Pages to fetch from one host at most (0: no limit); by default none if the scope is"
            " one host"
        ),
        0,
        1_000_000_000,
        title=gettext_noop("Pages of one host"),
    )
    source: str = parameter(
        "net",
        gettext_noop(
            "Where pages come from: the network, the archive, or the archive first and then the"
            " network"
        ),
        choices=SOURCES,
        title=gettext_noop("Source of pages"),
    )
    fresh_days: float = parameter(
        0.0,
        gettext_noop(
            "If pages come from the archive first, then the network: age in days from which a"
            " stored page is fetched again (0: never)"
        ),
        0,
        10_000,
        title=gettext_noop("Refetch after (days)"),
    )
    known: str = parameter(
        "count",
        gettext_noop(
            "If pages come from the archive first, then the network: whether those from the archive"
            " count towards the maximum number of pages"
        ),
        choices=("count", "free"),
        title=gettext_noop("Stored pages"),
    )
    graph: str = parameter(
        "memory",
        gettext_noop(
            "Where the link graph is stored: in memory (small, fast) or in the database (large)"
        ),
        choices=GRAPHS,
        title=gettext_noop("Link graph"),
    )
    ahead: int = parameter(
        0,
        gettext_noop(
            "Number of addresses to choose ahead, while earlier pages are still being fetched (0:"
            " as many as keep the connection busy)"
        ),
        0,
        512,
        title=gettext_noop("Links chosen ahead"),
    )
    canonical: bool = parameter(
        True,
        gettext_noop(
            "Take the address that a page gives as its own (rel=canonical) as another address of"
            " the same page"
        ),
        title=gettext_noop("Use rel=canonical"),
    )
    sitemaps: bool = parameter(
        True,
        gettext_noop(
            "Also read the sitemaps (named in robots.txt) of hosts with a seed or a page on topic;"
            " the addresses most on topic are queued"
        ),
        title=gettext_noop("Read sitemaps"),
    )
    context: str = parameter(
        "plain",
        gettext_noop("How words around a link are weighted"),
        choices=CONTEXTS,
        title=gettext_noop("Words around links"),
    )
    main_text: bool = parameter(
        False,
        gettext_noop("Judge pages by their main text, without menus"),
        title=gettext_noop("Main text only"),
    )
    packed: bool = parameter(
        True,
        gettext_noop("Store the words of pages compressed"),
        title=gettext_noop("Compressed words"),
    )
    cache: int = parameter(
        256,
        gettext_noop("Pages of the archive that a worker keeps parsed in memory"),
        0,
        100_000,
        title=gettext_noop("Parsed pages kept"),
    )
    history: int = parameter(
        0,
        gettext_noop("Number of an earlier run that the strategy learns from (0: none)"),
        0,
        10**15,
        title=gettext_noop("Run to learn from"),
    )
    random_seed: int = parameter(
        1,
        gettext_noop("Seed of the random numbers of randomised strategies"),
        0,
        2**31,
        title=gettext_noop("Random seed"),
    )

    def as_json(self) -> dict[str, Any]:
        """Returns the options as plain values by name."""
        return asdict(self)
