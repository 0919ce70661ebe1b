"""What becomes of agent CLIs if the model's provider fails, is silent or answers by half.

The gateway's log decides, whatever exit code or success the CLI reports. Three CLIs with three model APIs meet all
faults here; `tests/benchmarks/agent_matrix.py` runs the same for all.
"""

from pathlib import Path

import pytest

from tests.support.agent_clis import style
from tests.support.agent_matrix import FAULT_RUNS, FaultRun, run_faults

CLIS = ("codex", "copilot", "gemini-cli")


def test_the_three_have_different_model_apis() -> None:
    assert len({style(name) for name in CLIS}) == len(CLIS)


@pytest.mark.parametrize("faults", FAULT_RUNS, ids=lambda faults: faults.cases[0].title)
@pytest.mark.parametrize("name", CLIS)
def test_the_outcome_is_what_the_gateway_saw(tmp_path: Path, name: str, faults: FaultRun) -> None:
    attempts = run_faults(tmp_path, name, faults)
    outcomes = {case.title: attempts[case.model]["outcome"] for case in faults.cases}
    assert outcomes == {case.title: case.outcome for case in faults.cases}
    for case in faults.cases:
        reason = attempts[case.model]["reason"]
        assert reason, case.title
        wrote = attempts[case.model]["diff"]["files"]
        assert wrote == (["hello.py"] if faults.is_late else []), case.title
