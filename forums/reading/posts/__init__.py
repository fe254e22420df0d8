"""Posts of a page: records around their times, with author, text and quotes."""
