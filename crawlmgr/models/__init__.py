"""Database tables (Django models) shared by the three crawlers."""

from crawlmgr.models.alarms import Alarm, AlarmChannel, AlarmMessage, ChannelKind, MessageState
from crawlmgr.models.backups import BackupPlan
from crawlmgr.models.deletions import Deletion
from crawlmgr.models.exports import Every, Export, ExportFile
from crawlmgr.models.frontier import Url, UrlState
from crawlmgr.models.holds import Hold
from crawlmgr.models.hosts import Host, HostHour, RunHost
from crawlmgr.models.nodes import Event, Node, NodeState
from crawlmgr.models.pages import Page, WarcFile
from crawlmgr.models.reports import RunTally
from crawlmgr.models.retention import Retention
from crawlmgr.models.runs import ACTIVE, TRANSITIONS, Run, RunState
from crawlmgr.models.settings_history import SettingsChange, SettingsPreset
from crawlmgr.models.timings import Timing
from crawlmgr.models.tokens import ApiToken, TokenRole
from crawlmgr.models.views import ListView

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
