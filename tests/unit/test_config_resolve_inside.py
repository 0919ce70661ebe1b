from collections.abc import Callable
from pathlib import Path

import pytest

from scylla_gha.config.library import Library
from scylla_gha.config.materials import materials, resolve_inside
from scylla_gha.errors import ConfigError
from scylla_gha.model.variant import Treatment
from tests.support.library import write

SKILL = "---\nname: greet\ndescription: Greets.\n---\nGreet.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a skill, and beside it what its runner has."""
    write(tmp_path / "secret" / "token", "hush")
    write(tmp_path / "repo/config/skills/greet/SKILL.md", SKILL)
    write(tmp_path / "repo/config/skills/other/notes.md", "theirs")
    return tmp_path / "repo"


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("config/skills/greet/token", "../../../../secret/token"),
        ("config/skills/greet/more/home", "/"),
        ("config/skills/greet/notes.md", "../other/notes.md"),
        ("config/skills/greet/none", "../nothing"),
    ],
)
def test_a_link_that_leads_out_of_a_skill_is_refused(root: Path, link: str, target: str) -> None:
    (root / link).parent.mkdir(exist_ok=True)
    (root / link).symlink_to(target)
    with pytest.raises(ConfigError, match=f"{link}: is a symbolic link that leads out of"):
        materials(Treatment(skills=("greet",)), (root,))


@pytest.mark.parametrize("moved", ["config", "config/skills", "config/skills/greet", "config/skills/greet/SKILL.md"])
def test_what_lies_elsewhere_is_refused(root: Path, moved: str) -> None:
    (root / moved).rename(root.parent / "elsewhere")
    (root / moved).symlink_to(root.parent / "elsewhere")
    with pytest.raises(ConfigError, match="symbolic link"):
        materials(Treatment(skills=("greet",)), (root,))


def test_a_link_within_a_skill_is_followed(root: Path) -> None:
    (root / "config/skills/greet/again.md").symlink_to("SKILL.md")
    assert materials(Treatment(skills=("greet",)), (root,)).keys() == {"skills/greet"}


@pytest.mark.parametrize("folder", ["fixtures/app", "scenarios/mine/001-x", "config/experiments"])
def test_fixtures_scenarios_and_experiments_too(root: Path, folder: str) -> None:
    (root / folder).mkdir(parents=True)
    write(root / "scenarios/mine/001-x/scenario.yaml", "")
    (root / folder / "demo.yaml").symlink_to(root.parent / "secret" / "token")
    library = Library((root,))
    asks: dict[str, Callable[[], object]] = {
        "fixtures": lambda: library.fixture("app"),
        "scenarios": lambda: library.scenario("001-x"),
        "config": lambda: library.experiment("demo"),
    }
    with pytest.raises(ConfigError, match="symbolic link"):
        asks[folder.partition("/")[0]]()


def test_the_root_itself_may_be_reached_by_a_link(root: Path) -> None:
    (root.parent / "alias").symlink_to(root)
    skill = root.parent / "alias/config/skills/greet"
    assert resolve_inside(skill, (root.parent / "alias",)) == skill
