"""Runs: their states and leases, slices of their work, their reports, and their pages."""
