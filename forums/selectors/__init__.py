"""Evaluates the selectors and regular expressions that users write, within a limit of CPU time and
memory.

`bounded` is what the reader calls; it asks `child`, a process that is started once and kept.
`evaluation` evaluates a selector without a limit: for selectors that the program derived itself.
"""
