"""Operations on the deep web's database tables, one file per kind of object."""
