"""Write run folders and a results branch of the golden reports of tests: `python golden_runs.py FOLDER`.

It imports the package and its tests, so each checkout runs its own copy: change it with what it imports.
"""

import sys
from pathlib import Path

from scylla_gha.model.plan import Plan
from scylla_gha.model.report import Report
from scylla_gha.store import write_record
from scylla_gha.store.run_folder import RunFolder
from tests.support.readiness_reports import readiness_report
from tests.support.records import make_cell, make_experiment, make_plan
from tests.support.report_pages import write_hostile_run, write_run
from tests.support.reports import full_report, hostile_rows_report
from tests.support.sites import realistic_branch
from tests.support.tier_reports import ladder_report
from tests.unit import test_report_comment as comments
from tests.unit import test_report_markdown as documents

MOST_LETTERS = 200
REPORTS = {
    "many-arms": full_report(),
    "hostile-rows": hostile_rows_report(),
    "tiers": ladder_report(),
    "without-statistics": documents.report_without_statistics(),
    "hostile": documents.hostile_report(),
    "win": comments.WIN,
    "loss": comments.LOSS,
    "alike": comments.ALIKE,
    "unclear": comments.UNCLEAR,
    "missing": comments.MISSING,
    "faults": comments.FAULTS,
    "first-run": comments.FIRST,
    "over-the-limit": comments.large(),
}


def plan_of(name: str, report: Report) -> Plan:
    """Return a plan with a cell for each arm and scenario of a report, but those with names that no plan has."""
    arms = [arm.arm for arm in report.arms if len(arm.arm) < MOST_LETTERS]
    cells = [make_cell(arm, 1, row.scenario) for arm in arms for row in report.scenarios]
    experiment = make_experiment(id=name, baseline=arms[0]) if arms else make_experiment(id=name)
    return make_plan(*cells, experiment=experiment)


def main(folder: Path) -> None:
    write_run(folder / "runs/full")
    write_run(folder / "runs/with-readiness", readiness_report())
    write_hostile_run(folder / "runs/hostile-trial")
    for name, report in REPORTS.items():
        run = RunFolder(folder / "runs" / name)
        write_record(run.plan, plan_of(name, report))
        write_record(run.report("json"), report)
    realistic_branch(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
