"""All that a browser shows."""
