"""What is posted to GitHub: a comment on a pull request, a check, an issue; and what waits for a job that may post."""
