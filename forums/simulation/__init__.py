"""Simulations of policies on event logs."""
