"""From rows to what can be said of them: estimates, comparisons, verdicts. Needs the `report` extra."""
