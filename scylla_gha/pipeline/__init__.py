"""Orchestration that several commands share."""
