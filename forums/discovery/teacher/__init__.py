"""The teacher: readings of related pages must agree; if they do not, rival readings are tried.

pairs (which pages are related) > claims (how often they agree) > hypotheses (rival selectors) > verdict (the choice).
"""

from forums.discovery.teacher.claims import CLAIMS, Tally, tallies
from forums.discovery.teacher.pairs import Seen, threads_seen
from forums.discovery.teacher.verdict import Verdict, taught

__all__ = ["CLAIMS", "Seen", "Tally", "Verdict", "tallies", "taught", "threads_seen"]
