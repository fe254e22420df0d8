"""Queries for pages and charts; nothing here writes."""
