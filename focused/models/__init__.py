"""Tables of topics: topics, their runs' pages, the graphs of large runs, comparisons."""

from focused.models.comparisons import Comparison, ComparisonPart
from focused.models.graph import GraphNode
from focused.models.pages import TopicPage, TopicRun
from focused.models.topics import SampleDocument, Seed, Topic

__all__ = ["Comparison", "ComparisonPart", "GraphNode", "SampleDocument", "Seed", "Topic", "TopicPage", "TopicRun"]
