"""Held-out forum markups: the forum reader is evaluated on them, but not trained or adapted on
them."""
