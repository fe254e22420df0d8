"""Forums (sites): settings, models of their pages, logins, doubts, alarms, and queries."""
