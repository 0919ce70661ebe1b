"""Step `collect`: read records of cells or artifacts of jobs into rows."""
