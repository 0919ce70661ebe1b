"""Files that an agent plants in its own repository: none runs in the harness, hides or changes anything."""

from pathlib import Path

import pytest

from scylla_gha.prepare.start_state import StartState
from tests.support.git import shell
from tests.support.repository import Files, make_start, write_tree
from tests.support.workspaces import act

FILES: Files = {"code.py": "print(1)\n", "notes.txt": "kept\n", "crlf.txt": "a\r\n", "data.bin": b"\x00\x01"}
WORK = "echo 'print(2)' >code.py; echo new >new.py; printf 'a\\r\\nb\\r\\n' >crlf.txt; printf '\\0\\2' >data.bin\n"
WORKED = ("code.py", "crlf.txt", "data.bin", "new.py")
HOOKS = ("applypatch-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-index-change",
         "pre-applypatch", "pre-commit", "reference-transaction")  # fmt: skip

PLANTED_PROGRAMS = {
    "hooks": f"""
mkdir -p .git/hooks
for hook in {" ".join(HOOKS)}; do printf '#!/bin/sh\\ntouch CANARY\\n' >.git/hooks/$hook; done; chmod +x .git/hooks/*
""",
    "hooks elsewhere": """
mkdir hooks; printf '#!/bin/sh\\ntouch CANARY\\n' >hooks/post-index-change; chmod +x hooks/*
git config core.hooksPath "$PWD/hooks"
""",
    "fsmonitor": "git config core.fsmonitor 'touch CANARY; true'\n",
    "filter": """
git config filter.evil.clean 'touch CANARY; cat'; git config filter.evil.smudge 'touch CANARY; cat'
git config filter.evil.required true
echo '* filter=evil' >.gitattributes; mkdir -p .git/info; echo '* filter=evil' >.git/info/attributes
""",
    "long-running filter": """
git config filter.evil.process 'touch CANARY; false'; git config filter.evil.required true
echo '* filter=evil' >.gitattributes
""",
    "diff driver": """
git config diff.evil.command 'touch CANARY'; git config diff.external 'touch CANARY'
echo '* diff=evil' >.gitattributes
""",
    "text conversion": """
git config diff.evil.textconv 'touch CANARY; cat'; git config diff.evil.binary true
echo '* diff=evil' >.gitattributes
""",
    "included configuration": """
git config --file evil.config core.fsmonitor 'touch CANARY; true'; git config include.path ../evil.config
""",
    "work tree's own configuration": """
git config extensions.worktreeConfig true; git config --worktree core.fsmonitor 'touch CANARY; true'
""",
    "signatures": """
printf '#!/bin/sh\\ntouch CANARY\\n' >sign; chmod +x sign
git config gpg.program "$PWD/sign"; git config commit.gpgSign true
""",
}

HIDING = {
    "binary attribute": "echo '* binary' >.gitattributes",
    "no diff": "echo '* -diff' >.gitattributes; mkdir -p .git/info; echo '* -diff' >.git/info/attributes",
    "macro": "printf '[attr]hidden -diff -text\\n* hidden\\n' >.gitattributes",
    "attributes in a folder": "mkdir d; echo 1 >d/x; echo '* binary' >d/.gitattributes",
    "line ends": "echo '* text eol=crlf' >.gitattributes; git config core.autocrlf true",
    "encoding": "echo '* working-tree-encoding=UTF-16' >.gitattributes",
    "ident": "echo '* ident' >.gitattributes; echo '$Id: hidden $' >>new.py",
    "export and whitespace": "echo '* export-ignore whitespace=-trail' >.gitattributes",
    "ignored by its own rules": "echo '*' >.gitignore",
    "ignored in a folder": "mkdir d; echo 1 >d/x; echo '*' >d/.gitignore",
    "excluded": "mkdir -p .git/info; echo '*' >.git/info/exclude; git config core.excludesFile .git/info/exclude",
    "modes and links off": "git config core.fileMode false; git config core.symlinks false; chmod +x code.py",
    "case ignored": "git config core.ignoreCase true; git config core.precomposeUnicode true",
    "sparse checkout": "git config core.sparseCheckout 1; mkdir -p .git/info; echo /no >.git/info/sparse-checkout",
    "trusting old times": "git config core.trustctime false; git config core.checkStat minimal; touch -d @0 code.py",
    "broken configuration": "echo '[[[' >.git/config",
    "another work tree": "git config core.worktree /",
    "bare": "git config core.bare true",
    "another format": "git config extensions.unknown x; git config core.repositoryFormatVersion 99",
}

