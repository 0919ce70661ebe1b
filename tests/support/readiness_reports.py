"""Reports of readiness measurements, built by hand, and the run of one with its page."""

import datetime
from pathlib import Path
from typing import Final

from scylla_gha.model.readiness import MissingDimension, ReadinessReport, ReadinessScore, SuiteFacts
from scylla_gha.readiness.compare_scores import compare_scores
from scylla_gha.readiness.score import score
from tests.support.readiness_items import TREE, item_set, trial
from tests.support.report_pages import write_run
from tests.support.reports import SCENARIOS

AT: Final = datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC)
HOSTILE: Final = "src/<img src=x>|`a`.py: [x](javascript:1)"
MISSING: Final = MissingDimension(dimension="semantic-completeness", reason=f"5 functions qualify\n{HOSTILE}")
FACTS: Final = SuiteFacts(
    side="", commit="c" * 40, tree=TREE, language="python", yields={"functions": 1234}, missing=(MISSING,)
)
COUNT: Final = 24


def measured(*solved: int) -> ReadinessScore:
    """The score of a run in which these of 24 items earn all points, and the others none."""
    items = item_set(COUNT, "intent-clarity", MISSING)
    trials = [trial(item, float(number in solved), tokens=900, calls=4) for number, item in enumerate(items.items)]
    return score(items, trials, ()).model_copy(update={"subject": "claude-haiku-5-5 in claude-code 2.1.197"})


def readiness_report(**more: object) -> ReadinessReport:
    """A measurement in which 16 of 24 anchors are solved; `more` replaces fields."""
    content = {"repository": "demo", "at": AT, "toolkit_version": "1", "agent": "claude-code",
               "model": "claude-haiku-5-5", "facts": (FACTS,), "score": measured(*range(16)), "usd": 0.25}  # fmt: skip
    return ReadinessReport.model_validate({**content, **more})


def changed_report() -> ReadinessReport:
    """A change by which 16 of 24 anchors are lost."""
    before, after = measured(*range(20)), measured(*range(16, 20))
    return readiness_report(score=before, head=after, comparison=compare_scores(before, after))


def readiness_run(root: Path) -> Path:
    """Write a run whose first scenarios are the first anchors, two of which are missed; return the path of its page."""
    whole = measured(*range(2, 16))
    anchors = [anchor.model_copy(update={"item": SCENARIOS[number]}) if number < len(SCENARIOS) else anchor
               for number, anchor in enumerate(whole.anchors)]  # fmt: skip
    return write_run(root, readiness_report(score=whole.model_copy(update={"anchors": tuple(anchors)})))
