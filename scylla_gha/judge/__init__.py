"""Step `judge`: checks, rubric score, judge panel, consensus and controls of judges."""
