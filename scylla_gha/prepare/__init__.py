"""Step `prepare`: fixture to start state to workspace, and the agent's change as a diff."""
