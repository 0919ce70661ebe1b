"""Step `aggregate`: compute the report from the rows."""
