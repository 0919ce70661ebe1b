import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from scylla_gha.config.library import toolkit_root
from scylla_gha.config.schemas import schemas, yaml_reference
from scylla_gha.model.scenario import FixtureSource
from scylla_gha.model.variant import Treatment
from scylla_gha.prepare.start_state import commit_of
from tests.support.command import Said, scylla
from tests.support.library import write_prices, write_tier
from tests.support.materials import AGENT_AT, FILES, SKILL_AT
from tests.support.processes import ends, number_in
from tests.support.records import make_checkpoint
from tests.support.repository import (
    CHECKPOINTS,
    FIXTURE,
    SCENARIO,
    environment,
    make_repository,
    patch_of,
    write_greet_experiment,
    write_tree,
)
from tests.support.scripted_claude import running

PLACE = f"scenarios/core/{SCENARIO}"
LARGE = f"{patch_of('echo hello')}@@ -2,0 +3,100 @@\n" + "+:\n" * 100


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo").root


def validate(repo: Path, *args: str) -> Said:
    said = scylla("validate", *args, cwd=repo, env=environment(repo.parent))
    assert "Traceback" not in said.err
    return said


@pytest.mark.parametrize("path", [PLACE, f"{PLACE}/scenario.yaml", "scenarios/core", "scenarios"])
def test_a_good_scenario_is_valid_by_any_path_to_it(repo: Path, path: str) -> None:
    said = validate(repo, path)
    assert (said.code, said.out, said.err) == (0, "1 scenario: valid\n", "")


def test_executed_it_says_what_was_tried(repo: Path) -> None:
    said = validate(repo, PLACE, "--execute")
    assert said.code == 0
    tried = "nop fails, solution passes, wrong/loud fails, wrong/silent fails"
    assert said.out == f"1 scenario: valid\nok: {SCENARIO}: {tried}\n"
    assert sorted(path.name for path in repo.iterdir()) == ["config", "fixtures", "scenarios"], "nothing is written"


