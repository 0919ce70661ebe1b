"""The model gateway: one process between agents, judges and the provider, which holds the key and sees all traffic."""
