"""Table of proved scenarios with GitHub, as text and as JSON: modes, API operations of the oracles, wrong solutions."""

import json
from collections.abc import Iterator, Mapping, Sequence

from scylla_gha.model.scenario_proof import ScenarioProof
from scylla_gha.report.numbers import columns

_JUDGED = "+n: wrong solutions that all checks accept; they fail if judges find the items unmet that their files name"
_NOTE = "r, w: read and write operations of the mode's oracle on GitHub; g: its git commands that reached GitHub"


def proof_table(proofs: Sequence[ScenarioProof]) -> Iterator[str]:
    """Yield the files for agents of start states, and a table of the scenarios with GitHub; nothing without both."""
    for proof in proofs:
        if proof.agent_files:
            yield (f"{proof.scenario}: its start state has files for agents, which each variant without `agent_files` "
                   f"gets: {', '.join(proof.agent_files)}")  # fmt: skip
    proofs = [proof for proof in proofs if proof.has_github]
    modes = sorted({mode for proof in proofs for mode in (*proof.oracles, *proof.not_possible)})
    if not proofs:
        return
    headings = ("scenario", "", *modes, "wrong rejected", "seconds")
    rows = [
        (proof.scenario, "NOT OK" if proof.faults else "ok", *(_mode(proof, mode) for mode in modes),
         _rejected(proof), f"{proof.seconds:.1f}")
        for proof in proofs
    ]  # fmt: skip
    yield from columns(headings, rows)
    yield _NOTE
    if any(proof.left_to_judges for proof in proofs):
        yield _JUDGED


def proofs_json(proofs: Sequence[ScenarioProof]) -> str:
    """Return the proofs as JSON."""
    return json.dumps([_fields(proof) for proof in proofs], indent=2)


def _fields(proof: ScenarioProof) -> dict[str, object]:
    return {
        "scenario": proof.scenario,
        "ok": not proof.faults,
        "faults": proof.faults,
        "modes": {mode: {"passed": trial.passed, **_operations(trial.calls), "calls": trial.calls}
                  for mode, trial in proof.oracles.items()} if proof.has_github else {},
        "not_possible": proof.not_possible,
        "agent_files": list(proof.agent_files),
        "wrong_rejected": proof.rejected,
        "wrong_left_to_judges": proof.left_to_judges,
        "wrong": len(proof.wrong),
        "seconds": round(proof.seconds, 2),
        "trials": [trial.model_dump(mode="json") for trial in proof.trials],
    }  # fmt: skip


def _rejected(proof: ScenarioProof) -> str:
    judged = f"+{proof.left_to_judges} " if proof.left_to_judges else ""
    return f"{proof.rejected} {judged}of {len(proof.wrong)}"


def _mode(proof: ScenarioProof, mode: str) -> str:
    trial = proof.oracles.get(mode)
    if trial is None:
        return "not possible" if mode in proof.not_possible else "no oracle"
    operations = _operations(trial.calls)
    counts = f"{operations['reads']}r {operations['writes']}w {operations['git']}g"
    return counts if trial.passed else f"fails ({counts})"


def _operations(calls: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers of reads and writes by the API, and of git's operations."""
    by_api = {call: count for call, count in calls.items() if not call.startswith("git.")}
    return {
        "reads": sum(count for call, count in by_api.items() if call.endswith(".read")),
        "writes": sum(count for call, count in by_api.items() if call.endswith(".write")),
        "git": sum(calls.values()) - sum(by_api.values()),
    }
