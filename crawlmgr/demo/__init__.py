"""The demonstration web: a forum, a topic web and a searchable database, generated from a seed and
served on loopback addresses. This package does not use Django."""
