"""Import from and export to the formats of other tools."""
