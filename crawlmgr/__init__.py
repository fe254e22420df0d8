"""The crawl manager: one web interface, called the desk, for incremental forum crawls, focused
topic crawls and deep web harvests."""

__version__ = "0.2.0"
