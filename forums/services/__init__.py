"""Verbs of the forum crawler, one file a noun."""
