from pathlib import Path
from typing import Any

import pytest

from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.config.model_names import LOCAL_PROVIDER, sdk_models
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.errors import ConfigError
from scylla_gha.model.sandbox import Tools
from scylla_gha.model.scenario import FixtureSource
from scylla_gha.model.variant import SystemPrompt, Treatment
from tests.support.delivery import make_inventory
from tests.support.library import (
    scenario_folder,
    write,
    write_experiment,
    write_model,
    write_prices,
    write_scenario,
    write_tier,
    write_yaml,
)
from tests.support.materials import AGENT, AGENT_AT, ALL, FILES
from tests.support.records import make_category, make_checkpoint, make_experiment, make_item, make_model, make_rubric
from tests.support.records import make_scenario as scenario
from tests.support.repository import write_tree


def stack(tmp_path: Path) -> tuple[Library, Path, Path]:
    """A library of a user's root before a toolkit's."""
    user, toolkit = tmp_path / "user", tmp_path / "toolkit"
    return Library((user, toolkit)), user, toolkit


def test_the_toolkit_brings_its_own_configuration() -> None:
    root = toolkit_root()
    assert (root / "config" / "tiers" / "T0.yaml").is_file()
    assert (root / "fixtures" / "hello-world").is_dir()


def test_a_library_is_the_users_repository_with_the_toolkit_behind_it(tmp_path: Path) -> None:
    assert Library.here(tmp_path).roots == (tmp_path.resolve(), toolkit_root())
    assert Library.here(toolkit_root()).roots == (toolkit_root(),)


def test_what_the_user_has_hides_the_toolkits_of_the_same_name(tmp_path: Path) -> None:
    library, user, toolkit = stack(tmp_path)
    for root, question in ((user, "mine"), (toolkit, "theirs")):
        write_experiment(root, make_experiment(question=question))
        write_scenario(root, scenario(title=question))
        write(root / "fixtures" / "one" / "file", question)
        write_model(root, make_model(provider=question))
    write_experiment(toolkit, make_experiment(id="other"))
    assert library.experiment("demo").question == "mine"
    assert library.experiment("other").id == "other"
    assert library.experiment_names() == ["demo", "other"]
    assert library.scenario("001-one").scenario.title == "mine"
    assert library.fixture("one") == user / "fixtures" / "one"
    assert library.models()["m"].provider == "mine"


def test_the_users_model_wins_whatever_its_file_is_called(tmp_path: Path) -> None:
    library, user, toolkit = stack(tmp_path)
    write_model(toolkit, make_model())
    write_yaml(user / "config" / "models" / "cheaper.yaml", make_model(provider="mine"))
    assert {name: model.provider for name, model in library.models().items()} == {"m": "mine"}


def test_scenarios_come_in_the_order_of_their_ids(tmp_path: Path) -> None:
    library, user, toolkit = stack(tmp_path)
    write_scenario(user, scenario(id="002-two"))
    write_scenario(toolkit, scenario(id="003-three"))
    write_scenario(toolkit, scenario(id="001-one"))
    assert list(library.scenarios) == ["001-one", "002-two", "003-three"]


def test_one_id_in_two_suites_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "scenarios" / "a" / "001-one" / "scenario.yaml", "")
    write(tmp_path / "scenarios" / "b" / "001-one" / "scenario.yaml", "")
    with pytest.raises(
        ConfigError, match=r"scenarios/b/001-one: the id '001-one' is taken by .*/a/001-one; rename one"
    ):
        _ = Library((tmp_path,)).scenarios


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (lambda lib: lib.experiment("dmo"), "experiment 'dmo': not found in config/experiments/"),
        (lambda lib: lib.experiment("dmo"), 'did you mean "demo"?'),
        (lambda lib: lib.experiment("x"), "there are: demo"),
        (lambda lib: lib.scenario("001-on"), 'did you mean "001-one"?'),
        (lambda lib: lib.fixture("x"), "fixture 'x': not found in fixtures/"),
        (lambda lib: lib.fixture("x"), "there are: none"),
    ],
)
def test_a_name_that_there_is_not_is_told_with_those_that_there_are(tmp_path: Path, ask: Any, expected: str) -> None:
    write_experiment(tmp_path, make_experiment())
    write_scenario(tmp_path)
    with pytest.raises(ConfigError) as caught:
        ask(Library((tmp_path,)))
    assert expected in str(caught.value)


