"""Simple forms of three types in two languages, for tests of the classifier."""

PAGES = {
    "search": [
        "<form action=/s><input name=q><button>Find</button></form>",
        "<form action=/suche><input name=wort><input type=submit value=Suchen></form>",
    ],
    "login": [
        (
            "<form method=post action=/login><input name=user><input type=password"
            " name=pw><button>Log in</button></form>"
        ),
        (
            "<form method=post action=/anmelden><input name=name><input type=password"
            " name=p><button>Anmelden</button></form>"
        ),
    ],
    "newsletter": [
        (
            "<form method=post action=/nl><input name=email><button>Subscribe to the"
            " newsletter</button></form>"
        ),
        (
            "<form method=post action=/abo><input type=email name=mail><button>Newsletter"
            " abonnieren</button></form>"
        ),
    ],
}
