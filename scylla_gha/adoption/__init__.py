"""What a team sets up in its own repository: the files that `init` writes, and what `doctor` looks at."""
