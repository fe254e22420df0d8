"""Alarms: the problems that they report, the channels that they are sent to, and their pages."""
