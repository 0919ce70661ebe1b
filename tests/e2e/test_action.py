"""The root action: an experiment in one step of a user's own job."""

from pathlib import Path

from tests.support.act import REF, TOOLKIT, actions, add_workflow
from tests.support.repository import make_repository

WORKFLOW = f"""\
name: Ours
on: workflow_dispatch
permissions: {{}}
jobs:
  evaluate:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1
        with: {{persist-credentials: false}}
      - id: scylla
        uses: {TOOLKIT}@{REF}
        with: {{experiment: greet}}
      - run: 'echo "SAYS $VERDICT $PASS_RATE $(ls "$REPORT"/report.md)"'
        env:
          VERDICT: "${{{{ steps.scylla.outputs.verdict }}}}"
          PASS_RATE: "${{{{ steps.scylla.outputs.pass_rate }}}}"
          REPORT: "${{{{ steps.scylla.outputs.report }}}}"
"""


def test_one_step_evaluates_an_experiment(tmp_path: Path) -> None:
    one = actions(tmp_path, make_repository(tmp_path / "repo").root)
    add_workflow(one.repository, "ours.yml", WORKFLOW)
    one.commit()
    ran = one.run("ours.yml")
    assert ran.ended == {"evaluate": "succeeded"}, ran.log()
    assert "SAYS not_enough_data 0.5" in ran.log("evaluate")
    assert "runs/greet/report.md" in ran.log("evaluate")
    assert len(ran.summaries) == 1
