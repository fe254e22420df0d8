"""The forums' tables, one file per kind of object."""

from forums.models.doubts import Doubt
from forums.models.logins import LoginMethod, LoginState, SiteLogin
from forums.models.plans import (
    ALL_SITES,
    TIMETABLES,
    Basis,
    BoardDay,
    LoopState,
    Plan,
    PlanDay,
    PlannedVisit,
    Policy,
)
from forums.models.predictions import ReplyModel
from forums.models.simulations import EventLog, Simulation, SimulationKind
from forums.models.sites import (
    DEFAULT_INTERVAL_SECONDS,
    MAX_DEADLINE_HOURS,
    MIN_DEADLINE_HOURS,
    Alias,
    Board,
    BoardHour,
    Post,
    Site,
    Thread,
    Visit,
)
from forums.models.sources import Look, OverviewSource, SourceKind
from forums.models.structures import Origin, StructureVersion

__all__ = [
    "ALL_SITES",
    "DEFAULT_INTERVAL_SECONDS",
    "MIN_DEADLINE_HOURS",
    "MAX_DEADLINE_HOURS",
    "TIMETABLES",
    "Alias",
    "Basis",
    "Board",
    "BoardDay",
    "BoardHour",
    "Doubt",
    "EventLog",
    "LoginMethod",
    "LoginState",
    "Look",
    "LoopState",
    "Origin",
    "OverviewSource",
    "Plan",
    "PlanDay",
    "PlannedVisit",
    "Policy",
    "Post",
    "ReplyModel",
    "Simulation",
    "SimulationKind",
    "Site",
    "SiteLogin",
    "SourceKind",
    "StructureVersion",
    "Thread",
    "Visit",
]
