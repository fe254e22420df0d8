"""The schedule: what starts when, opening hours, missed starts, the pause of all, pages."""
