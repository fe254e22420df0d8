"""The teacher: compares the readings of related pages, which must agree (a list's row and the
thread's own pages), and tries other readings where they do not.

Order of the modules: pairs (which pages are related), claims (how often they agree), hypotheses
(other selectors to try), verdict (which reading is used).
"""

from forums.discovery.teacher.claims import CLAIMS, Tally, tallies
from forums.discovery.teacher.pairs import Seen, threads_seen
from forums.discovery.teacher.verdict import Verdict, taught

__all__ = ["CLAIMS", "Seen", "Tally", "Verdict", "tallies", "taught", "threads_seen"]
