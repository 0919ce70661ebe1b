"""The pages of docs/ are true: local commands are run, those for GitHub are held against the real workflows."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from scylla_gha.cli.main import cli
from scylla_gha.onboarding.init import workflow_files
from scylla_gha.onboarding.toolkit import Toolkit
from tests.support.adopters import TOOLKIT, empty
from tests.support.command import COMMAND, scylla
from tests.support.pages import PAGES, ROOT, commands, yaml_parts
from tests.support.repository import environment

FOLDER = ".github/workflows/"
CALLER, REGRESSION = f"{FOLDER}scylla.yml", f"{FOLDER}scylla-regression.yml"
EVALUATE = ROOT / ".github/workflows/evaluate.yml"
REUSABLE = {f".github/workflows/{name}.yml" for name in ("evaluate", "regression", "site")}
LAPTOP = ROOT / "docs/on-a-laptop.md"
OURS = Toolkit("OWNER/scylla-gha", "COMMIT")  # as pages write it
WORKFLOWS = {Path(file.path).name: yaml.safe_load(file.content) for file in workflow_files("app", OURS)}


def test_what_can_be_run_here_runs(tmp_path: Path) -> None:
    """In an empty repository called `app`, each command once, in the order of the page that has most of them."""
    root, done = empty(tmp_path / "app"), set[str]()
    pages = sorted(PAGES, key=lambda page: -len(commands(page)))
    for words in (words for page in pages for words in commands(page)):
        assert words[0] == "scylla-gha", (
            f"{words} cannot be run by this test; mark it <!-- github --> if it needs GitHub"
        )
        if " ".join(words) not in done:
            said = scylla(
                *words[1:], cwd=root, env={**environment(tmp_path), "GITHUB_REPOSITORY": "", "SCYLLA_TOOLKIT": TOOLKIT}
            )
            assert said.code == 0, f"{words}: {said.err}"
            done.add(" ".join(words))
    assert len(done) >= 5


def inputs_of(workflow: dict[Any, Any], event: str) -> dict[str, Any]:
    """YAML reads the key `on` as true."""
    return dict((workflow[True][event] or {}).get("inputs", {}))


def on_github() -> list[tuple[str, list[str]]]:
    return [(page.name, words) for page in PAGES for words in commands(page, on_github=True)]


@pytest.mark.parametrize(
    ("page", "words"), on_github(), ids=lambda given: given if isinstance(given, str) else given[1]
)
def test_what_github_is_asked_fits_what_is_there(page: str, words: list[str]) -> None:
    plain = [word for word in words if not re.match(r"[A-Z_]+=", word)]
    if plain[0] == "scylla-gha":
        assert_known(plain[1:])
        return
    assert plain[0] == "gh", f"{page}: {words}"
    names = {word for word in plain if word.endswith(".yml")}
    known = {path.name: yaml.safe_load(path.read_text()) for path in EVALUATE.parent.glob("*.yml")}
    for name in names & (known | WORKFLOWS).keys():
        inputs = inputs_of((known | WORKFLOWS)[name], "workflow_dispatch")
        given = [plain[at + 1].partition("=")[0] for at, word in enumerate(plain) if word == "-f"]
        assert set(given) <= inputs.keys(), f"{page}: {words}"
    assert names <= known.keys() | WORKFLOWS.keys(), f"{page}: {words}"


def assert_known(words: list[str]) -> None:
    """A command of ours with options that it has."""
    command: click.Command | None = cli
    while isinstance(command, click.Group):
        word, *words = words
        command = command.get_command(click.Context(command), word)
    assert command is not None
    options = {name for param in command.params for name in param.opts}
    assert {word for word in words if word.startswith("--")} <= options


def callers() -> dict[str, dict[Any, Any]]:
    """Workflows that call the reusable one: those that `init` writes, and those that pages show."""
    shown = {f"{page.name} {at}": part for page in PAGES for at, part in enumerate(yaml_parts(page)) if "jobs" in part}
    return {**shown, **{path: WORKFLOWS[Path(path).name] for path in (CALLER, REGRESSION)}}


@pytest.mark.parametrize("name", callers())
def test_a_caller_gives_what_the_reusable_workflow_takes(name: str) -> None:
    (job,) = callers()[name]["jobs"].values()
    file, _, ref = job["uses"].partition("@")
    place = file.removeprefix(f"{OURS.repository}/")
    assert (place in REUSABLE, ref == OURS.ref) == (True, True)
    reusable = yaml.safe_load((ROOT / place).read_text())
    call = reusable[True]["workflow_call"]
    assert job["with"].keys() <= call["inputs"].keys()
    assert job.get("secrets", {}).keys() <= call.get("secrets", {}).keys()
    rights = [right for each in reusable["jobs"].values() for right in each.get("permissions", {}).items()]
    wanted = {name: "write" if (name, "write") in rights else how for name, how in rights}
    assert all(job["permissions"].get(name) in {how, "write"} for name, how in wanted.items())


def test_what_a_page_tells_to_uncomment_is_there() -> None:
    texts = {file.path: file.content.decode() for file in workflow_files("app", OURS)}
    parts = [
        ("workflows.md", REGRESSION, "schedule"),
        ("tutorial.md", f"{FOLDER}scylla-pull-request.yml", "pull_request"),
        ("workflows.md", f"{FOLDER}scylla-comment.yml", "issue_comment"),
    ]
    for page, path, event in parts:
        triggers = [part[True] for part in yaml_parts(ROOT / "docs" / page) if True in part]  # the key `on` is true
        (shown,) = (trigger for trigger in triggers if event in trigger)
        bare = re.sub(
            r"^(\s*)# (?=\s*(schedule|- cron|issue_comment|types|pull_request|paths))",
            r"\1",
            texts[path],
            flags=re.MULTILINE,
        )
        assert yaml.safe_load(bare)[True][event] == shown[event]


def test_the_comment_that_the_tutorial_shows_is_one_that_the_toolkit_makes() -> None:
    page = (ROOT / "docs/tutorial.md").read_text()
    (shown,) = re.findall(r"<!-- golden: comment-win.md -->\n~~~text\n(.*?)~~~", page, re.DOTALL)
    assert (ROOT / "tests/golden/comment-win.md").read_text().startswith(shown)
    assert "better" in shown


def test_a_toolkit_pinned_by_a_commit_is_written_everywhere() -> None:
    toolkit = Toolkit("octo-org/scylla-gha", "ab" * 20)
    assert all(OURS.ref not in file.content.decode() for file in workflow_files("app", toolkit))


def test_the_lines_for_shells_complete_commands() -> None:
    lines = dict(re.findall(r"^\| (\w+) \| `([^`]*_SCYLLA_GHA_COMPLETE[^`]*)`", LAPTOP.read_text(), re.MULTILINE))
    assert lines.keys() == {"bash", "zsh", "fish"}
    env = {**os.environ, "PATH": f"{Path(COMMAND).parent}:{os.environ['PATH']}"}

    def run(script: str) -> str:
        return subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, check=True).stdout

    typed = "COMP_WORDS=(scylla-gha doc); COMP_CWORD=1; _scylla_gha_completion scylla-gha; echo ${COMPREPLY[*]}"
    assert run(f"{lines['bash']}; {typed}") == "doctor\n"
    for shell in ("zsh", "fish"):
        (variable,) = re.findall(r"_SCYLLA_GHA_COMPLETE=\w+", lines[shell])
        assert f"_SCYLLA_GHA_COMPLETE={shell}_complete" in run(f"{variable} scylla-gha")


def test_the_settings_of_an_editor_give_each_file_the_schema_of_its_first_line() -> None:
    (block,) = re.findall(r"```json\n(.+?)```", LAPTOP.read_text(), re.DOTALL)
    for schema, pattern in json.loads(block)["yaml.schemas"].items():
        first_lines = {path.read_text().partition("\n")[0].rpartition("/")[2] for path in ROOT.glob(pattern)}
        assert first_lines == {Path(schema).name}, pattern
