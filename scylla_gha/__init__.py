"""Evaluate coding agents honestly, on GitHub Actions and on a laptop."""

__version__ = "0.1.0"
