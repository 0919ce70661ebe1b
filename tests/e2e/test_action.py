"""The root action: what `scylla-gha init` writes into an empty repository, in one step of a user's own job."""

import re
from pathlib import Path

from tests.support.act import REF, TOOLKIT, actions, add_workflow
from tests.support.command import scylla
from tests.support.repository import environment

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
        with: {{experiment: app}}
      - run: 'echo "SAYS $VERDICT $PASS_RATE $(ls "$REPORT"/report.md)"'
        env:
          VERDICT: "${{{{ steps.scylla.outputs.verdict }}}}"
          PASS_RATE: "${{{{ steps.scylla.outputs.pass_rate }}}}"
          REPORT: "${{{{ steps.scylla.outputs.report }}}}"
"""


def test_one_step_evaluates_what_init_wrote_into_an_empty_repository(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    one = actions(tmp_path, tmp_path / "app")
    wrote = scylla("init", "--yes", "--toolkit", f"{TOOLKIT}@{REF}", cwd=one.repository, env=environment(tmp_path))
    assert wrote.code == 0, wrote.err
    add_workflow(one.repository, "ours.yml", WORKFLOW)
    one.commit("What init wrote")
    ran = one.run("ours.yml")
    assert ran.ended == {"evaluate": "succeeded"}, ran.log()
    said = re.search(r"SAYS (\w+) ([\d.]+) runs/app/report.md", ran.log("evaluate"))
    assert said is not None, ran.log("evaluate")
    assert (said[1], 0 <= float(said[2]) <= 1) == ("not_enough_data", True)
    assert len(set(ran.summaries)) == 1, "act shows the summary of a nested step for the outer one too"
    assert "oracle" in ran.summaries[0]
    assert "2 planned, 2 ran, 2 judged, 2 scored" in ran.summaries[0]
