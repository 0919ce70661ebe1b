"""Formats of other tools, read and written. Nothing here decides what a number means: that is done by `analysis`."""
