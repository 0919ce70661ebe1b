"""Judges of a trial: checks (code), and the score computed from what they found."""
