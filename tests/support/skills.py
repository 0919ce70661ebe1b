"""Skills of tests: a folder `tally` with SKILL.md and evals, and the command's result for it."""

import json
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

from scylla_gha.cli.main import cli
from scylla_gha.config.library import Library
from scylla_gha.errors import ConfigError
from scylla_gha.skills.report import check_skills
from scylla_gha.skills.session import Kind, PartMaker, SkillPart, SkillRequest

DESCRIPTION = "Tallies the columns of small ledgers. Use it when someone asks for sums of a ledger file."
FRONT = f"name: tally\ndescription: {DESCRIPTION}"


def write_skill(folder: Path, front: str = FRONT, body: str = "# tally\n") -> Path:
    """Write a skill; return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\n{front}\n---\n\n{body}")
    return folder


def write_evals(skill: Path, value: Any, name: str = "evals.json") -> Path:
    """Write a file of evals: a text as it is, else as JSON."""
    path = skill / "evals" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return skill


def checked(path: Path) -> dict[str, Any]:
    """Return what `skill --json` prints of a folder."""
    result = CliRunner().invoke(cli, ["skill", str(path), "--json"])
    assert result.exception is None or isinstance(result.exception, ConfigError), result.exception
    value: dict[str, Any] = json.loads(result.stdout)
    return value


def one_skill(path: Path) -> dict[str, Any]:
    """Return the only skill of a folder; its entries are all counted."""
    (skill,) = checked(path)["skills"]
    for file in skill["files"]:
        assert file["entries"] == file["read"] + file["skipped"] + file["in_error"]
    assert isinstance(skill, dict)
    return skill


def messages(skill: dict[str, Any], *levels: str) -> list[str]:
    """Return the messages of these levels (default: all)."""
    return [each["message"] for each in skill["findings"] if not levels or each["level"] in levels]


def made_parts(maker: PartMaker, kind: Kind, root: Path, **options: Any) -> tuple[list[SkillPart], list[str]]:
    """The parts that a maker of suites makes of the skills in a folder, and the lines that it says."""
    lines: list[str] = []
    values: dict[str, Any] = {
        "root": root / "skills",
        "out": root / "runs",
        "library": Library.here(Path(__file__).parents[2]),
        "kinds": (kind,),
        "model": "claude-sonnet-5",
        "agent": "claude-code@2.1.332",
        "judges": ("claude-opus-5", "claude-sonnet-5"),
        "repetitions": 3,
        "base": "",
        "against": ("none", "base"),
        "distractors": "repo",
        "evals": (),
        "trigger_repetitions": 3,
        "trigger_turns": 5,
        "queries": (),
        "strict": False,
        "budget_usd": 5.0,
        "sandbox": "auto",
        "jobs": 1,
        "yes": True,
        "allow_exposed_keys": False,
    }
    check = check_skills(root / "skills", None, lambda _, __: None)
    with click.Context(click.Command("skill")):  # locks of folders end with it
        return list(maker(SkillRequest(**{**values, **options}), check, lines.append)), lines
