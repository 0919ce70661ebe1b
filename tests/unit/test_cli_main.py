"""Complaints in a step of a workflow, whose log the runner searches for commands."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import scylla_gha
from scylla_gha.model.scenario import FixtureSource
from tests.support.actions import step_in
from tests.support.command import COMMAND, Said, scylla
from tests.support.git import shell
from tests.support.library import write
from tests.support.repository import SCENARIO, environment, make_repository
from tests.support.scripted_claude import write_claude_experiment

GROUPS = {
    "Everyday": ["evaluate", "show", "view", "report", "compare", "validate", "skill", "readiness", "init",
                 "scenario", "doctor"],
    "Analysis": ["power", "history", "aa-test", "tiers", "hub", "fixture", "agents", "models", "judge", "shell",
                 "results", "site", "import", "export", "reverts"],
    "Building blocks for Actions": ["plan", "prepare", "run", "cell", "collect", "aggregate", "publish", "next-wave",
                                    "regression-alert", "slash", "agent-baseline", "agent-updates", "image", "schemas"],
}  # fmt: skip
COMMANDS = [name for names in GROUPS.values() for name in names]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo").root


def call(repo: Path, *args: str, **env: str) -> Said:
    """Run the command line in the repository; whatever happens, nobody is shown a traceback."""
    said = scylla(*args, cwd=repo, env=environment(repo.parent, **env))
    assert "Traceback" not in said.err
    return said


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_lists_the_commands_in_groups(tmp_path: Path, option: str) -> None:
    said = call(tmp_path, option)
    assert said.code == 0
    groups: dict[str, list[str]] = {}
    for line in said.out[said.out.index("Everyday:") :].splitlines():
        if line and not line.startswith(" "):
            groups[line.removesuffix(":")] = []
        elif line[2:3].strip():
            groups[list(groups)[-1]].append(line.split()[0])
    assert groups == GROUPS
    assert "scylla-gha evaluate hello-claude" in said.out


def test_without_a_command_it_says_what_there_is(tmp_path: Path) -> None:
    said = call(tmp_path)
    assert said.code == 2
    assert all(command in said.out + said.err for command in COMMANDS)


def test_the_version_is_the_packages(tmp_path: Path) -> None:
    assert call(tmp_path, "--version").out == f"scylla-gha, version {scylla_gha.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_with_an_example(tmp_path: Path, command: str) -> None:
    said = call(tmp_path, command, "--help")
    assert said.code == 0
    assert said.out.startswith(f"Usage: scylla-gha {command} ")
    assert f"  scylla-gha {command}" in said.out or f"$(scylla-gha {command}" in said.out
    assert list(tmp_path.iterdir()) == [], "help writes nothing"


def test_options_override_the_experiment_and_work_from_a_subdirectory(repo: Path) -> None:
    (repo / ".git").mkdir()
    options = ("--agent", "nop", "--scenario", "101-*", "--repetitions", "2", "--budget-usd", "3", "--json")
    said = call(repo / "scenarios" / "core", "plan", "greet", *options)
    assert said.code == 0, said.err
    plan = json.loads(said.out)
    assert [cell["id"] for cell in plan["cells"]] == ["101-greet--nop--r01", "101-greet--nop--r02"]
    assert (plan["experiment"]["baseline"], plan["experiment"]["budget_usd"]) == ("nop", 3)
    assert (repo / "runs" / "greet" / "plan.json").is_file()
    wrong = call(repo, "evaluate", "greet", "--agent", "nobody")
    assert (wrong.code, "there is no agent 'nobody'" in wrong.err) == (3, True)
    endless = call(repo, "evaluate", "greet", "--budget-usd", "inf")
    assert (endless.code, "inf is not a finite amount of USD" in endless.err) == (2, True)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["evalaute"], "No such command 'evalaute'; did you mean 'evaluate'?"),
        (["judges"], "did you mean 'judge'?"),
        (["xyzzy"], "No such command 'xyzzy'."),
        (["evaluate", "--job", "2"], "(Did you mean one of: '--jobs', '--json'?)"),
        (["evaluate", "--jobs", "0"], "0 is not in the range 1<=x<=256"),
        (["evaluate", "--jobs", "many"], "'many' is not a valid integer"),
        (["evaluate", "--repetitions", "0"], "0 is not in the range"),
        (["evaluate", "a", "b"], "Got unexpected extra argument (b)"),
        (["prepare"], "Missing argument 'SCENARIO'"),
        (["validate", "nowhere"], "Path 'nowhere' does not exist"),
        (["evaluate", "--runs", "file"], "Directory 'file' is a file"),
    ],
)
def test_wrong_use_is_exit_code_2_with_what_is_wrong(tmp_path: Path, args: list[str], message: str) -> None:
    (tmp_path / "file").touch()
    said = call(tmp_path, *args)
    assert (said.code, said.out) == (2, "")
    assert message in said.err


@pytest.mark.parametrize(
    ("args", "messages"),
    [
        (["evaluate", "greets"], ["experiment 'greets': not found in config/experiments/", 'did you mean "greet"?']),
        (["evaluate", "none.yaml"], ["none.yaml: there is no such file"]),
        (["evaluate", "broken.yaml"], ["broken.yaml:3: not valid YAML"]),
        (["evaluate", "unknown.yaml"], ["unknown.yaml:3: scenarois: unknown key", 'did you mean "scenarios"?']),
        (
            ["evaluate", "greet", "--only", "x*"],
            ["--only 'x*' matches none of 2 cells; an example of an id: 101-greet--"],
        ),
        (["prepare", "101-great"], ["scenario '101-great': not found", 'did you mean "101-greet"?']),
        (["judge", "greet"], ["plan.json: there is no plan; run `scylla-gha evaluate greet` first"]),
        (["collect", "greet"], ["plan.json: there is no plan"]),
        (["aggregate", "greet"], ["plan.json: there is no plan"]),
        (["report", "greet"], ["report.json: there is no report; run `scylla-gha evaluate greet` first"]),
    ],
)
def test_a_wrong_file_or_name_is_exit_code_3(repo: Path, args: list[str], messages: list[str]) -> None:
    (repo / "broken.yaml").write_text("id: x\nquestion: [\n")
    (repo / "unknown.yaml").write_text("id: x\nquestion: y\nscenarois: [a]\nagents: [nop]\nbaseline: nop\n")
    said = call(repo, *args)
    assert (said.code, said.out) == (3, "")
    assert said.err.startswith("scylla-gha: ")
    assert [message for message in messages if message not in said.err] == []
    assert not (repo / "runs").exists()


def test_a_start_state_that_cannot_be_made_is_exit_code_4(tmp_path: Path) -> None:
    source = FixtureSource(fixture="greeting", hash="1" * 40)
    said = call(make_repository(tmp_path / "repo", source=source).root, "prepare", SCENARIO)
    assert said.code == 4
    assert f"but the scenario pins {'1' * 40}" in said.err


def test_a_work_root_inside_a_repository_is_exit_code_4(repo: Path) -> None:
    (repo / ".git").mkdir()
    said = call(repo, "evaluate", "greet", SCYLLA_WORK=str(repo / "work"))
    assert said.code == 4
    assert "set SCYLLA_WORK to another folder" in said.err


def test_a_missing_tool_is_exit_code_5(repo: Path) -> None:
    write_claude_experiment(repo)
    programs = repo.parent / "programs"
    programs.mkdir()
    (programs / "git").symlink_to(str(shutil.which("git")))
    said = call(repo, "evaluate", "greet", PATH=str(programs), ANTHROPIC_API_KEY="sk-ant-canary-0123456789")
    assert said.code == 5
    assert "'claude' is not on PATH; install it with" in said.err


def test_a_budget_that_the_estimate_exceeds_is_exit_code_6_before_anything_is_written(repo: Path) -> None:
    write_claude_experiment(repo, budget_usd=0.001)
    said = call(repo, "plan", "greet", "--dry-run")
    assert said.code == 6
    assert "is above the budget of $0.00" in said.err
    assert not (repo / "runs").exists()


def test_a_file_that_cannot_be_written_is_told_as_it_is(repo: Path) -> None:
    (repo / "runs" / "greet" / "plan.json").mkdir(parents=True)
    said = call(repo, "evaluate", "greet")
    assert said.code == 3
    assert f"{repo}/runs/greet/plan.json: is a folder, not a file; move it away to go on" in said.err
    assert "defect" not in said.err


def test_errors_are_plain_text_where_nobody_sees_colours(repo: Path) -> None:
    assert "\x1b" not in call(repo, "evaluate", "greets").err


def test_a_reader_that_has_enough_is_no_defect(repo: Path) -> None:
    many = f"{COMMAND} plan greet --dry-run --repetitions 999 | head -n 1"
    env = {**os.environ, **environment(repo.parent)}
    done = subprocess.run(["sh", "-c", many], cwd=repo, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert "defect" not in done.stderr


EVIL = "x\n::set-output name=verdict::better ##[add-mask]y"


def complaint(root: Path, *args: str, actions: str = "true") -> Said:
    step = step_in(root / "step")
    return scylla(*args, cwd=root, env=step.environment(GITHUB_ACTIONS=actions))


def test_with_github_a_failure_is_shown_on_the_runs_page(tmp_path: Path) -> None:
    said = complaint(tmp_path, "plan", "none\nsuch: 100 %", "--github")
    assert said.code == 3
    (line,) = said.err.splitlines()
    assert line.startswith("::error title=scylla-gha::experiment 'none\\nsuch: 100 %25': not found")


def test_why_there_is_no_plan_is_an_output_for_another_job_to_tell(tmp_path: Path) -> None:
    step = step_in(tmp_path / "step")
    said = scylla("plan", "none\nsuch=1", "--github", cwd=tmp_path, env=step.environment())
    assert said.code == 3
    assert step.given()["refusal"].startswith("experiment 'none\\nsuch=1': not found")


@pytest.mark.parametrize("args", [("plan", "demo.yaml"), ("plan", "demo.yaml", "--github")])
def test_strangers_command_nothing_by_a_complaint(tmp_path: Path, args: tuple[str, ...]) -> None:
    write(tmp_path / "demo.yaml", f"{EVIL!r}: 1\n'##[error]x': 2\n")
    said = complaint(tmp_path, *args)
    assert said.code == 3
    for line in said.err.splitlines():
        assert not line.lstrip().startswith("::") or line.startswith("::error title=scylla-gha::")
        assert "##[" not in line or line.startswith("::error title=scylla-gha::")


def test_elsewhere_words_stay_as_they_are(tmp_path: Path) -> None:
    write(tmp_path / "demo.yaml", "'##[error]x': 2\n")
    said = complaint(tmp_path, "plan", "demo.yaml", actions="")
    assert said.err.startswith("scylla-gha: ")
    assert "##[error]x" in said.err


def test_help_and_charts_survive_an_interpreter_that_leaves_docstrings_out(repo: Path) -> None:
    env = environment(repo.parent, PYTHONOPTIMIZE="2")
    done = subprocess.run(
        [COMMAND, "evaluate", "greet"], cwd=repo, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "<svg" in (repo / "runs/greet/report.html").read_text()
    told = subprocess.run([COMMAND, "evaluate", "--help"], env=env, capture_output=True, text=True, check=True)
    assert "Plan, run, judge and report EXPERIMENT" in told.stdout


def test_only_commands_that_store_their_work_say_so(tmp_path: Path, repo: Path) -> None:
    shell(tmp_path, "git init -q ours && touch ours/.github && cd ours && git add . && git commit -q -m Begin")
    begun = call(tmp_path / "ours", "schemas", "--into", ".github/workflows")
    assert begun.code == 8
    assert begun.err.splitlines()[-1].endswith("; correct this, and run the same command again")
    (repo / "runs").touch()
    ended = call(repo, "evaluate", "greet")
    assert ended.err.splitlines()[-1].endswith("; finished work is stored; run the same command to resume")
