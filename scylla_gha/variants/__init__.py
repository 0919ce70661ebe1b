"""A variant: what an agent is started with, and the proof that it had just that."""
