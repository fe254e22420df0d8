"""Functions that change the database, one file per kind of object."""
