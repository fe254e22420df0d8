"""Runs of topics: pages are parsed and judged, links scored, and every step is stored."""
