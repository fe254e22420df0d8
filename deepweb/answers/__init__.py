"""Pages that answer a query: records and totals read, kept for the harvest, stored."""
