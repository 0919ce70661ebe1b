"""Evaluate coding agents honestly, on GitHub Actions and on a laptop."""

TYPE_CHECKING = False  # as in `typing`, whose import would slow down the start of each process
if TYPE_CHECKING:
    from pathlib import Path

    import pandas

__version__ = "0.1.0"


def results(
    path_or_branch: "str | Path",
    *,
    repository: "str | None" = None,
    experiment: "str | None" = None,
    on: "str | None" = None,
) -> "pandas.DataFrame":
    """Return the result rows of a run, a file or a results branch as a table with typed columns, for notebooks.

    Args:
        path_or_branch: a run's folder, a results.jsonl, or the name of a results branch, such as "scylla-results".
        repository: folder or address of the results branch's repository (default: `origin` of the current one).
        experiment: only rows of this experiment (default: all).
        on: only runs of this branch of the code, such as "main" (default: all); only for a results branch.

    Raises:
        scylla_gha.errors.ScyllaError: there are no such rows, a row is invalid, or pandas is not installed.
    """
    from scylla_gha.compare.result_set import result_table

    return result_table(str(path_or_branch), repository, experiment, on)
