"""The database: SQL, errors, paging of long lists, cached queries, and upgrades of its tables."""
