"""The teacher: compares the readings of related pages, which must agree, and tries rival readings where they do not.

pairs (which pages are related) > claims (how often they agree) > hypotheses (rival selectors) > verdict (which reading is used).
"""

from forums.discovery.teacher.claims import CLAIMS, Tally, tallies
from forums.discovery.teacher.pairs import Seen, threads_seen
from forums.discovery.teacher.verdict import Verdict, taught

__all__ = ["CLAIMS", "Seen", "Tally", "Verdict", "tallies", "taught", "threads_seen"]
