"""Lists of boards and of threads: rows, header cells, and the fields of records."""
