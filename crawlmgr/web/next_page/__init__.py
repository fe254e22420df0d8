"""Next pages: the pagination links of a page, by addresses and by words."""
