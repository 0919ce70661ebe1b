"""Processes and their watchers, servers of the harness, git, and waits for futures."""
