"""The demonstration web: a forum, a topic web and a searchable database on loopback, made up from a seed. Pure."""