@pytest.mark.parametrize("name", ["../demo", "../experiments/demo", "/etc/passwd", ""])
def test_a_name_is_no_path(tmp_path: Path, name: str) -> None:
    write_experiment(tmp_path, make_experiment())
    with pytest.raises(ConfigError, match="not found"):
        Library((tmp_path,)).experiment(name)


def test_an_experiment_may_be_any_yaml_file(tmp_path: Path) -> None:
    file = write_yaml(tmp_path / "elsewhere.yml", make_experiment(id="other"))
    assert Library(()).experiment(str(file)).id == "other"


def test_an_experiments_id_is_its_files_name(tmp_path: Path) -> None:
    write_yaml(tmp_path / "config" / "experiments" / "other.yaml", make_experiment())
    with pytest.raises(ConfigError, match=r"other.yaml: id: is 'demo', but the file is named 'other'; make them equal"):
        Library((tmp_path,)).experiment("other")


def test_variants_are_named_after_tier_and_sub_test(tmp_path: Path) -> None:
    bare = Treatment(system_prompt=SystemPrompt(replace=""))
    write_tier(tmp_path, vanilla=Treatment(), bare=bare)
    variants = Library((tmp_path,)).variants()
    assert {name: variant.treatment for name, variant in variants.items()} == {
        "T0/00-vanilla": Treatment(),
        "T0/01-bare": bare,
    }


def test_a_variant_carries_digests_of_what_it_names_wherever_it_lies(tmp_path: Path) -> None:
    library, user, toolkit = stack(tmp_path)
    write_tree(toolkit, FILES)
    write_tier(user, all=ALL)
    (before,) = library.variants().values()
    assert list(before.materials) == ["mcp/clock", "skills/greeting", "agents/reader"]
    write(toolkit / AGENT_AT, AGENT + "More.\n")
    assert Library(library.roots).variants()["T0/00-all"].digest != before.digest


def test_faults_of_what_a_variant_names_are_told_with_the_tier_that_names_it(tmp_path: Path) -> None:
    tier = write_tier(tmp_path, all=ALL)
    with pytest.raises(ConfigError) as caught:
        Library((tmp_path,)).variants()
    said = str(caught.value).splitlines()
    assert [line.partition(" is not in ")[0] for line in said] == [
        f"{tier}: T0/00-all: {name}" for name in ("mcp: 'clock'", "skills: 'greeting'", "agents: 'reader'")
    ]


def test_an_inventory_is_of_one_agent_at_one_version(tmp_path: Path) -> None:
    library, user, toolkit = stack(tmp_path)
    write_yaml(toolkit / "config" / "inventories" / "cli-1.yaml", make_inventory())
    assert library.inventory("cli", "1") == make_inventory()
    assert [library.inventory(*which) for which in (("cli", "2"), ("cli", None), ("other", "1"))] == [None] * 3
    write_yaml(user / "config" / "inventories" / "cli-1.yaml", make_inventory(tools=()))
    assert library.inventory("cli", "1") == make_inventory(tools=())
    assert library.inventories() == [make_inventory(tools=())]


def test_an_inventory_of_another_version_than_its_file_says_is_refused(tmp_path: Path) -> None:
    path = write_yaml(tmp_path / "config" / "inventories" / "cli-2.yaml", make_inventory())
    library = Library((tmp_path,))
    said = rf"{path}: describes cli-1, but the file is named 'cli-2'; make them equal"
    with pytest.raises(ConfigError, match=said):
        library.inventory("cli", "2")
    with pytest.raises(ConfigError, match=said):
        library.inventories()


def test_a_sub_test_given_in_two_files_is_refused(tmp_path: Path) -> None:
    tier = write_tier(tmp_path, vanilla=Treatment())
    write(tier.with_name("mine.yaml"), tier.read_bytes())
    with pytest.raises(ConfigError, match="sub-test T0/00-vanilla is given twice; rename one"):
        Library((tmp_path,)).variants()


