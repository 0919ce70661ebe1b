"""Numbers in, numbers out: knows no domain word."""
