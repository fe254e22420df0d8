"""Settings of the nodes that `bench nodes` starts: the project's, with a crawler that follows links
over many hosts."""

from crawlmgr.settings import *  # noqa: F403 - settings that build on others
from crawlmgr.settings import CRAWLERS as _CRAWLERS

CRAWLERS = {**_CRAWLERS, "bench": "tests.benches.nodes.real.ManyHosts"}
