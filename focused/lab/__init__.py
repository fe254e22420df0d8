"""Comparisons of strategies over recorded pages, and the figures that they yield."""
