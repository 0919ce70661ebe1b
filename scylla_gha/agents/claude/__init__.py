"""Claude Code as an agent under test."""