GIT_DIRECTORY = {
    "deleted": "rm -rf .git",
    "made anew": "rm -rf .git; git init -q .; git add -A; git commit -qm 'all in one'",
    "a file that points elsewhere": "mv .git ../elsewhere; echo 'gitdir: ../elsewhere' >.git",
    "a link": "mv .git ../elsewhere; ln -s ../elsewhere .git",
    "a link to nowhere": "rm -rf .git; ln -s /nowhere .git",
    "a pipe": "rm -rf .git; mkfifo .git",
    "without index": "rm .git/index",
    "broken index": "echo broken >.git/index",
    "locked index": "touch .git/index.lock",
    "without objects": "rm -rf .git/objects",
    "history rewritten": """
git add -A; git commit -q --amend -m 'never mind'; git reflog expire --expire=now --all; git gc -q --prune=now
""",
    "on no branch": "git checkout -q --orphan empty; git rm -rqf --cached .",
    "replaced commit": "git add -A; git commit -qm x; git replace HEAD~1 HEAD; git replace --graft HEAD",
    "in the middle of a rebase": "git add -A; git commit -qm x; git rebase -q --exec false HEAD~1 || true",
    "another work tree of it": "git worktree add -q ../other; echo 1 >../other/x",
}


@pytest.fixture
def start(tmp_path: Path) -> StartState:
    return make_start(tmp_path / "fixture", FILES)


@pytest.mark.parametrize("planted", PLANTED_PROGRAMS.values(), ids=PLANTED_PROGRAMS)
def test_no_planted_program_runs(start: StartState, tmp_path: Path, planted: str) -> None:
    canary = tmp_path / "canary"
    left = act(start, tmp_path / "w", f"{planted.replace('CANARY', str(canary))}\n{WORK}\nrm -f {canary}")
    assert not canary.exists()
    assert set(WORKED) <= set(left.diff.files)
    shell(left.workspace.repo, "git add -A || true; git diff HEAD || true; git commit -qm x || true")
    assert canary.exists(), "it was not planted well: a git that trusts the folder must run it"


@pytest.mark.parametrize("hiding", HIDING.values(), ids=HIDING)
def test_nothing_hides_a_change(start: StartState, tmp_path: Path, hiding: str) -> None:
    left = act(start, tmp_path / "w", f"{WORK}\n{hiding}")
    assert set(WORKED) <= set(left.diff.files)
    assert b"\n+print(2)\n" in left.patch, "text stays text"
    assert b"\n+b\r\n" in left.patch, "line ends stay what they are"


@pytest.mark.parametrize("git", GIT_DIRECTORY.values(), ids=GIT_DIRECTORY)
def test_the_agents_own_git_directory_does_not_matter(start: StartState, tmp_path: Path, git: str) -> None:
    assert act(start, tmp_path / "w", f"{WORK}\n{git}").diff.files == WORKED


def test_files_of_nested_repositories_are_files_like_others(start: StartState, tmp_path: Path) -> None:
    left = act(
        start,
        tmp_path / "w",
        """
mkdir inner empty; cd inner; git init -q; echo 1 >x; git add x; git commit -qm x; cd ../empty; git init -q; cd ..
git add inner 2>/dev/null; git commit -qm 'with a repository as a submodule'
""",
    )
    assert left.diff.files == ("inner/x",)


def test_a_submodule_is_its_files(start: StartState, tmp_path: Path) -> None:
    left = act(
        start,
        tmp_path / "w",
        """
git init -q ../other; (cd ../other; echo 1 >x; git add x; git commit -qm x)
git -c protocol.file.allow=always submodule --quiet add ../other sub; git commit -qm sub
""",
    )
    assert left.diff.files == (".gitmodules", "sub/x")


@pytest.mark.parametrize("name", [".GIT", ".Git", "d/.gIT"])
def test_what_git_takes_for_its_own_is_left_out_and_the_rest_kept(start: StartState, tmp_path: Path, name: str) -> None:
    left = act(start, tmp_path / "w", lambda repo: write_tree(repo, {f"{name}/config": "[", "new.py": ""}))
    assert left.diff.files == ("new.py",)


def test_a_workspace_that_is_gone_is_a_change_of_everything(start: StartState, tmp_path: Path) -> None:
    left = act(start, tmp_path / "w", 'rm -rf "$PWD"')
    assert left.diff.files == tuple(sorted(FILES))
    assert left.diff.skipped == ("./",)


def test_a_workspace_that_became_a_file_is_a_change_of_everything(start: StartState, tmp_path: Path) -> None:
    left = act(start, tmp_path / "w", 'here=$PWD; cd ..; rm -rf "$here"; echo 1 >"$here"')
    assert left.diff.files == tuple(sorted(FILES))
