"""Verbs that change state, one file a noun."""
