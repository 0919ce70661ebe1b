"""Start states: a fixture or a remote commit becomes a fresh workspace, and a workspace becomes a diff."""
