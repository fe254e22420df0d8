"""Markups kept apart: the reader of forum pages is measured on them and never fitted to them."""
