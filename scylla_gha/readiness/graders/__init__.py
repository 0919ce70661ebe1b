"""Programs that grade an item in the check box; each is one file of the standard library alone."""
