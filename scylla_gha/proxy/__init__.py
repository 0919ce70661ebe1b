"""The way out of a box: an HTTP proxy that lets through to declared hosts, and journals all that is sought."""
