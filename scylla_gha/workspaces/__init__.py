"""Start states and workspaces: fixture to workspace to diff."""
