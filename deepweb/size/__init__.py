"""The size of a hidden database, and how much of it was harvested."""
