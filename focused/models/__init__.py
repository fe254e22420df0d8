"""Database models of topics: topics, their runs and fetched pages, the URL graphs of large runs,
and comparisons of strategies."""

from focused.models.comparisons import Comparison, ComparisonPart
from focused.models.pages import GraphNode, TopicPage, TopicRun
from focused.models.topics import SampleDocument, Seed, Topic

__all__ = [
    "Comparison",
    "ComparisonPart",
    "GraphNode",
    "SampleDocument",
    "Seed",
    "Topic",
    "TopicPage",
    "TopicRun",
]
