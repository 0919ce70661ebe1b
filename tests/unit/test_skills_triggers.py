"""Suites of trigger queries, and what a trial says about its query."""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.config.library import Library
from scylla_gha.config.materials import skill_plugin
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.model.trial import Outcome, Trial, Uses
from scylla_gha.skills.session import SkillPart
from scylla_gha.skills.triggers import trial_of, trigger_parts
from tests.support.git import shell
from tests.support.records import make_attempt, make_cell, make_trial
from tests.support.repository import write_tree
from tests.support.skills import made_parts, write_evals, write_skill

ROOT = Path(__file__).parents[2]
FRONT = "name: {0}\ndescription: Works with {0}. Use it when the user asks for {0}."
Said = list[str]


def repository(root: Path, **queries: Any) -> Path:
    """Write a skill for each name, with its file of trigger queries."""
    for name, entries in queries.items():
        folder = write_skill(root / "skills" / name, FRONT.format(name))
        if entries:
            write_evals(folder, entries, "triggers.json")
    return root


def made(root: Path, **options: Any) -> tuple[list[SkillPart], Said]:
    return made_parts(trigger_parts, "triggers", root, **options)


@pytest.fixture(autouse=True)
def _no_pull_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_BASE_REF", raising=False)


def scenarios(part: SkillPart) -> dict[str, ScenarioFolder]:
    """The scenarios of a suite by their prompts."""
    library = Library((part.suite, ROOT))
    names = [path.parent.name for path in part.suite.glob("scenarios/*/*/scenario.yaml")]
    return {library.scenario(name).prompt: library.scenario(name) for name in names}


def stops(part: SkillPart) -> dict[str, tuple[str, ...]]:
    return {text: found.scenario.stop.skills for text, found in scenarios(part).items() if found.scenario.stop}


def ask(text: str, label: Any) -> dict[str, Any]:
    return {"query": text, "should_trigger": label}


def test_queries_of_all_skills_are_one_suite_and_each_is_asked_once(tmp_path: Path) -> None:
    repository(
        tmp_path,
        tally=[ask("Sum the ledger", True), ask("Order the books", False), ask("Hi", False)],
        books=[ask("Order the books", True), ask("Sum the ledger", False)],
        third=[],
    )
    (part,), said = made(tmp_path)
    assert (part.kind, part.skill, part.experiment, said) == ("triggers", "skills", "skill-skills-triggers", [])
    assert stops(part) == {"Sum the ledger": ("tally",), "Order the books": ("books",), "Hi": ("tally",)}
    assert {path.name for path in (part.suite / "config/skills").iterdir()} == {"tally", "books", "third"}
    (found, *_) = scenarios(part).values()
    assert found.scenario.stop is not None
    assert (found.scenario.stop.answers, found.scenario.answers) == (5, True)
    fixtures = {path.name for path in (part.suite / "fixtures").iterdir()}
    assert fixtures == {"skill-skills-triggers.empty"}
    experiment = Library((part.suite, ROOT)).experiment(part.experiment)
    assert (experiment.repetitions, experiment.judges) == (3, ())


def test_without_distractors_each_skill_is_alone(tmp_path: Path) -> None:
    repository(tmp_path, tally=[ask("Sum", True)], books=[ask("Order", True)])
    parts, _ = made(tmp_path, distractors="none")
    assert [part.experiment for part in parts] == ["skill-books-triggers", "skill-tally-triggers"]
    installed = [{path.name for path in (part.suite / "config/skills").iterdir()} for part in parts]
    assert installed == [{"books"}, {"tally"}]


def test_calls_by_name_and_skills_of_users_are_not_asked(tmp_path: Path) -> None:
    repository(tmp_path, tally=[ask("/tally pots.csv", True), ask("Use the tally skill", True), ask("Sum", True)])
    private = write_skill(tmp_path / "skills/own", FRONT.format("own") + "\ndisable-model-invocation: true")
    write_evals(private, [ask("Keep it", True)], "triggers.json")
    (part,), said = made(tmp_path)
    assert list(stops(part)) == ["Sum"]
    assert "own: its queries are not run: only users can call it (disable-model-invocation)" in said
    assert "2 queries call a skill by its name, which no rate is about: not run" in said


def test_a_part_of_the_queries(tmp_path: Path) -> None:
    repository(tmp_path, tally=[ask("Sum the ledger", True), ask("Sum the pots", True)])
    (part,), _ = made(tmp_path, queries=("LEDGER",))
    assert [glob.partition("-")[2][:14] for glob in part.only] == ["sum-the-ledger"]
    assert made(tmp_path, queries=("nothing",))[0] == []
    assert made(tmp_path, kinds=("evals",))[0] == []


def test_labels_of_other_skills_and_plugins(tmp_path: Path) -> None:
    repository(tmp_path, tally=[ask("Order", "plug:books"), ask("Both", ["tally", "books"])], books=[])
    (part,), _ = made(tmp_path)
    assert stops(part) == {"Order": ("books",), "Both": ("books", "tally")}


