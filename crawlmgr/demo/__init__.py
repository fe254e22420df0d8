"""The demonstration web: a forum, a topic web and a searchable database on loopback, generated from a seed. Pure."""
