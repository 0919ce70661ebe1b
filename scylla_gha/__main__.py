"""`python -m scylla_gha` is the same as `scylla-gha`."""

from scylla_gha.cli.main import main

main()
