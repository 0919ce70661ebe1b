"""Step `publish`: write the report to the results branch, pull requests, checks and issues."""
