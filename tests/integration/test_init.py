"""`scylla-gha init` as a team meets it: what it writes is proved and evaluated by the real commands."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from scylla_gha.onboarding.scaffold import new_file
from tests.support.adopters import DISCOUNT, TOOLKIT, commit, empty, till, web, words
from tests.support.command import Said, scylla
from tests.support.git import shell
from tests.support.repository import environment, write_tree
from tests.support.skills import write_skill


def run(root: Path, *args: str) -> Said:
    return scylla(*args, cwd=root, env=environment(root.parent))


def init(root: Path, *args: str, code: int = 0) -> Said:
    said = run(root, "init", "--toolkit", TOOLKIT, *args)
    assert said.code == code, said.err
    return said


def files(root: Path) -> dict[str, bytes]:
    found = (path for path in root.rglob("*") if path.is_file() and not path.is_relative_to(root / ".git"))
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def proves_and_evaluates(root: Path, name: str) -> str:
    """Show that the scaffold holds, and that its experiment tells oracle from nop; return what the proof printed."""
    checked = run(root, "validate")
    assert checked.code == 0, checked.err
    proved = run(root, "validate", f"scenarios/{name}", "--execute")
    assert proved.code == 0, proved.err
    assert "nop fails, solution passes" in proved.out
    done = run(root, "evaluate", name)
    assert done.code == 0, done.err
    report = json.loads((root / "runs" / name / "report.json").read_text())
    assert {arm["arm"]: arm["pass_rate"] for arm in report["arms"]} == {"nop": 0.0, "oracle": 1.0}
    return proved.out


def scenario_of(root: Path, name: str) -> Path:
    (found,) = (root / "scenarios" / name).glob("*/scenario.yaml")
    return found.parent


def declared(root: Path, name: str) -> dict[str, Any]:
    """Return the content of the suite's only scenario.yaml."""
    content: dict[str, Any] = yaml.safe_load((scenario_of(root, name) / "scenario.yaml").read_text())
    return content


