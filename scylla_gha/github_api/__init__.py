"""Client of GitHub's API with limits and retries, and the operations on repositories that use it."""