def test_evals_with_labels_bring_their_files(tmp_path: Path) -> None:
    repository(tmp_path, tally=[])
    skill = tmp_path / "skills/tally"
    evals = [
        {
            "id": 1,
            "prompt": "Sum data/pots.csv",
            "files": ["evals/pots.csv"],
            "should_trigger": True,
            "expectations": ["It sums"],
        }
    ]
    write_evals(skill, {"evals": evals})
    (skill / "evals/pots.csv").write_text("1,2\n")
    (part,), _ = made(tmp_path)
    (found,) = scenarios(part).values()
    fixture = part.suite / "fixtures" / str(found.scenario.source.fixture)
    assert (fixture / "data/pots.csv").read_text() == "1,2\n"


def test_skills_of_a_plugin_are_installed_as_that_plugin(tmp_path: Path) -> None:
    repository(tmp_path, tally=[ask("Sum", True)])
    assert not (made(tmp_path)[0][0].suite / ".claude-plugin").exists()
    shell(tmp_path, "git init -q")  # the plugin's folder is searched up to the top of the repository
    write_tree(tmp_path, {".claude-plugin/plugin.json": '{"name": "ledgers"}'})
    (part,), _ = made(tmp_path)
    assert skill_plugin(part.suite / "config/skills/tally") == "ledgers"


def test_the_last_version_is_an_arm_if_it_differs(tmp_path: Path) -> None:
    repository(tmp_path, tally=[ask("Sum", True)], books=[])
    git = "git -c user.name=a -c user.email=a@b"
    shell(tmp_path, f"git init -q && git add -A && {git} commit -qm one && git tag before")
    assert "tally: is equal to its last version, which is not run" in made(tmp_path, base="before")[1]
    write_skill(tmp_path / "skills/tally", FRONT.format("tally") + " And more.")
    (part,), _ = made(tmp_path, base="before")
    assert Library((part.suite, ROOT)).experiment(part.experiment).variants == ("T1/01-installed", "T1/03-base")
    assert "And more" not in (part.suite / "config/skills-base/tally/SKILL.md").read_text()
    assert (part.suite / "config/skills-base/books/SKILL.md").is_file()


CELL = make_cell(scenario="000-sum")


def trial(outcome: Outcome, **given: Any) -> Trial:
    return make_trial(CELL, make_attempt(outcome=outcome, **given))


def used(**turns: int) -> Uses:
    return Uses(counts={}, turns={f"skill/{name}": turn for name, turn in turns.items()})


@pytest.mark.parametrize(
    ("outcome", "uses", "missing"),
    [
        (Outcome.COMPLETED, used(), None),
        (Outcome.COMPLETED, None, "unknown"),
        (Outcome.REFUSED, used(), None),
        (Outcome.TIMEOUT, used(), "timeout"),
        (Outcome.TIMEOUT, used(tally=2), None),
        (Outcome.AGENT_ERROR, used(), "agent_error"),
        (Outcome.PROVIDER_ERROR, used(tally=1), "provider_error"),
        (Outcome.DELIVERY_ERROR, used(tally=1), "delivery_error"),
    ],
)
def test_only_a_whole_conversation_is_a_no(outcome: Outcome, uses: Uses | None, missing: str | None) -> None:
    assert trial_of(CELL, trial(outcome, uses=uses)).missing == missing
    assert trial_of(CELL, None).missing == "not run"


def test_a_trial_says_what_was_used_read_and_refused_and_if_it_was_cut() -> None:
    uses = Uses(
        counts={"skill/tally": 1},
        turns={"skill/tally": 2, "skill/other": 1, "mcp/clock": 1},
        read=("skill/other",),
        refused={"skill/third": 1},
    )
    found = trial_of(CELL, trial(Outcome.COMPLETED, uses=uses, stopped="undecided", turns=5))
    assert (found.used, found.read, found.refused) == ({"tally": 2}, {"other": 1}, ("third",))
    assert found.undecided == 5
    assert json.loads(found.model_dump_json())["query"] == "000-sum"
    assert trial_of(CELL, trial(Outcome.COMPLETED, uses=uses, stopped="decided", turns=1)).undecided is None


def test_skills_of_one_plugin_are_delivered_as_it(tmp_path: Path) -> None:
    repository(tmp_path, tally=[{"query": "Sum the ledger", "should_trigger": True}], plot=None)
    (part,), _ = made(tmp_path)
    assert not (part.suite / ".claude-plugin").exists()
    for folder, is_plugin in (("skills/plot", False), ("skills", True)):  # of one skill alone, then of both
        (tmp_path / folder / ".claude-plugin").mkdir()
        (tmp_path / folder / ".claude-plugin/plugin.json").write_text('{"name": "books", "hooks": "./hooks.json"}')
        (part,), _ = made(tmp_path)
        assert (part.suite / ".claude-plugin/plugin.json").is_file() is is_plugin
    assert json.loads((part.suite / ".claude-plugin/plugin.json").read_text()) == {"name": "books"}


def test_a_chosen_query_is_asked_from_the_suite_of_all(tmp_path: Path) -> None:
    repository(tmp_path, tally=[ask("Sum the ledger", True), ask("Hi", False), ask("/tally pots.csv", True)])
    (part,), said = made(tmp_path, queries=("LEDGER",))
    assert set(stops(part)) == {"Sum the ledger", "Hi"}
    assert (part.only[0].startswith("000-sum-the-ledger-"), len(part.only), said) == (True, 1, [])
    parts, said = made(tmp_path, queries=("pots",))
    assert (parts, said) == ([], ["1 query calls a skill by its name, which no rate is about: not run"])
