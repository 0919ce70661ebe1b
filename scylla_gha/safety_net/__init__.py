"""Safety net for agents' tool calls: the hook, its rules, and a reader of shell scripts."""
