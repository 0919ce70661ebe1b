"""Suites of a skill's evals: what an agent gets, what code decides, and what judges see."""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.config.library import Library
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.errors import ConfigError
from scylla_gha.judge.prompt import JudgeEvidence, blind_input
from scylla_gha.model.plan import Arm
from scylla_gha.model.scenario import AnswerCondition
from scylla_gha.skills.evals import eval_parts
from scylla_gha.skills.prompt_calls import without_calls
from scylla_gha.skills.session import SkillPart
from scylla_gha.skills.suites import placed
from tests.support.git import shell
from tests.support.skills import made_parts

ROOT = Path(__file__).parents[2]
FRONT = "---\nname: tally\ndescription: Sums columns. Use it for totals.\n---\n"


def write_skill(root: Path, *evals: dict[str, Any], text: str = "Add.") -> Path:
    folder = root / "skills" / "tally"
    (folder / "evals" / "files").mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"{FRONT}{text}\n")
    (folder / "evals" / "files" / "pots.csv").write_text("1,2\n")
    (folder / "evals" / "evals.json").write_text(json.dumps({"evals": evals}))
    return folder


def made(root: Path, **options: Any) -> tuple[list[SkillPart], list[str]]:
    return made_parts(eval_parts, "evals", root, **options)


@pytest.fixture(autouse=True)
def _no_pull_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_BASE_REF", raising=False)


def scenario(part: SkillPart, name: str) -> ScenarioFolder:
    return Library((part.suite, ROOT)).scenario(name)


def one(root: Path, **entry: Any) -> ScenarioFolder:
    write_skill(root, {"id": 1, "prompt": "Sum pots.csv", "expectations": ["it sums"], **entry})
    (part,), _ = made(root)
    return scenario(part, "001-eval")


def test_an_eval_is_a_scenario_with_one_item_for_each_assertion(tmp_path: Path) -> None:
    folder = one(
        tmp_path,
        expected_output="3",
        expectations=["The reply names the sum", "It reads references/sums.md"],
        must_not_have=["an apology in the reply"],
        checks=[
            {"type": "output_contains", "pattern": "3"},
            {"type": "output_not_contains", "pattern": "4", "text": "no 4"},
            {"cmd": "test -s out.txt", "expect_substring": "a b", "text": "It writes"},
        ],
    )
    assert [(item.id, item.type, item.points) for item in folder.rubric.items] == [
        (name, "binary", 1.0) for name in ("A1", "A3", "A4", "A5", "A6", "S2")
    ]
    assert [(category.id, category.weight) for category in folder.rubric.categories] == [
        ("assertions", 1.0),
        ("about_the_skill", 0.0),
    ]
    assert folder.rubric.items[-2].text == "This does not hold: an apology in the reply"
    points = {point.id: point for point in folder.scenario.checkpoints}
    assert points["assertion-3"].answer == AnswerCondition(matches=("3",))
    assert points["assertion-4"].answer == AnswerCondition(never_matches=("4",))
    assert points["assertion-5"].run == "sh -c 'test -s out.txt'"
    assert points["assertion-5"].stdout_matches == "a\\ b"
    assert folder.scenario.validation.expected == "3"
    assert folder.scenario.answers
    assert folder.scenario.task.timeout_seconds == 600


def test_an_expected_text_alone_is_the_judged_item(tmp_path: Path) -> None:
    folder = one(tmp_path, expectations=[], expected_output="It says 3")
    assert [item.text for item in folder.rubric.items] == ["It says 3"]
    assert folder.scenario.validation.expected is None


def test_files_are_where_the_prompt_names_them(tmp_path: Path) -> None:
    write_skill(
        tmp_path,
        {"id": 1, "prompt": "Sum data/in/pots.csv.", "files": ["evals/files/pots.csv"], "checks": ["a"]},
        {"id": "b", "prompt": "Sum it", "files": ["evals/files/pots.csv"], "checks": ["a"]},
        {"id": 3, "prompt": "Sum it", "files": {"x/y.txt": "text"}, "checks": ["a"]},
    )
    (part,), _ = made(tmp_path)
    found = [
        str(path.relative_to(part.suite / "fixtures"))
        for path in (part.suite / "fixtures").rglob("*.*")
        if path.is_file()
    ]
    assert sorted(found) == [
        "skill-tally.000-b/pots.csv",
        "skill-tally.001-eval/data/in/pots.csv",
        "skill-tally.003-eval/x/y.txt",
    ]
    assert placed("see ../pots.csv and /tmp/pots.csv", "pots.csv") == "pots.csv"


def test_answers_are_not_in_what_the_agent_gets(tmp_path: Path) -> None:
    skill = write_skill(tmp_path, {"id": 1, "prompt": "Sum it", "checks": ["a"]})
    for name in ("tests/a.py", "results/a.json", "tally-workspace/x", "scripts/sum.py"):
        (skill / name).parent.mkdir(exist_ok=True)
        (skill / name).write_text("42")
    (skill / "secret").symlink_to("/etc/passwd")
    (part,), _ = made(tmp_path)
    given = part.suite / "config" / "skills" / "tally"
    assert sorted(str(path.relative_to(given)) for path in given.rglob("*.*")) == ["SKILL.md", "scripts/sum.py"]
    assert not (given / "secret").exists()


