"""GitHub's search: queries, and what matches them."""