@pytest.mark.parametrize("make", [empty, words])
def test_a_repository_without_tests_gets_a_small_example(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    root = make(tmp_path / "ours")
    init(root)
    proves_and_evaluates(root, "ours")
    if make is words:
        assert {str(path.relative_to(root)) for path in (root / "fixtures/ours").rglob("*.*")} == {
            "fixtures/ours/README.md", "fixtures/ours/main.f90",
        }  # fmt: skip


def test_a_python_repository_gets_a_task_whose_checks_refuse_solutions_that_only_fool_the_tests(tmp_path: Path) -> None:
    root = till(tmp_path / "till")
    init(root)
    scenario = scenario_of(root, "till")
    add_solutions_that_fool(root, scenario / "wrong")
    proof = proves_and_evaluates(root, "till")
    assert "wrong/left-early fails" in proof
    assert "wrong/steered fails" in proof
    assert scenario.name == "101-a-discount-in-percent"
    assert (scenario / "prompt.md").read_text() == "A discount in percent\n\nNo item of 1 or less gets it.\n"
    assert b"def test_discount" in (scenario / "checks/tests/tests/test_discount.py").read_bytes()
    assert not (root / "fixtures/till/tests/test_discount.py").exists()
    assert [(each["id"], each.get("guard", False)) for each in declared(root, "till")["checkpoints"]] == [
        ("hidden-tests", False), ("kept-tests", True),
    ]  # fmt: skip
    shell(root, "git add --all && git commit -q -m 'Evaluations'")
    assert shell(root, "git status --short") == ""
    assert "no tests ran" in shell(root, "PYTHONPATH=src python3 -m pytest -q fixtures || true")


def add_solutions_that_fool(root: Path, wrong: Path) -> None:
    """Add patches that steer pytest, change the tests that are there, or end the process before they run."""
    leave = "import os\nos._exit(0)\n"
    (wrong / "steered.patch").write_bytes(new_file("conftest.py", leave))
    shell(root, f"git checkout -q HEAD~2 && printf {leave!r} >src/till/money.py")
    (wrong / "left-early.patch").write_text(shell(root, "git diff") + "\n")
    shell(root, "git checkout -q --force -")


def test_a_javascript_repository_too_and_its_image_has_node(tmp_path: Path) -> None:
    root = web(tmp_path / "web")
    init(root)
    proves_and_evaluates(root, "web")
    assert "nodejs" in yaml.safe_load((root / "config/images/base.yaml").read_text())["packages"]


def test_a_second_time_nothing_is_changed_even_after_further_commits(tmp_path: Path) -> None:
    root = web(tmp_path / "web")
    init(root)
    before = files(root)
    commit(root, "Evaluations", {"more.txt": "x\n"})
    (root / "more.txt").unlink()
    again = run(root, "init")  # the toolkit is the one that the workflow names
    assert (again.code, again.out) == (0, "nothing to do: all files exist already\n"), again.err
    assert files(root) == before
    told = json.loads(run(root, "init", "--json").out)
    assert (told["new"], told["overwritten"]) == ([], [])


def test_what_is_there_is_overwritten_with_consent_alone(tmp_path: Path) -> None:
    root = empty(tmp_path / "ours")
    init(root)
    experiment = root / "config/experiments/ours.yaml"
    wanted = experiment.read_bytes()
    experiment.write_text("mine: true\n")
    refusal = "config/experiments/ours.yaml: exist, and without a terminal nobody can confirm overwriting"
    assert refusal in init(root, code=6).err
    assert experiment.read_text() == "mine: true\n"
    told = json.loads(init(root, "--dry-run", "--json").out)
    assert told["overwritten"] == ["config/experiments/ours.yaml"]
    assert experiment.read_text() == "mine: true\n"
    init(root, "--yes")
    assert experiment.read_bytes() == wanted


def test_workflows_of_another_suite_are_told_before_tasks_are_looked_for(tmp_path: Path) -> None:
    root = till(tmp_path / "till")
    init(root)
    before = files(root)
    refused = init(root, "--name", "theirs", code=6)
    assert ".github/workflows/scylla.yml, " in refused.err
    assert "nobody can confirm overwriting. Nothing was written; give --yes to overwrite" in refused.err
    assert "trying commit" not in refused.err
    assert files(root) == before


def test_a_commit_that_is_a_task_is_not_tried_again(tmp_path: Path) -> None:
    root = till(tmp_path / "till")
    first = init(root)
    more = init(root, "--tasks", "7")
    tried = [set(re.findall(r"trying commit (\w+)", said.err)) for said in (first, more)]
    assert tried[0] - tried[1], first.err
    assert "commit: a task with that name exists already" in more.err


def test_a_dry_run_lists_and_writes_nothing(tmp_path: Path) -> None:
    root = empty(tmp_path / "ours")
    said = init(root, "--dry-run")
    assert "would be new: .github/workflows/scylla.yml" in said.out
    assert files(root) == {}


def test_an_interrupted_one_is_begun_again(tmp_path: Path) -> None:
    root = empty(tmp_path / "ours")
    init(root)
    (scenario_of(root, "ours") / "scenario.yaml").unlink()
    init(root)
    proves_and_evaluates(root, "ours")
    shutil.rmtree(scenario_of(root, "ours"))
    (root / "fixtures/ours/stray.txt").write_text("x")
    refused = init(root, code=6)
    assert "such as fixtures/ours/stray.txt; remove that folder" in refused.err


def test_tests_that_do_not_hold_make_no_task(tmp_path: Path) -> None:
    root = web(tmp_path / "web")
    flaw = 'import "nowhere-to-be-found";\n'
    commit(root, "Sums", {"lib/sums.js": "export const one = () => 1;\n", "test/sums.test.js": flaw})
    commit(root, "Nothing", {"lib/none.js": "export const none = null;\n", "test/none.test.js": "export default 1;\n"})
    said = init(root)
    assert "its tests fail with the commit's own code: Error [ERR_MODULE_NOT_FOUND]: Cannot find package" in said.err
    assert "its tests pass before the change" in said.err
    assert scenario_of(root, "web").name == "101-slugs-are-trimmed-and-short"


def test_tests_that_fail_of_themselves_are_no_guard(tmp_path: Path) -> None:
    root = empty(tmp_path / "web")
    commit(
        root, "Begin", {"package.json": '{"type": "module"}\n', "test/old.test.js": "throw new Error('never held');\n"}
    )
    shutil.copytree(web(tmp_path / "model") / "lib", root / "lib")
    commit(root, "Slugs", {"test/slug.test.js": (tmp_path / "model/test/slug.test.js").read_bytes()})
    init(root)
    assert [each["id"] for each in declared(root, "web")["checkpoints"]] == ["hidden-tests"]


def test_a_large_repository_is_fetched_and_not_copied(tmp_path: Path) -> None:
    root = empty(tmp_path / "web")
    begin = {"package.json": '{"type": "module"}\n', "lib/slug.js": "export const slug = 1;\n"}
    commit(root, "Begin", {**begin, "data.bin": bytes(5_000_001)})
    model = web(tmp_path / "model")
    commit(root, "Slugs", {name: (model / name).read_bytes() for name in ("lib/slug.js", "test/slug.test.js")})
    shell(root, f"git clone -q --bare . ../remote.git && git remote add origin file://{tmp_path}/remote.git")
    init(root)
    start = {"repo": f"file://{tmp_path}/remote.git", "hash": shell(root, "git rev-parse HEAD~")}
    assert declared(root, "web")["source"] == start
    assert not (root / "fixtures").exists()
    proves_and_evaluates(root, "web")


def test_links_and_rights_are_part_of_the_fixture(tmp_path: Path) -> None:
    root = empty(tmp_path / "web")
    (root / "current").symlink_to("lib")
    commit(
        root,
        "Begin",
        {"package.json": '{"type": "module"}\n', "lib/slug.js": "export const slug = 1;\n", "go.sh": "true\n"},
    )
    model = web(tmp_path / "model")
    commit(root, "Slugs", {name: (model / name).read_bytes() for name in ("lib/slug.js", "test/slug.test.js")})
    init(root)
    assert (root / "fixtures/web/current").readlink() == Path("lib")
    assert os.access(root / "fixtures/web/go.sh", os.X_OK)
    assert run(root, "validate").code == 0


def test_a_submodule_an_odd_name_and_a_link_that_leads_out_cost_no_task(tmp_path: Path) -> None:
    root = till(tmp_path / "till")
    shell(root, "git reset -q --hard HEAD~2")
    head = shell(root, "git rev-parse HEAD")
    (root / "absolute").symlink_to("/etc/passwd")
    (root / os.fsdecode(b"caf\xe9.txt")).write_bytes(b"x")
    shell(root, f"git add --all && git update-index --add --cacheinfo 160000,{head},module && git commit -q -m Odd")
    write_tree(root, DISCOUNT)
    shell(root, "git add src tests && git commit -q -m 'A discount in percent'")
    init(root)
    scenario = scenario_of(root, "till")
    assert scenario.name == "101-a-discount-in-percent"
    assert (
        "left out: 1 file with a name that is not UTF-8, 1 link that leads out of the repository, 1 submodule"
        in (scenario / "scenario.yaml").read_text()
    )
    assert run(root, "validate").code == 0


def test_reasons_are_counted_and_name_no_folder_of_the_toolkit(tmp_path: Path) -> None:
    root = web(tmp_path / "web")
    for number in range(2):
        commit(root, f"No wrong solution {number}", {"lib/a.js": f"// {number}\n", f"test/a{number}.test.js": "1;\n"})
    shell(root, "git commit -q --allow-empty -m Empty")
    done = init(root, "--tasks", "2")
    assert "1 of 2 tasks found in 4 commits; not used:" in done.err
    assert "  1 commit: it does not change code together with tests that can be run\n" in done.err
    assert "  2 commits: " in done.err
    assert str(tmp_path) not in done.err.replace(str(root), "")


def test_what_a_gitignore_would_lose_is_told(tmp_path: Path) -> None:
    root = empty(tmp_path / "ours")
    (root / ".gitignore").write_text("*.patch\n")
    warning = "warning: a .gitignore keeps 3 of these files out of a commit; add them by: git add --force scenarios/"
    assert warning in init(root).err


def test_workflows_belong_to_the_top_of_a_repository(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    outside = init(tmp_path / "plain", code=4)
    assert "is not a git repository; run `git init`" in outside.err
    root = till(tmp_path / "till")
    inside = init(root, "src", code=4)
    assert f"lies inside the repository {root}" in inside.err


def test_the_workflow_for_skills_is_written_alone(tmp_path: Path) -> None:
    root = empty(tmp_path / "ours")
    assert "no SKILL.md in it or below it" in init(root, "--skills", code=3).err
    write_skill(root / "skills/tally")
    told = init(root, "--skills")
    assert "new: .github/workflows/scylla-skills.yml" in told.out
    assert files(root).keys() - {"skills/tally/SKILL.md"} == {
        f".github/workflows/scylla-skills{end}.yml" for end in ("", "-comment")
    }
    workflow = yaml.safe_load((root / ".github/workflows/scylla-skills.yml").read_text())
    assert "skills/**" in workflow[True]["pull_request"]["paths"]
    assert "nothing to do" in run(root, "init", "--skills").out  # the toolkit is the one that the workflow names
