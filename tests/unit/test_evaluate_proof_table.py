"""Table and JSON of proved scenarios: modes with the operations of their oracles, and wrong solutions rejected."""

import json

from scylla_gha.validate import proof_table, proofs_json
from scylla_gha.validate.scenario import ScenarioProof, SolutionTrial

TRIALS = (
    SolutionTrial(name="nop", passed=False, seconds=1.0),
    SolutionTrial(name="solution", passed=True, seconds=2.0, calls={"pr.read": 2, "issue.write": 1, "git.write": 1}),
    SolutionTrial(name="solution/mcp", passed=False, fault="does not pass", calls={"pr.read": 5}, seconds=0.5),
    SolutionTrial(name="wrong/a", passed=False),
    SolutionTrial(name="wrong/b", passed=True, fault="passes"),
)
FAULTY = ScenarioProof(scenario="151-a", has_github=True, trials=TRIALS)
SOUND = ScenarioProof(scenario="162-b", has_github=True, trials=TRIALS[:2], not_possible={"mcp": "It cannot"})
PLAIN = ScenarioProof(scenario="001-c", trials=TRIALS[:2])


def test_a_row_has_the_operations_of_each_mode() -> None:
    heading, *rows, note = proof_table([FAULTY, PLAIN, SOUND])
    assert heading.split() == ["scenario", "baseline", "mcp", "wrong", "rejected", "seconds"]
    assert [" ".join(row.split()) for row in rows] == [
        "151-a NOT OK 2r 1w 1g fails (5r 0w 0g) 1 of 2 3.5",
        "162-b ok 2r 1w 1g not possible 0 of 0 3.0",
    ]
    assert note.startswith("r, w: read and write operations")


def test_wrong_solutions_that_only_judges_can_tell_are_counted_apart() -> None:
    judged = SolutionTrial(name="wrong/c", passed=False, judged=("F2",))
    proof = ScenarioProof(scenario="151-a", has_github=True, trials=(*TRIALS[:2], TRIALS[3], judged))
    _, row, _, note = proof_table([proof])
    assert " 1 +1 of 2 " in row
    assert note.startswith("+n: wrong solutions that all checks accept")
    (fields,) = json.loads(proofs_json([proof]))
    assert (fields["wrong_rejected"], fields["wrong_left_to_judges"], fields["wrong"]) == (1, 1, 2)
    assert proof.verdicts.endswith("wrong/a fails, wrong/c fails if judges find F2 unmet")


def test_scenarios_without_github_have_no_table() -> None:
    assert list(proof_table([PLAIN])) == []


def test_files_for_agents_of_a_start_state_are_told() -> None:
    proof = PLAIN.model_copy(update={"agent_files": (".claude/skills/x/SKILL.md", "CLAUDE.md")})
    (line,) = proof_table([proof])
    assert line.startswith("001-c: its start state has files for agents")
    assert line.endswith(": .claude/skills/x/SKILL.md, CLAUDE.md")


def test_json_has_all_of_it() -> None:
    faulty, sound, plain = json.loads(proofs_json([FAULTY, SOUND, PLAIN]))
    assert (faulty["ok"], faulty["wrong_rejected"], faulty["wrong"]) == (False, 1, 2)
    assert faulty["faults"] == ["151-a: solution/mcp: does not pass", "151-a: wrong/b: passes"]
    assert faulty["modes"]["mcp"] == {"passed": False, "reads": 5, "writes": 0, "git": 0, "calls": {"pr.read": 5}}
    assert sound["not_possible"] == {"mcp": "It cannot"}
    assert sound["modes"]["baseline"]["git"] == 1
    assert plain["modes"] == {}
    assert ScenarioProof.model_validate_json(FAULTY.model_dump_json()) == FAULTY
