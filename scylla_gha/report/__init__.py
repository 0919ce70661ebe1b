"""Step `report`: render the report as Markdown, terminal text and comments."""
