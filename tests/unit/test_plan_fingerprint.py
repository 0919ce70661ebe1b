import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.errors import RefusedError
from scylla_gha.images import SandboxImages
from scylla_gha.model.plan import Arm, Plan
from scylla_gha.model.sandbox import Tools
from scylla_gha.model.variant import Treatment
from scylla_gha.plan.cells import plan_cells
from scylla_gha.plan.reuse_results import environment_fingerprint, require_same_environment
from scylla_gha.plan.selection import CellSelection
from tests.support.agents import cli_agent
from tests.support.library import write, write_scenario, write_tier
from tests.support.records import make_experiment, make_scenario

VERSIONS: dict[str, str | None] = {"cli@2.0": "2.0"}


@pytest.fixture
def library(tmp_path: Path) -> Library:
    write_scenario(tmp_path, make_scenario(), files={"prompt.md": "Do.\n", "checks/a.py": "1\n"})
    write_tier(tmp_path, bare=Treatment(tools=()))
    return Library((tmp_path,))


def drawn(name: str) -> Callable[[Tools, Arm | None], str]:
    return lambda _, arm: f"{name}-{arm.agent if arm else 'checks'}"


def planned(library: Library, boxing: SandboxImages) -> Plan:
    experiment = make_experiment(agents=("cli@2.0",), variants=("T0/*",), models=("m",), baseline="t0-00-bare.cli.m")
    return plan_cells(experiment, library, {"cli@2.0": cli_agent("2.0")}, CellSelection(), images=boxing)


def check(made: Plan, before: dict[str, str], library: Library, boxing: SandboxImages, version: str = "2.0") -> None:
    here = environment_fingerprint(made, ConfigSources(library), boxing, {"cli@2.0": version})
    require_same_environment(made, before, here, library, boxing)


def test_on_the_same_footing_the_keys_hold(library: Library) -> None:
    boxing = SandboxImages("docker", drawn("image"))
    made = planned(library, boxing)
    before = environment_fingerprint(made, ConfigSources(library), boxing, VERSIONS)
    assert before["image of cli for 001-one"] == "image-cli"
    assert before["image of the checks of 001-one"] == "image-checks"
    check(made, before, library, boxing)


def test_without_images_none_is_named(library: Library) -> None:
    found = environment_fingerprint(
        planned(library, SandboxImages()), ConfigSources(library), SandboxImages(), VERSIONS
    )
    assert sorted(found) == [
        "agent cli", "checks and rubric of 001-one", "judges", "key version", "python", "sandbox",
        "solution of 001-one", "task of 001-one", "tools of 001-one", "variant T0/00-bare",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("scenarios/core/001-one/prompt.md", "Do more.\n", "task of 001-one: "),
        ("scenarios/core/001-one/checks/a.py", "2\n", "checks and rubric of 001-one: "),
        ("scenarios/core/001-one/solution/solution.patch", "x", "solution of 001-one: "),
        ("config/tiers/T0.yaml", "", "variant T0/00-bare: "),
    ],
)
def test_what_changed_since_is_named(library: Library, file: str, text: str, said: str) -> None:
    made = planned(library, SandboxImages())
    before = environment_fingerprint(made, ConfigSources(library), SandboxImages(), VERSIONS)
    fresh = library.roots[0].with_name(f"{library.roots[0].name}-now")  # a scenario is read once a process
    shutil.copytree(library.roots[0], fresh)
    write(fresh / file, text or (fresh / file).read_text().replace(" tools: []", " tools: [Read]"))
    with pytest.raises(RefusedError, match=said) as caught:
        check(made, before, Library((fresh,)), SandboxImages())
    assert "the planned keys are not valid here" in str(caught.value)


def test_another_agent_image_or_sandbox_is_named(library: Library) -> None:
    boxing = SandboxImages("docker", drawn("image"))
    made = planned(library, boxing)
    before = environment_fingerprint(made, ConfigSources(library), boxing, VERSIONS)
    with pytest.raises(RefusedError, match=r"^agent cli: 2\.0 when it was planned, 3\.1 here: the planned keys"):
        check(made, before, library, boxing, version="3.1")
    other = (
        "image of the checks of 001-one: image-checks when it was planned, new-checks here; image of cli for 001-one"
    )
    with pytest.raises(RefusedError, match=other):
        check(made, before, library, SandboxImages("docker", drawn("new")))
    with pytest.raises(RefusedError, match="sandbox: docker when it was planned, host here"):
        check(made, before, library, SandboxImages())


def test_many_differences_are_counted(library: Library) -> None:
    made = planned(library, SandboxImages())
    with pytest.raises(RefusedError, match=r"not known when it was planned.*; and 5 more: the planned keys"):
        check(made, {}, library, SandboxImages())


def test_a_key_that_differs_without_a_known_reason_is_refused_too(library: Library) -> None:
    made = planned(library, SandboxImages())
    before = environment_fingerprint(made, ConfigSources(library), SandboxImages(), VERSIONS)
    cells = tuple(cell.model_copy(update={"key": "other"}) for cell in made.cells)
    with pytest.raises(RefusedError, match=r"001-one--t0-00-bare\.cli\.m--r01: its key differs here"):
        check(made.model_copy(update={"cells": cells}), before, library, SandboxImages())