def test_a_scenario_is_checked_when_it_is_read(tmp_path: Path) -> None:
    write_scenario(tmp_path, rubric=make_rubric(make_category(weight=0.5)))
    with pytest.raises(ConfigError, match=r"the weights sum to 0\.5, not 1"):
        Library((tmp_path,)).scenario("001-one")


def test_a_scenario_folder_knows_its_files(tmp_path: Path) -> None:
    patches: dict[str, str | bytes] = {
        "solution/solution.patch": "",
        "wrong/b.patch": "",
        "wrong/a.patch": "",
        "wrong/c.txt": "",
    }
    path = write_scenario(tmp_path, files=patches)
    folder = Library((tmp_path,)).scenario("001-one")
    assert folder.prompt == "Do one thing.\n"
    assert folder.checks == path / "checks"
    assert folder.solution == path / "solution" / "solution.patch"
    assert [patch.name for patch in folder.wrong] == ["a.patch", "b.patch"]


@pytest.mark.parametrize(
    ("other", "is_given"),
    [
        pytest.param(scenario_folder(prompt="Do another thing.\n"), True, id="prompt"),
        pytest.param(scenario_folder(prompt="Do one thing."), True, id="last newline"),
        pytest.param(
            scenario_folder(scenario=scenario(source=FixtureSource(fixture="one", hash="1" * 40))), True, id="start"
        ),
        pytest.param(scenario_folder(scenario=scenario(tools=Tools(python={"ruff": "1"}))), True, id="packages"),
        pytest.param(scenario_folder(scenario=scenario(tools=Tools(system=("git",)))), True, id="programs"),
        pytest.param(scenario_folder(scenario=scenario(container="python:3.12")), True, id="container"),
        pytest.param(scenario_folder(scenario=scenario(network={"hosts": ("pkg.test",)})), True, id="hosts"),
        pytest.param(scenario_folder(Path("/elsewhere")), False, id="place"),
        pytest.param(
            scenario_folder(scenario=scenario(title="Two", difficulty="hard", tiers=("T1",))), False, id="labels"
        ),
        pytest.param(scenario_folder(scenario=scenario(checkpoints=(make_checkpoint(file="x"),))), False, id="checks"),
    ],
)
def test_the_task_digest_covers_what_an_agent_is_given(other: ScenarioFolder, *, is_given: bool) -> None:
    assert (other.task_digest != scenario_folder().task_digest) is is_given


def test_contents_of_overrides_are_in_the_task_digest_binary_ones_too(tmp_path: Path) -> None:
    one = scenario(overrides={".cli/cookie": "cookie.bin"})
    digests = []
    for content in (b"\xff\x00", b"\xff\x01"):
        write(tmp_path / "cookie.bin", content)
        digests.append(scenario_folder(tmp_path, one).task_digest)
    assert digests[0] != digests[1]


def test_the_solution_digest_covers_the_solution(tmp_path: Path) -> None:
    missing = scenario_folder(tmp_path).solution_digest
    write(tmp_path / "solution" / "solution.patch", "diff")
    assert scenario_folder(tmp_path).solution_digest != missing


@pytest.mark.parametrize(
    ("change", "changes"),
    [("verify.py", True), ("data/deep.txt", True), ("__pycache__/verify.pyc", False)],
)
def test_contents_of_hidden_checks_are_in_the_judging_digest(tmp_path: Path, change: str, changes: bool) -> None:
    write(tmp_path / "checks" / "verify.py", "1")
    before = scenario_folder(tmp_path).judging_digest
    write(tmp_path / "checks" / change, "2")
    assert (scenario_folder(tmp_path).judging_digest != before) is changes


@pytest.mark.parametrize(
    "other",
    [
        scenario_folder(scenario=scenario(checkpoints=(make_checkpoint(required=False),))),
        scenario_folder(scenario=scenario(tools=Tools(python={"ruff": "1"}))),
        ScenarioFolder(Path("001-one"), scenario(), make_rubric(pass_threshold=0.7), ""),
        ScenarioFolder(Path("001-one"), scenario(), make_rubric(make_category(make_item(points=2.0))), ""),
    ],
    ids=["checkpoint", "tools", "threshold", "item"],
)
def test_what_judges_is_in_the_judging_digest(other: ScenarioFolder) -> None:
    assert other.judging_digest != scenario_folder().judging_digest


