"""Functions that change the forums' tables, one file per kind of object."""
