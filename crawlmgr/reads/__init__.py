"""Reads for the pages and charts; nothing here writes."""
