"""YAML files into records, with messages that a person can act on."""