def test_a_wrong_hash_is_told_with_the_right_one(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo", source=FixtureSource(fixture=FIXTURE, hash="1" * 40))
    said = validate(repository.root, PLACE)
    right = commit_of(repository.fixture)
    assert (said.code, said.out) == (3, "")
    assert said.err == (
        f"scylla-gha: {repository.scenario}/scenario.yaml: {repository.fixture}: this fixture is commit {right}, "
        f"but the scenario pins {'1' * 40}; undo the change to the fixture, or set source.hash to the new commit on "
        "purpose\n"
    )


def test_a_wrong_size_is_told_with_the_right_one(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", beside={"solution/solution.patch": LARGE}).root
    said = validate(root, PLACE)
    assert said.code == 3
    assert "scenario.yaml: size: the reference solution changes 102 lines, which is medium" in said.err


def test_a_missing_solution_is_told(repo: Path) -> None:
    (repo / PLACE / "solution" / "solution.patch").unlink()
    said = validate(repo, PLACE)
    assert said.code == 3
    assert f"{repo}/{PLACE}/solution/solution.patch is missing; keep the reference solution there" in said.err


def test_all_faults_of_all_scenarios_are_told_at_once(tmp_path: Path) -> None:
    source = FixtureSource(fixture=FIXTURE, hash="1" * 40)
    repository = make_repository(tmp_path / "repo", source=source, beside={"solution/solution.patch": LARGE})
    other = repository.root / "scenarios" / "core" / "102-broken"
    other.mkdir()
    (other / "scenario.yaml").write_text("id: 102-broken\ncategroy: x\n")
    said = validate(repository.root, "scenarios")
    assert said.code == 3
    for part in (f"{SCENARIO}/scenario.yaml: size: ", "set source.hash to the new commit on purpose",
                 '102-broken/scenario.yaml:2: categroy: unknown key; did you mean "category"?'):  # fmt: skip
        assert part in said.err


def test_what_is_not_valid_is_not_executed(tmp_path: Path) -> None:
    source = FixtureSource(fixture=FIXTURE, hash="1" * 40)
    said = validate(make_repository(tmp_path / "repo", source=source).root, PLACE, "--execute")
    assert (said.code, said.out) == (3, "")


def test_a_proof_that_fails_is_exit_code_7_with_what_passes_and_should_not(tmp_path: Path) -> None:
    right = {"wrong/loud.patch": patch_of("echo hello #")}
    said = validate(make_repository(tmp_path / "repo", beside=right).root, PLACE, "--execute")
    assert said.code == 7
    assert f"NOT OK: {SCENARIO}: nop fails, solution passes, wrong/loud passes, wrong/silent fails\n" in said.out
    assert f"{SCENARIO}: wrong/loud: passes, so the checks cannot tell it from a right solution" in said.err


def test_ctrl_c_ends_what_is_being_proved_at_once(tmp_path: Path) -> None:
    hang = make_checkpoint(id="hang", run=f"echo $$ >{tmp_path}/pid; sleep 600", timeout_seconds=600)
    repo = make_repository(tmp_path / "repo", checkpoints=(*CHECKPOINTS, hang)).root
    with running("validate", PLACE, "--execute", cwd=repo, env=environment(tmp_path)) as process:
        check = number_in(tmp_path / "pid")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    assert ends(check)


def test_an_experiment_file_is_checked_with_all_that_it_names(repo: Path) -> None:
    said = validate(repo, "config/experiments/greet.yaml")
    assert (said.code, said.out) == (0, "config/experiments/greet.yaml: valid\n")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scenarios": ("101-great",)}, "scenarios: '101-great' matches nothing; did you mean \"101-greet\"?"),
        ({"agents": ("oracle", "nob"), "baseline": "oracle"}, "there is no agent 'nob'; did you mean \"nop\"?"),
        ({"baseline": "nob"}, "baseline: 'nob' is not an arm; did you mean \"nop\"?"),
        ({"agents": ("nop", "claude-code")}, "claude-code needs variants and models"),
        ({"agents": ("claude-code",), "variants": ("T9/*",), "models": ("m",)}, "variants: 'T9/*' matches nothing"),
        ({"judges": ("claude-opus-5", "claude-opuss-5")}, "the model 'claude-opuss-5' is in neither"),
        ({"prices": "scylla-2026"}, "price list 'scylla-2026': not found"),
    ],
)
def test_an_experiment_that_cannot_be_planned_is_told(repo: Path, given: dict[str, object], message: str) -> None:
    write_greet_experiment(repo, **given)
    said = validate(repo, "config/experiments/greet.yaml")
    assert (said.code, said.out) == (3, "")
    assert message in said.err


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda repo: write_greet_experiment(repo, baseline="nob"), "experiment greet: baseline: 'nob' is not an arm"),
        (
            lambda repo: write_prices(repo, "then", "claude-none"),
            "config/prices/then.yaml: prices: 'claude-none' is not in config/models/",
        ),
        (
            lambda repo: write_tree(repo, {"config/inventories/cli-1.yaml": "agent: cli\ntool: []\n"}),
            'config/inventories/cli-1.yaml:2: tool: unknown key; did you mean "tools"?',
        ),
    ],
)
def test_a_whole_repository_is_its_configuration_first(
    repo: Path, write: Callable[[Path], object], message: str
) -> None:
    write(repo)
    said = validate(repo)
    assert (said.code, said.out) == (3, "")
    assert message in said.err


def test_what_is_to_be_known_of_models_is_noted_and_no_fault(repo: Path) -> None:
    write_greet_experiment(repo, judges=("claude-opus-5", "claude-mythos-5"))
    said = validate(repo, "config/experiments/greet.yaml")
    assert said.code == 0
    assert "claude-mythos-5: has no file in config/models/, so its cost is unknown" in said.err


def test_a_sandbox_is_for_what_is_executed(repo: Path) -> None:
    said = validate(repo, "--sandbox", "docker")
    assert (said.code, "--sandbox needs --execute" in said.err) == (2, True)
    said = validate(repo, PLACE, "--execute", "--sandbox", "docker")
    assert (said.code, "no container engine answers at" in said.err) == (5, True)


