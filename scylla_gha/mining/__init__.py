"""Mining of the user's repository: its commits, its languages, and what tasks are made of."""
