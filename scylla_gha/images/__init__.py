"""Images of sandboxes, of a recipe, an agent's package and a scenario's tools, without a registry or a builder."""