def test_the_prompt_is_not_in_the_judging_digest() -> None:
    assert scenario_folder(prompt="x").judging_digest == scenario_folder().judging_digest


def test_another_rubric_judges_the_same_task(tmp_path: Path) -> None:
    write_scenario(tmp_path)
    own = Library((tmp_path,)).scenario("001-one")
    strict = make_rubric(make_category(make_item(id="Q1", type="subjective", checks=())), pass_threshold=0.9)
    other = own.with_rubric(write_yaml(tmp_path / "strict.yaml", strict))
    assert (other.rubric, other.scenario, other.prompt) == (strict, own.scenario, own.prompt)
    assert (other.task_digest, other.judging_digest != own.judging_digest) == (own.task_digest, True)


def test_another_rubric_that_does_not_fit_is_refused_with_all_its_faults(tmp_path: Path) -> None:
    write_scenario(tmp_path)
    own = Library((tmp_path,)).scenario("001-one")
    misfit = make_rubric(make_category(make_item(checks=("gone",)), weight=0.5))
    file = write_yaml(tmp_path / "strict.yaml", misfit)
    with pytest.raises(ConfigError) as error:
        own.with_rubric(file)
    assert str(error.value).splitlines() == [
        f"{file}: for 001-one: categories: the weights sum to 0.5, not 1",
        f"{file}: for 001-one: item F1: there is no checkpoint 'gone'; did you mean \"done\"?",
    ]


def test_a_price_list_takes_the_place_of_the_models_own_prices(tmp_path: Path) -> None:
    library, user, toolkit = stack(tmp_path)
    write_model(toolkit, make_model())
    write_model(toolkit, make_model(id="other"))
    write_prices(user, "then", "m")
    assert library.price_list_names() == ["then"]
    listed = library.priced_models("then")
    assert listed["m"].price is not None
    assert (listed["m"].price.input, listed["m"].price.source) == (7.0, "a table")
    assert listed["other"].price is None, "what a list does not name has no known price under it"
    assert library.priced_models(None) == library.models()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("now", "m", "then"), "name: is 'now', but the file is named 'then'; make them equal"),
        (
            ("then", "mm", "then"),
            "prices: 'mm' is not in config/models/; the nearest is m; add a file for the model there",
        ),
        (("them", "m", "them"), "price list 'then': not found in config/prices/"),
    ],
)
def test_a_price_list_that_does_not_fit_is_refused(tmp_path: Path, given: tuple[str, str, str], message: str) -> None:
    library, user, _ = stack(tmp_path)
    name, model, file = given
    write_model(user, make_model())
    write_prices(user, name, model, file=file)
    with pytest.raises(ConfigError) as caught:
        library.priced_models("then")
    assert message in str(caught.value)


def test_the_toolkits_own_models_are_ids_that_the_sdk_knows_with_prices_and_the_papers_list() -> None:
    library = Library((toolkit_root(),))
    models = library.models()
    of_sdk = [name for name, model in models.items() if model.provider == "anthropic"]
    assert [name for name in of_sdk if name not in sdk_models()] == []
    assert len(of_sdk) < len(models)
    sold = {name: model for name, model in models.items() if model.provider != LOCAL_PROVIDER}
    assert [name for name, model in sold.items() if model.price is None or model.max_output_tokens is None] == []
    paper = library.priced_models("scylla-2026-01")
    rates = {
        name: (model.price.input, model.price.output) for name, model in paper.items() if model.price and name in sold
    }
    assert rates == {
        "claude-opus-4-5-20251101": (15.0, 75.0),
        "claude-sonnet-4-5-20250929": (3.0, 15.0),
        "claude-haiku-4-5-20251001": (1.0, 5.0),
    }
    assert "claude-haiku-4-5-20250929" not in sdk_models(), "the id of the paper is none"


def test_a_price_list_may_name_a_model_by_an_alias(tmp_path: Path) -> None:
    library, user, _ = stack(tmp_path)
    write_model(user, make_model(id="claude-sonnet-4-5-20250929"))
    write_prices(user, "then", "us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    price = library.priced_models("then")["claude-sonnet-4-5-20250929"].price
    assert price is not None
    assert price.source == "a table"
