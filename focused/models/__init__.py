"""Tables of topics: the topics themselves, what their runs fetched, and the graph of large runs."""

from focused.models.graph import GraphNode
from focused.models.pages import TopicPage, TopicRun
from focused.models.topics import SampleDocument, Seed, Topic

__all__ = ["GraphNode", "SampleDocument", "Seed", "Topic", "TopicPage", "TopicRun"]
