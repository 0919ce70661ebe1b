"""Text that strangers write, in lengths that they can write: none keeps the harness or the hub busy for seconds.

Each line took longer than its bound before its place was mended, since its time grew by the square of the length or
faster. Time is that of this process alone, so a busy machine changes nothing.
"""

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.github_api.actions import escape_command
from scylla_gha.github_api.reverts import reverted_numbers
from scylla_gha.github_com.identify import key_in, without_marker
from scylla_gha.hub.fixture import build_fixture
from scylla_gha.hub.git_store import GitRepository
from scylla_gha.hub.operations.git_data import read_tag
from scylla_gha.hub.operations.plain_yaml import read_document
from scylla_gha.hub.operations.workflow_events import start_for_push
from scylla_gha.hub.operations.workflow_expressions import check_text
from scylla_gha.interop.exporters.rows import category_of
from scylla_gha.judge.prompt import NamedFiles
from scylla_gha.mining.python_project import read_project
from scylla_gha.onboarding.task_from_history import title_and_prompt
from scylla_gha.readiness.intent_wording import intent_of_docstring, intent_of_subject
from scylla_gha.readiness.twin_merging import merge_functions
from scylla_gha.readiness.twin_names import safe_names
from scylla_gha.readiness.twin_texts import without_documentation, without_types

LONG = 1 << 16  # characters of a comment on GitHub
SECONDS = 2.0
LINES, SPACES, LETTERS = "\n" * LONG, " " * LONG, "a" * LONG


def seconds_of(run: Callable[[], object]) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


PLACES: dict[str, tuple[Callable[[], object], object]] = {
    "an agent's text in the log of a job": (lambda: escape_command(LINES), LINES),
    "body of a pull request that reverts": (lambda: reverted_numbers('Revert "x"', LINES, "o/r"), ()),
    "body of an issue, for its key": (lambda: key_in(LINES + "x"), None),
    "body of an issue, without its key": (lambda: without_marker(LINES + "x"), LINES + "x"),
    "command of an agent": (lambda: category_of("Bash", {"command": LINES}), "bash"),
    "subject of a commit": (lambda: title_and_prompt(f"x{SPACES}y")[0], f"X{SPACES}y"),
    "subject of a commit, as an intent": (lambda: intent_of_subject(LETTERS, ["foo"]), None),
    "docstring, as an intent": (lambda: intent_of_docstring(LETTERS, ["foo"]), None),
    "expressions without an end in a workflow": (lambda: check_text("${{" * 20_000), None),
    "path in a diff": (lambda: NamedFiles(patterns=("*a" * 8 + "b",)).rank("a" * 60, is_new=True), 3),
}


@pytest.mark.parametrize("place", list(PLACES))
def test_long_text_is_read_in_little_time(place: str) -> None:
    run, expected = PLACES[place]
    assert seconds_of(lambda: run() == expected or pytest.fail("it is read otherwise")) < SECONDS


@pytest.mark.parametrize("text", ["[" * 60_000, "{a: " * 15_000, "[a," * 20_000, "- [" * 20_000])
def test_a_workflow_that_nests_without_end_is_refused_in_little_time(text: str) -> None:
    def refused() -> None:
        with pytest.raises(ValueError, match="brackets that are not closed"):
            read_document(text.encode())

    assert seconds_of(refused) < SECONDS


def test_workflows_with_brackets_that_close_are_read() -> None:
    script = "run: '" + "[[ $a ]] && {x,y}; " * 1_000 + "'"
    assert read_document(script.encode()) == {"run": "[[ $a ]] && {x,y}; " * 1_000}


FIXTURE = """\
begin: 2026-01-05T09:00:00Z
users: {me: {login: octocat, permission: admin}}
repository: {owner: me, name: demo}
history:
  - commit: {key: long, branch: main, author: me, message: "A\\n\\nMESSAGE", files: {a.txt: a}}
"""


@pytest.mark.parametrize("message", ["\\n" * 30_000 + "x", "b\\n" * 20_000])
def test_the_message_of_a_pushed_commit_is_searched_in_little_time(message: str, tmp_path: Path) -> None:
    (tmp_path / "github.yaml").write_text(FIXTURE.replace("MESSAGE", message))
    world = build_fixture(tmp_path, tmp_path / "hub")
    world.hub.runner = lambda _, run: pytest.fail(f"there is no workflow to run, but {run}")
    sha = world.git.branch("main")
    push = lambda: start_for_push(world.owner, world.repository, "refs/heads/main", None, sha)  # noqa: E731
    assert seconds_of(push) < SECONDS


def test_the_tagger_of_a_pushed_tag_is_found_in_little_time(tmp_path: Path) -> None:
    git = GitRepository.create(tmp_path / "git")
    blob = git.run("hash-object", "-w", "--stdin", stdin=b"x").decode().strip()
    head = f"object {blob}\ntype blob\ntag t\ntagger {'a <' * 20_000}\n\nm\n"
    sha = git.run("hash-object", "-t", "tag", "-w", "--stdin", "--literally", stdin=head.encode()).decode().strip()
    assert seconds_of(lambda: read_tag(git, sha)) < SECONDS
    assert read_tag(git, sha).tagger is None


def test_a_fixture_may_not_use_what_has_no_linear_time(tmp_path: Path) -> None:
    """Its expressions are tried on what agents push, in the hub's process."""
    reviewers = """\
scripted_reviewers:
  - {reviewer: me, reviews: [{when: {files: [{path: a.txt, matches: "(?=a)b"}]}, event: APPROVE}]}
"""
    (tmp_path / "github.yaml").write_text(FIXTURE.replace("MESSAGE", "m") + reviewers)
    with pytest.raises(ConfigError, match=re.escape("(?=a)b")):
        build_fixture(tmp_path, tmp_path / "hub")


@pytest.mark.parametrize("text", ["-" * 100_000 + "1", "a" + ".b" * 100_000, "not " * 50_000 + "a"])
def test_python_that_the_parser_gives_up_on_is_left_as_it_is(text: str, tmp_path: Path) -> None:
    """CPython's parser ends with MemoryError or RecursionError there, which are no errors of syntax."""
    (tmp_path / "setup.py").write_text(text)
    assert read_project(tmp_path).requirements == read_project(tmp_path / "none").requirements
    assert without_types(text, lambda _: True) == without_documentation(text, lambda _: True) == text
    assert safe_names({"a.py": text}, (), ()) == []
    assert merge_functions({"a.py": text}, frozenset(), 1.0, 0).texts == {}
