"""The reason code of a page whose reading was given up for its CPU time, by version 0.1.0. Reading
is bounded by counts since then (see `bounds`); stored rows may still hold the code."""

OVER_BUDGET = "over_budget"
