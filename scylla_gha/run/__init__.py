"""Step `run`: one attempt of an agent and the classification of its outcome."""
