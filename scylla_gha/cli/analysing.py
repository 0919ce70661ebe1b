"""The statistics, where they are installed: the base does without, so that a job that runs cells starts fast."""

import importlib.util
from collections.abc import Iterable

from scylla_gha.aggregate import Analyse
from scylla_gha.model.analysis import Analysis
from scylla_gha.model.plan import Plan
from scylla_gha.model.result import Result


def analysis_of(plan: Plan) -> Analyse | None:
    """What computes the analysis of a plan's rows; None without the extra `report`."""
    if not (importlib.util.find_spec("numpy") and importlib.util.find_spec("scipy")):
        return None

    def analyse(rows: Iterable[Result]) -> Analysis:
        from scylla_gha.analysis import analyse as whole
        from scylla_gha.analysis.frame import read

        experiment = plan.experiment
        question = whole.Question(
            baseline=experiment.baseline,
            models={arm.id: arm.model for arm in plan.arms},
            margin=experiment.margin,
            seed=experiment.seed,
            pairs=plan.pairs,
        )
        return whole.analyse(read(rows, dict.fromkeys(cell.arm for cell in plan.cells)), question)

    return analyse
