"""Keeps pytest out of this folder: what is in it are the start states of tasks, not this repository's tests."""

collect_ignore_glob = ["*"]
