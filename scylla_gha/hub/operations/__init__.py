"""GitHub's rules: what REST and GraphQL both call. A function takes the session first, and raises `HubError`."""
