"""Allow-list HTTP proxy for the hosts that a scenario declares."""
