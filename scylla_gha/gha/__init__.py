"""What is GitHub Actions: the runner's files and commands, and the facts of a run."""
