"""Fixtures on github.com: a repository is seeded from `github.yaml`, reset after a trial, and verified by a digest.

The wanted state is read from a hub that is made of the fixture, by the same query and in the same canonical form as the
state of the repository, so that `github.yaml` has one interpretation.
"""
