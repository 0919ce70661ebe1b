"""Step `prepare`: build the start state of a scenario and the workspace of a trial."""
