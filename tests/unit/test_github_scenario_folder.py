"""A scenario with GitHub state as the library reads it: facts in the prompt, digests, and faults at load."""

from pathlib import Path

import pytest

from scylla_gha.config.library import Library
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.errors import ConfigError
from tests.support.command import scylla
from tests.support.hub_scenario import GITHUB, ID, write_hub_scenario
from tests.support.library import write
from tests.support.repository import environment


def read(root: Path) -> ScenarioFolder:
    return Library.here(root).scenario(ID)


def test_a_changed_fixture_changes_the_key_of_the_task(tmp_path: Path) -> None:
    write_hub_scenario(tmp_path / "a")
    write_hub_scenario(tmp_path / "b")
    assert read(tmp_path / "a").task_digest == read(tmp_path / "b").task_digest
    write_hub_scenario(tmp_path / "c")
    (tmp_path / "c/fixtures/demo/github.yaml").write_text(GITHUB.replace("title: Another", "title: Other"))
    assert read(tmp_path / "a").task_digest != read(tmp_path / "c").task_digest
    assert read(tmp_path / "a").judging_digest == read(tmp_path / "c").judging_digest


def test_the_prompt_states_facts_of_the_fixture(tmp_path: Path) -> None:
    write_hub_scenario(tmp_path)
    assert read(tmp_path).prompt == "Fix #2 of octo-org/demo.\n"


def test_what_may_change_states_facts_of_the_fixture(tmp_path: Path) -> None:
    file = write_hub_scenario(tmp_path) / "scenario.yaml"
    file.write_text(file.read_text().replace("refs/heads/fix]", "'refs/heads/fix-{{ issue.crash.number }}']"))
    github = read(tmp_path).scenario.github
    assert github is not None
    assert github.may_change[-1].refs == ("refs/heads/fix-2",)


def test_what_may_change_is_a_part_of_how_a_trial_is_judged(tmp_path: Path) -> None:
    folder = write_hub_scenario(tmp_path / "a")
    before = read(tmp_path / "a")
    write_hub_scenario(tmp_path / "b")
    changed = (folder / "scenario.yaml").read_text().replace("[labels, comments]", "[labels]")
    (tmp_path / "b/scenarios/core" / ID / "scenario.yaml").write_text(changed)
    after = read(tmp_path / "b")
    assert before.task_digest == after.task_digest
    assert before.judging_digest != after.judging_digest


def test_validation_makes_the_history_without_executing_anything(tmp_path: Path) -> None:
    write_hub_scenario(tmp_path)
    said = scylla("validate", "scenarios/core", cwd=tmp_path, env=environment(tmp_path))
    assert (said.code, said.out) == (0, "1 scenario: valid\n")
    path = tmp_path / "fixtures/demo/github.yaml"
    path.write_text(GITHUB.replace("title: Another,", "title: Another, labels: [wontfix],"))
    said = scylla("validate", "scenarios/core", cwd=tmp_path, env=environment(tmp_path))
    assert said.code == 3
    assert f"{path}: history.0.issue (issue.other): labels: there is no label 'wontfix'" in said.err


@pytest.mark.parametrize("name", ["reader", "monalisa"])
def test_the_agent_is_not_a_scripted_reviewer(tmp_path: Path, name: str) -> None:
    folder = write_hub_scenario(tmp_path)
    with (tmp_path / "fixtures/demo/github.yaml").open("a") as file:
        file.write("scripted_reviewers: [{reviewer: reader, reviews: [{event: APPROVE}]}]\n")
    scenario = folder / "scenario.yaml"
    scenario.write_text(scenario.read_text().replace("identity: author", f"identity: {name}"))
    with pytest.raises(ConfigError, match=rf"scenario\.yaml: github\.identity: '{name}' is a scripted reviewer"):
        read(tmp_path)


@pytest.mark.parametrize(("file", "text", "other", "message"), [
    ("scenario.yaml", "select: labels", "select: label", r"scenario\.yaml: checkpoints\.labelled: select: there is no"),
    ("scenario.yaml", "fixture: demo", "fixture: demmo", r"source\.fixture: there is no 'demmo'; did you mean .demo"),
    ("scenario.yaml", "identity: author", "identity: nobody", r"github\.identity: there is no user 'nobody'"),
    ("scenario.yaml", "issue.crash.number", "issue.crush.number", r"scenario\.yaml: .*no 'issue\.crush'"),
    ("prompt.md", "issue.crash.number", "issue.crash.size", r"prompt\.md: .*issue\.crash has no 'size'"),
    ("rubric.yaml", "text: It is so", "text: 'It is {{ pr.nothing.number }}'", r"rubric\.yaml: .*no 'pr\.nothing'"),
    ("rubric.yaml", "type: binary", "type: graduated, required: true", "`required` needs a binary item"),
    ("wrong/careless.sh", "gh issue close 1", "# unmet: F1", r"careless\.sh: unmet: 'F1' is not a required item"),
    ("solution/solution.sh", "gh issue edit", "# unmet: F1\ngh issue edit", "'# unmet:' is only for wrong solutions"),
])  # fmt: skip
def test_faults_name_the_file(tmp_path: Path, file: str, text: str, other: str, message: str) -> None:
    path = write_hub_scenario(tmp_path) / file
    path.write_text(path.read_text().replace(text, other))
    with pytest.raises(ConfigError, match=message):
        read(tmp_path)


IMPOSSIBLE = "identity: author\n  not_possible: {mcp: It cannot}"


@pytest.mark.parametrize(("declared", "removed", "fault"), [
    ("identity: author", "solution/mcp.sh",
     r"github\.not_possible\.mcp: is missing, and solution/mcp\.sh is missing too; write the oracle"),
    (IMPOSSIBLE, "wrong/careless.sh", r"github\.not_possible\.mcp: there is solution/mcp\.sh too; remove one of them"),
    (IMPOSSIBLE.replace("mcp", "mpc"), "wrong/careless.sh",
     r"github\.not_possible\.mpc: there is no such mode; did you mean .mcp"),
    (IMPOSSIBLE.replace("mcp", "baseline"), "solution/mcp.sh",
     r"github\.not_possible\.baseline: there is solution/solution\.sh too"),
])  # fmt: skip
def test_each_mode_of_its_repository_has_an_oracle_or_a_reason(
    tmp_path: Path, declared: str, removed: str, fault: str
) -> None:
    folder = write_hub_scenario(tmp_path)
    write(tmp_path / "config" / "modes" / "mcp.yaml", "id: mcp\ndescription: Servers\n")
    (folder / removed).unlink()
    scenario = folder / "scenario.yaml"
    scenario.write_text(scenario.read_text().replace("identity: author", declared))
    with pytest.raises(ConfigError, match=fault):
        read(tmp_path)


def test_a_mode_of_another_repository_needs_no_oracle(tmp_path: Path) -> None:
    folder = write_hub_scenario(tmp_path)
    (folder / "solution" / "mcp.sh").unlink()
    assert read(tmp_path).oracle("baseline") == folder / "solution" / "solution.sh"


def test_an_oracle_of_no_mode_is_found(tmp_path: Path) -> None:
    write(write_hub_scenario(tmp_path) / "solution" / "mpc.sh", "true\n")
    with pytest.raises(
        ConfigError, match=r"solution/mpc\.sh: there is no mode 'mpc'; rename or remove the file; did you mean .mcp"
    ):
        read(tmp_path)
