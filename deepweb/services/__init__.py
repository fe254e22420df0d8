"""Functions that change the deep web's tables, one file per kind of object."""
