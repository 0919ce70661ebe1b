"""Read the user's repository to make tasks from it: commits, languages, tests and their requirements."""
