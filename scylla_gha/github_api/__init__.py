"""The client of GitHub's API, with its limits and retries, and what is computed from a repository's history."""
