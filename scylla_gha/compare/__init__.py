"""Result sets, the pairing of their arms, and verdicts per arm."""
