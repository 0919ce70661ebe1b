"""Set-up of a repository: the files that `init` writes and the checks of `doctor`."""
