"""Markups kept apart: the forum reader is evaluated on them and never fitted to them."""
