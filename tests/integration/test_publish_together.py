"""Many who publish at once, over git as it is: nothing is lost, nothing is there twice."""

import subprocess
from pathlib import Path

from scylla_gha.results_branch.stored_runs import StoredRun, index_entries
from tests.support.branch import BRANCH, bare, copy_of, paths, reported
from tests.support.command import COMMAND, scylla
from tests.support.git import shell
from tests.support.githttp import BASIC, TOKEN, serving
from tests.support.records import make_result
from tests.support.sent import CELLS, rows_text

AT_ONCE = 8


def test_eight_processes_publish_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    server = bare(tmp_path)
    argv = [COMMAND, "publish", "branch", "demo", "--branch", BRANCH, "--remote", str(server)]
    wrote: dict[str, bytes] = {}
    for run in range(AT_ONCE):
        rows = [make_result(cell, seconds=float(run)) for cell in CELLS]
        reported(tmp_path / f"{run}" / "runs" / "demo", *rows)
        wrote[f"demo/{run}-1"] = rows_text(rows)
    started = [subprocess.Popen([*argv, "--run", str(run), "--attempt", "1"], cwd=tmp_path / str(run),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
               for run in range(AT_ONCE)]  # fmt: skip
    said = [process.communicate(timeout=300) for process in started]
    assert [process.returncode for process in started] == [0] * AT_ONCE, said
    copy = copy_of(tmp_path, server)
    found = {str(entry.name): b"".join(StoredRun(copy, entry).rows()) for entry in index_entries(copy)}
    assert found == wrote
    assert len([path for path in paths(server) if path.startswith("v1/")]) == AT_ONCE * 4
    page = shell(server, f"git show {BRANCH}:README.md")
    assert all(f"(../../actions/runs/{run})" in page for run in range(AT_ONCE))
    assert shell(server, f"git rev-list --count {BRANCH}") == str(AT_ONCE)
    assert shell(server, f"git rev-list --count --merges {BRANCH}") == "0"
    assert shell(server, f"git log --diff-filter=MDRT --format=%h {BRANCH} -- v1") == ""  # nothing was changed
    shell(server, "git fsck --strict --no-dangling")


def test_four_processes_publish_the_same_run_and_it_is_there_once(tmp_path: Path) -> None:
    server = bare(tmp_path)
    reported(tmp_path / "runs" / "demo")
    argv = [COMMAND, "publish", "branch", "demo", "--branch", BRANCH, "--remote", str(server), "--run", "7"]
    started = [subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    said = [process.communicate(timeout=300)[1].decode() for process in started]
    assert sorted("already published" in line for line in said) == [False, True, True, True], said
    assert shell(server, f"git rev-list --count {BRANCH}") == "1"


def test_the_token_logs_in_over_http_and_is_in_no_argument_file_or_message(tmp_path: Path) -> None:
    server = bare(tmp_path)
    shell(server, "git config http.receivepack true")
    reported(tmp_path / "runs" / "demo")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with serving(tmp_path) as (url, seen):
        env = {"GITHUB_SERVER_URL": url, "GITHUB_REPOSITORY": "server.git", "GITHUB_RUN_ID": "7",
               "TMPDIR": str(scratch), "GITHUB_TOKEN": TOKEN}  # fmt: skip
        said = scylla("publish", "branch", "demo", "--branch", BRANCH, cwd=tmp_path, env=env)
        assert said.code == 0, said.err
        listed = scylla("results", "list", "--json", cwd=tmp_path, env=env)
        assert '"demo/7-1"' in listed.out
        refused = scylla(
            "publish", "branch", "demo", "--branch", BRANCH, cwd=tmp_path, env={**env, "GITHUB_TOKEN": "ghs_wrong"}
        )
        assert refused.code == 11
        assert "GITHUB_TOKEN if the repository is private" in refused.err
    told = said.out + said.err + listed.out + listed.err + refused.out + refused.err
    assert not any(secret in told for secret in (TOKEN, BASIC, "ghs_wrong"))
    assert seen == []
    assert list(scratch.iterdir()) == []  # what git was given to work with is gone
    assert not any(TOKEN.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_the_users_own_checkout_is_not_touched(tmp_path: Path) -> None:
    server = bare(tmp_path)
    reported(tmp_path / "work" / "runs" / "demo")
    work = tmp_path / "work"
    shell(work, f"git init -q .; git remote add origin {server}; echo hello > README; git add README; "
                "git commit -qm x; git push -q origin HEAD:main; echo changed > README; echo new > staged; "
                "git add staged")  # fmt: skip
    before = shell(work, "git status --porcelain=v2 --branch; git for-each-ref; ls -A .git")
    said = scylla("publish", "branch", "demo", "--branch", BRANCH, cwd=work)
    assert said.code == 0, said.err
    assert shell(work, "git status --porcelain=v2 --branch; git for-each-ref; ls -A .git") == before
    assert shell(server, "git for-each-ref --format='%(refname:short)'").split() == ["main", BRANCH]
