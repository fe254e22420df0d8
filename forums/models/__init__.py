"""The forums' tables, one file a noun."""

from forums.models.simulations import EventLog, Simulation, SimulationKind
from forums.models.sites import DEFAULT_INTERVAL_SECONDS, Board, BoardHour, Post, Site, Thread, Visit

__all__ = [
    "DEFAULT_INTERVAL_SECONDS",
    "Board",
    "BoardHour",
    "EventLog",
    "Post",
    "Simulation",
    "SimulationKind",
    "Site",
    "Thread",
    "Visit",
]