CALLS = [
    ("/tally pots.csv", "pots.csv"),
    ("Use the tally skill to sum pots.csv", "sum pots.csv"),
    ("Sum pots.csv using the `tally` skill.", "Sum pots.csv"),
    ("$tally pots.csv", "pots.csv"),
    ("/tally", ""),
    ("Use the tally skill.", ""),
    ("Please run the tally skill and sum a.csv", "sum a.csv"),
    ("Sum pots.csv", "Sum pots.csv"),
]


@pytest.mark.parametrize(("prompt", "plain"), CALLS)
def test_calls_are_removed_from_a_prompt(prompt: str, plain: str) -> None:
    assert without_calls(prompt, ("tally",)) == plain


def test_a_prompt_that_calls_the_skill_is_another_one_without_it(tmp_path: Path) -> None:
    write_skill(
        tmp_path,
        {"id": 1, "prompt": "/tally pots.csv", "checks": ["a"]},
        {"id": 2, "prompt": "/tally", "checks": ["a"]},
        {"id": 3, "prompt": "/nothing here", "checks": ["a"]},
    )
    (part,), said = made(tmp_path)
    assert said == ["tally: eval 3 is left out: it calls /nothing, and no skill here has this name"]
    plan_of = Library((part.suite, ROOT))
    arms = {name: plan_of.tiers.variant(f"T1/{name}") for name in ("01-with", "02-without")}
    folder, alone = scenario(part, "001-eval"), scenario(part, "002-eval")
    arm = Arm(id="a", agent="claude-code", version=None, model="claude-sonnet-5", variant=arms["01-with"])
    without = arm.model_copy(update={"variant": arms["02-without"]})
    assert folder.for_arm(arm).prompt == "/tally pots.csv"
    assert folder.for_arm(without).prompt == "pots.csv"
    assert (alone.is_for(arm), alone.is_for(without)) == (True, False)


def test_the_last_version_is_an_arm_if_it_differs(tmp_path: Path) -> None:
    write_skill(tmp_path, {"id": 1, "prompt": "Sum it", "checks": ["a"]}, text="Old.")
    shell(tmp_path, "git init -q . && git add -A && git commit -qm old && git tag old")
    (part,), said = made(tmp_path, base="old")
    assert said == ["tally: is equal to its last version, which is not run"]
    assert not (part.suite / "config/skills-base").exists()
    write_skill(tmp_path, {"id": 1, "prompt": "Sum it", "checks": ["a"]}, text="New.")
    (part,), _ = made(tmp_path, base="old")
    library = Library((part.suite, ROOT))
    experiment = library.experiment("skill-tally")
    assert experiment.variants == ("T1/01-with", "T1/02-without", "T1/03-base")
    assert experiment.baseline == "t1-03-base.claude-code.claude-sonnet-5"
    digests = [library.tiers.variant(name).digest for name in ("T1/01-with", "T1/03-base")]
    assert len(set(digests)) == 2
    shell(tmp_path, "git commit -qam new && git checkout -q old")
    (part,), _ = made(tmp_path, base="main")
    assert Library((part.suite, ROOT)).tiers.variant("T1/03-base").digest == digests[0]
    with pytest.raises(ConfigError, match="--base: 'none' is no branch"):
        made(tmp_path, base="none")


def test_judges_see_no_call_of_the_skill(tmp_path: Path) -> None:
    folder = one(tmp_path, prompt="/tally pots.csv", expected_output="By the tally skill: 3")
    message = "I used the `tally` skill, tally:tally.\nBase directory for this skill: /x/tally\nThe tally is 3."
    blind = blind_input(
        folder.prompt, folder.scenario, folder.rubric, JudgeEvidence(b"+/tally\n", ("tally/a",), (), message)
    )
    shown = f"{blind.task} {blind.evidence.final_message} {blind.evidence.diff!r}"
    assert "/tally" not in shown
    assert "tally`" not in shown
    assert "Base directory" not in shown
    assert "The tally is 3." in shown
    assert "Expected result, which the agent did not see:\nBy the [skill]: 3" in blind.task


def test_a_declared_host_can_be_reached_and_an_undeclared_one_is_named(tmp_path: Path) -> None:
    write_skill(
        tmp_path,
        {"id": 1, "prompt": "Get https://pkg.example/a", "hosts": ["pkg.example"], "checks": ["a"]},
        {"id": 2, "prompt": "Get https://pkg.example/a", "checks": ["a"]},
    )
    (part,), said = made(tmp_path)
    assert said == ["tally: eval 2 is left out: it needs the network (pkg.example)"]
    assert scenario(part, "001-eval").scenario.network.hosts == ("pkg.example",)


def test_a_chosen_eval_is_run_from_the_suite_of_all(tmp_path: Path) -> None:
    write_skill(
        tmp_path,
        {"id": 1, "prompt": "Sum", "expectations": ["it sums"]},
        {"id": 2, "prompt": "Sum", "checks": [{"cmd": "test -s out.txt"}]},
        {"id": 3, "prompt": "Sum"},
    )
    (part,), said = made(tmp_path, evals=("1",))
    assert (part.only, part.runs_code, said) == (("001-eval--*",), False, [])
    assert {path.name for path in (part.suite / "scenarios/skill-tally").iterdir()} == {"001-eval", "002-eval"}
    assert made(tmp_path)[0][0].only == ()
    none, said = made(tmp_path, evals=("3",))
    assert (none, said) == ([], ["tally: eval 3 is left out: it has nothing to judge"])