def test_without_an_engine_the_box_is_bubblewraps_and_that_is_said(repo: Path) -> None:
    said = validate(repo, PLACE, "--execute", "--sandbox", "auto")
    assert said.code == 0, said.err
    assert "sandbox: bubblewrap, since no container engine answers; " in said.err
    assert "; to fail instead, use --sandbox docker; to hide this message, --sandbox bubblewrap\n" in said.err
    assert f"ok: {SCENARIO}: nop fails, solution passes" in said.out


def test_a_panel_of_one_is_refused_at_its_line(repo: Path) -> None:
    path = write_greet_experiment(repo)
    path.write_text(path.read_text().replace("judges: []\n", "judges: [claude-opus-5]\n"))
    line = 1 + path.read_text().splitlines().index("judges: [claude-opus-5]")
    said = validate(repo, "config/experiments/greet.yaml")
    assert said.code == 3
    assert f"greet.yaml:{line}: judges: a panel needs at least two judges (better three)" in said.err


def test_all_that_the_variants_name_is_checked_and_told_with_file_and_remedy(repo: Path) -> None:
    write_tree(repo, {**FILES, AGENT_AT: "---\nname: reader\ndescription: Use: it\n---\nYou read.\n"})
    (repo / SKILL_AT).unlink()
    tier = write_tier(repo, all=Treatment(mcp_servers=("clok",), skills=("greeting",), agents=("reader",)))
    said = validate(repo)
    assert (said.code, said.out) == (3, "")
    where = f"{tier}: T0/00-all: "
    server, skill, agent = said.err.partition(f"scylla-gha: {where}")[2].split(f"\n{where}")
    assert server == "mcp: 'clok' is not in config/mcp/ of this repository or of the toolkit; did you mean \"clock\"?"
    assert skill == f"{repo}/{SKILL_AT}: there is no such file; write it, with a front matter of name and description"
    assert agent == (f"{repo}/{AGENT_AT}:3: the front matter is not valid YAML: mapping values are not allowed in this "
                     "context; put a text with a colon in quotes\n")  # fmt: skip


def test_the_schemas_are_written_and_then_current(tmp_path: Path) -> None:
    assert scylla("schemas", cwd=tmp_path).code == 0
    written = {path.name: path.read_text() for path in (tmp_path / "config" / "schemas").iterdir()}
    assert written == schemas()
    assert (tmp_path / "docs/yaml-reference.md").read_text() == yaml_reference()
    assert scylla("schemas", "--check", cwd=tmp_path).code == 0


def test_a_schema_that_is_missing_or_old_is_named_and_not_written(tmp_path: Path) -> None:
    said = scylla("schemas", "--check", "--into", "here", cwd=tmp_path)
    assert (said.code, said.out) == (3, "")
    assert "here/experiment.json: is not up to date with the code; run `scylla-gha schemas`" in said.err
    assert list(tmp_path.iterdir()) == []
    scylla("schemas", "--into", "here", cwd=tmp_path)
    (tmp_path / "here" / "tier.json").write_text("{}")
    assert "here/tier.json: is not up to date" in scylla("schemas", "--check", "--into", "here", cwd=tmp_path).err
    scylla("schemas", cwd=tmp_path)
    (tmp_path / "docs/yaml-reference.md").write_text("# Old\n")
    said = scylla("schemas", "--check", cwd=tmp_path)
    assert (said.code, "docs/yaml-reference.md: is not up to date" in said.err) == (3, True)


def test_the_reference_names_each_key_with_type_default_and_meaning() -> None:
    page = yaml_reference()
    keys = {key for text in schemas().values() for key in json.loads(text)["properties"]}
    assert {key for key in keys if f"| `{key}` |" not in page} == set()
    assert "| `limits` | [TrialLimits](#experiment-triallimits) |" in page
    assert "\n### experiment: TrialLimits\n" in page
    assert "| `attempts` | integer ≥ 1, ≤ 10 | `3` |" in page
    assert "| `question` | string |  |" in page, "a required key has no default"
    assert (toolkit_root() / "docs/yaml-reference.md").read_text(encoding="utf-8") == page
