"""The PostgreSQL server of the tests: the same that the benches start."""

from crawlmgr.benches.postgresql import Server, find_binaries

__all__ = ["Server", "find_binaries"]
