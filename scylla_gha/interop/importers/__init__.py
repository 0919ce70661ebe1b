"""Readers of results that other tools wrote."""
