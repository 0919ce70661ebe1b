"""Runners of a code base's tests in the check box, one for each test framework."""
