"""Images of the boxes: from a recipe, an agent's package and a scenario's tools, without a registry or a builder."""
