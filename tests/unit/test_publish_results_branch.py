from pathlib import Path

import pytest

from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.model.publication import Origin
from scylla_gha.model.report import Report
from scylla_gha.publish.push_run import origin_of, push_run
from scylla_gha.results_branch.clone import GitRemote
from scylla_gha.results_branch.stored_runs import index_entries
from scylla_gha.store import read_record, write_record
from scylla_gha.store.run_folder import RunFolder
from tests.support.branch import BRANCH, NAME, bare, copy_of, reported
from tests.support.command import scylla
from tests.support.git import shell
from tests.support.sent import make_packing


def remote(tmp_path: Path) -> GitRemote:
    return GitRemote(f"file://{bare(tmp_path)}")


def test_a_run_of_this_machine_is_named_by_what_it_found(tmp_path: Path) -> None:
    to, folder = remote(tmp_path), reported(tmp_path / "demo")
    first, again = (push_run(folder, BRANCH, Origin(), remote=to) for _ in range(2))
    assert (first.new, again.new) == (True, False)
    assert first.entry.name == again.entry.name
    assert str(first.entry.name) == f"demo/local-{first.entry.content[:12]}-1"
    assert str(push_run(folder, BRANCH, Origin(), remote=to, name=NAME).entry.name) == "demo/7-1"


def test_without_a_report_there_is_nothing_to_publish(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"demo: plan\.json or report\.json is missing; run `scylla-gha collect"):
        push_run(RunFolder(tmp_path / "demo"), BRANCH, Origin(), remote=remote(tmp_path), name=NAME)


def test_a_replay_is_no_part_of_the_history(tmp_path: Path) -> None:
    to, folder = remote(tmp_path), reported(tmp_path / "demo")
    report = read_record(folder.report("json"), Report)
    assert report is not None
    write_record(folder.report("json"), report.model_copy(update={"replayed": True}))
    with pytest.raises(RefusedError, match="is a replay, which measures nothing, so it is not published on"):
        push_run(folder, BRANCH, Origin(), remote=to, name=NAME)
    assert index_entries(copy_of(tmp_path, tmp_path / "server.git")) == []


def test_the_command_line_takes_the_facts_of_the_workflow_run(tmp_path: Path) -> None:
    server, folder = bare(tmp_path), reported(tmp_path / "runs" / "demo")
    (folder.root / "shards.json").write_text(make_packing(wave=2).model_dump_json())
    env = {"GITHUB_RUN_ID": "12", "GITHUB_RUN_ATTEMPT": "3", "GITHUB_SHA": "a" * 40, "GITHUB_REF_NAME": "main",
           "GITHUB_REPOSITORY": "o/r"}  # fmt: skip
    for odd in ({"GITHUB_HEAD_REF": "main"}, {"GITHUB_REF_TYPE": "tag"}):  # a fork calls its branch as it likes
        assert origin_of(folder, Origin(), {**env, **odd}).branch is None
    args = ("publish", "branch", "demo", "--branch", BRANCH, "--remote", str(server))
    said = scylla(*args, cwd=tmp_path, env=env)
    assert said.code == 0, said.err
    (entry,) = index_entries(copy_of(tmp_path, server))
    assert said.out == f"{entry.folder}\n"
    assert str(entry.name) == "demo/12-3"
    assert entry.origin == Origin(repository="o/r", head="a" * 40, branch="main", campaign="c", wave=2)
    page = shell(server, f"git show {BRANCH}:{entry.folder}/readme.md")
    assert page.startswith("# demo\n")
    assert "(https://github.com/o/r/actions/runs/12#artifacts)" in page
    assert "already published" in scylla(*args, cwd=tmp_path, env=env).err


def test_a_pull_request_is_not_the_branch_that_the_workflow_ran_on(tmp_path: Path) -> None:
    server = bare(tmp_path)
    reported(tmp_path / "runs" / "demo")
    env = {"GITHUB_RUN_ID": "12", "GITHUB_SHA": "a" * 40, "GITHUB_REF_NAME": "main"}
    scylla("publish", "branch", "demo", "--branch", BRANCH, "--remote", str(server), "--pull", "5", "--head", "b" * 40,
           "--base", "a" * 40, "--campaign", "x", cwd=tmp_path, env=env)  # fmt: skip
    (entry,) = index_entries(copy_of(tmp_path, server))
    assert entry.origin == Origin(head="b" * 40, base="a" * 40, pull=5, campaign="x")


def test_a_run_id_must_be_the_name_of_a_folder(tmp_path: Path) -> None:
    reported(tmp_path / "runs" / "demo")
    bad = scylla("publish", "branch", "demo", "--branch", BRANCH, "--run", "../x", cwd=tmp_path)
    assert (bad.code, "--run ../x: 'demo' and '../x' become folder names" in bad.err) == (3, True)
