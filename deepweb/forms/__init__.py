"""Search forms of pages: found, read, typed, clustered by subject, stored."""
