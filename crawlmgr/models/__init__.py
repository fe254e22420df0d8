"""Tables that the three crawlers share."""

from crawlmgr.models.exports import Every, Export, ExportFile
from crawlmgr.models.frontier import Url, UrlState
from crawlmgr.models.hosts import Host, HostHour, RunHost
from crawlmgr.models.nodes import Event, Node
from crawlmgr.models.pages import Page, WarcFile
from crawlmgr.models.retention import Retention
from crawlmgr.models.runs import ACTIVE, TRANSITIONS, Run, RunState
from crawlmgr.models.tokens import ApiToken, TokenRole

__all__ = [
    "ACTIVE",
    "TRANSITIONS",
    "ApiToken",
    "Event",
    "Every",
    "Export",
    "ExportFile",
    "Host",
    "HostHour",
    "Node",
    "Page",
    "Retention",
    "Run",
    "RunHost",
    "RunState",
    "TokenRole",
    "Url",
    "UrlState",
    "WarcFile",
]
