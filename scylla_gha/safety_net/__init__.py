"""Safety net for tool calls of agents: rules, shell reader and hook entry; standard library only."""
