"""Database tables (Django models) shared by the three crawlers."""

from crawlmgr.models.access import ApiToken, ListView, TokenRole
from crawlmgr.models.alarms import Alarm, AlarmChannel, AlarmMessage, ChannelKind, MessageState
from crawlmgr.models.events import Event
from crawlmgr.models.exports import Every, Export, ExportFile
from crawlmgr.models.frontier import Host, HostHour, RunHost, Url, UrlState
from crawlmgr.models.nodes import Node, NodeState
from crawlmgr.models.pages import Page, WarcFile
from crawlmgr.models.runs import ACTIVE, TRANSITIONS, Hold, Run, RunState, RunTally, Timing
from crawlmgr.models.upkeep import BackupPlan, Deletion, Retention, SettingsChange, SettingsPreset

__all__ = [
    "ACTIVE",
    "TRANSITIONS",
    "Alarm",
    "AlarmChannel",
    "AlarmMessage",
    "ApiToken",
    "BackupPlan",
    "ChannelKind",
    "Deletion",
    "Event",
    "Every",
    "Export",
    "ExportFile",
    "Hold",
    "Host",
    "HostHour",
    "ListView",
    "MessageState",
    "Node",
    "NodeState",
    "Page",
    "Retention",
    "Run",
    "RunHost",
    "RunState",
    "RunTally",
    "SettingsChange",
    "SettingsPreset",
    "Timing",
    "TokenRole",
    "Url",
    "UrlState",
    "WarcFile",
]
