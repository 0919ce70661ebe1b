"""The report as one self-contained page: the answer, charts, the matrix of trials, and what happened in each."""
