"""The archive: WARC files with every exchange, here and in an object store, and their pages."""
