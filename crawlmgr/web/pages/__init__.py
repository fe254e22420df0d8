"""Pages as the HTML standard describes them: tree, links and text, outline, records, forms."""
