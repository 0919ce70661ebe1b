"""Checks of `doctor`, one module per subject."""
