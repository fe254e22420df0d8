"""The choice of the next query: words, values and ranges of inputs, opening queries."""
