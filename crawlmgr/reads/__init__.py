"""Database queries for the web interface, the API and commands; nothing here writes."""
