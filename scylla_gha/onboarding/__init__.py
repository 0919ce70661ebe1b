"""Onboarding: `init` and `doctor`."""
