"""Removal of secrets from all that is stored: encodings of given values, and tokens of well-known kinds."""
