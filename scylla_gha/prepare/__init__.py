"""Step `prepare`: a fixture becomes a start state, a start state a workspace, and the agent's change a diff."""
