"""Writers of results in the formats of other tools."""
