"""Verbs of the deep web that change state, one file a noun."""
