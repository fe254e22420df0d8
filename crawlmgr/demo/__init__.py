"""The demonstration web: a forum, a topic web and a searchable database, generated from a seed and served on loopback addresses.
No Django."""
