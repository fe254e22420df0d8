"""The document of a page as the HTML standard describes it. No Django."""
