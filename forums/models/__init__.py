"""The forums' tables, one file a noun."""

from forums.models.plans import ALL_SITES, TIMETABLES, Basis, BoardDay, LoopState, Plan, PlanDay, PlannedVisit, Policy
from forums.models.simulations import EventLog, Simulation, SimulationKind
from forums.models.sites import DEFAULT_INTERVAL_SECONDS, Board, BoardHour, Post, Site, Thread, Visit

__all__ = [
    "ALL_SITES",
    "DEFAULT_INTERVAL_SECONDS",
    "TIMETABLES",
    "Basis",
    "Board",
    "BoardDay",
    "BoardHour",
    "EventLog",
    "LoopState",
    "Plan",
    "PlanDay",
    "PlannedVisit",
    "Policy",
    "Post",
    "Simulation",
    "SimulationKind",
    "Site",
    "Thread",
    "Visit",
]
