"""The site as the teacher: readings of pages that belong together must agree, and where they do not, rival readings are tried.

pairs (which pages belong together) > claims (how often they agree) > hypotheses (rival selectors) > verdict (what is chosen).
"""

from forums.discovery.teacher.claims import CLAIMS, Tally, tallies
from forums.discovery.teacher.pairs import Seen, threads_seen
from forums.discovery.teacher.verdict import Verdict, taught

__all__ = ["CLAIMS", "Seen", "Tally", "Verdict", "tallies", "taught", "threads_seen"]
