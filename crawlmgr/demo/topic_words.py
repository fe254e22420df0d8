"""Vocabulary of the demonstration's topic web: beekeeping, and four other subjects."""

from __future__ import annotations

from typing import NamedTuple


class Subject(NamedTuple):
    """The vocabulary of a subject: page names, sentence patterns with the placeholders {a} and {b},
    and the words to insert for these."""

    name: str
    heads: tuple[str, ...]
    sentences: tuple[str, ...]
    words: tuple[str, ...]


BEES = Subject(
    "bees",
    (
        "Swarm control",
        "The queen bee",
        "Brood and comb",
        "Honey harvest",
        "Feeding a colony",
        "Varroa mites",
        "Wintering hives",
        "Hive tools",
        "The bee year",
        "Drones and workers",
        "Making a nucleus",
        "Bee pasture",
        "Wax and propolis",
        "Reading a frame",
        "Moving an apiary",
        "Robbing bees",
    ),
    (
        "A beekeeper looks at the {a} before the {b}, and closes the hive again quickly.",
        "The colony needs {a} in spring, when the queen lays and the {b} grows.",
        "Bees carry pollen and nectar home and store {a} above the {b}.",
        "In a strong hive the workers cover the {a} on all frames of the {b}.",
        "Without {a} a swarm will not stay; shake the bees onto the {b} in the evening.",
        "Varroa mites breed in the {a}; treat the colony when there is little {b}.",
        "Smoke calms the bees while you lift the {a} from the {b}.",
        (
            "The honey is ripe when the {a} is capped; an extractor empties the {b} without"
            " breaking it."
        ),
        "A young queen is marked and put with the {a} until the bees take her with the {b}.",
        "Every apiary keeps a spare {a} and writes down what each {b} showed.",
        "In winter the bees cluster around the {a} and live on the {b}.",
        "Wax moths spoil the {a}; store it cold, away from the {b}.",
    ),
    (
        "brood comb",
        "queen cells",
        "honey super",
        "frames",
        "sugar syrup",
        "pollen stores",
        "nectar flow",
        "hive entrance",
        "bottom board",
        "drone brood",
        "swarm box",
        "queen excluder",
        "sealed brood",
        "foundation wax",
        "propolis",
        "nurse bees",
    ),
)

OTHERS = (
    Subject(
        "sailing",
        (
            "Reefing early",
            "Under the bridge",
            "Tides and charts",
            "Paint below the waterline",
            "Anchoring",
            "Knots",
            "A week at sea",
            "Old hulls",
        ),
        (
            "The skipper eased the {a} and the boat stood up from the {b}.",
            "Check the {a} before you leave harbour, and the {b} after every gale.",
            "A wet {a} weighs more than you think when the {b} fills.",
            "We anchored behind the point with a new {a} and an old {b}.",
            "Salt eats the {a}; rinse it, then oil the {b}.",
            "On the chart the rock lies beside the {a}, a cable from the {b}.",
        ),
        (
            "mainsail",
            "jib sheet",
            "halyard",
            "rudder",
            "keel",
            "anchor chain",
            "compass",
            "tiller",
            "mooring line",
            "mast",
        ),
    ),
    Subject(
        "railways",
        (
            "Branch lines",
            "Signals",
            "The night sleeper",
            "Station clocks",
            "Narrow gauge",
            "Timetables",
            "Engine sheds",
            "A bridge renewed",
        ),
        (
            "The engine took water at the junction while the {a} waited for the {b}.",
            "Before the war the {a} ran twice a day behind a {b}.",
            "The signalman pulled the lever and the {a} dropped at the {b}.",
            "Rust sits in the {a}; the society restored the {b} in nine years.",
            "Tickets for the {a} were sold beside the {b}.",
            "On the viaduct the {a} slowed to a walk because of the {b}.",
        ),
        (
            "goods train",
            "railcar",
            "signal box",
            "platform",
            "locomotive",
            "turntable",
            "sleeping car",
            "points",
            "buffer stop",
            "ballast",
        ),
    ),
    Subject(
        "kitchen",
        (
            "Soup for ten",
            "Bread overnight",
            "Pickles",
            "A small oven",
            "Dumplings",
            "Salt and time",
            "Market day",
            "Leftovers",
        ),
        (
            "Fry the {a} slowly, then add the {b} and a ladle of stock.",
            "The dough rests with a little {a} until the {b} is hot.",
            "Slice the {a} thinly and salt it; keep the {b} for the sauce.",
            "A spoon of {a} lifts the {b} without hiding it.",
            "Boil the {a} for an hour; the {b} goes in at the end.",
            "Serve with {a}, fresh herbs and plenty of {b}.",
        ),
        (
            "onion",
            "pepper",
            "barley",
            "butter",
            "vinegar",
            "garlic",
            "noodles",
            "cabbage",
            "mushrooms",
            "lemon",
        ),
    ),
    Subject(
        "village",
        (
            "Fair on the green",
            "The council meets",
            "Garden club",
            "Choir practice",
            "Opening hours",
            "Lost and found",
            "School fete",
            "Footpaths",
        ),
        (
            "The committee thanks everybody who brought the {a} and cleared away the {b}.",
            "Doors open at seven; the {a} follows the {b}.",
            "Please keep the {a} off the {b} until the grass has grown.",
            "The treasurer reported on the {a} and the repair of the {b}.",
            "Children show their {a} in the hall, parents bring a {b}.",
            "Next month the speaker tells of the {a} and the history of the {b}.",
        ),
        (
            "tombola",
            "village hall",
            "flower show",
            "bench",
            "minutes",
            "raffle",
            "parish map",
            "playground",
            "tea urn",
            "stalls",
        ),
    ),
)
