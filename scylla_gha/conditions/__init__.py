"""Conditions on GitHub's state: what text a page shows, patterns, and operators.

Untrusted text meets these functions, so they run in a process of their own (`python -m scylla_gha.conditions`), whose
time and memory are limited. Nothing here knows scenarios, trials or records.
"""
