"""The commands and files that the README and its first pages show work as shown."""

import json
import re
import subprocess
from pathlib import Path

from tests.support.command import scylla
from tests.support.hello import content_judge
from tests.support.provider import Body, Say, serve, tool_results
from tests.support.readme import README, blocks, entry, shell_lines
from tests.support.repository import write_tree

ROOT = README.parent
SOLVED = "def greet(name='World'):\n    return \"Hello, \" + name\n"
WRONG = {
    "default-of-none": 'def greet(name=None):\n    return "Hello, " + str(name)\n',
    "always-the-world": 'def greet(name=None):\n    return "Hello, World"\n',
}


def same_shape(text: str) -> list[str]:
    """Lines without what differs from run to run: durations, and the width that they take."""
    return [re.sub(r"[ ─]+", " ", re.sub(r"[\d.]+ (s|min|minutes)\b", "N", line)).strip() for line in text.splitlines()]


def test_all_commands_of_the_readme_are_tested() -> None:
    assert set(shell_lines()) == {
        "./scylla evaluate",  # below, in a checkout without the toolkit's own runs
        "./scylla test",  # what .ci/run calls
        "./scylla evaluate hello-claude",  # test_hello_claude.py, with a scripted provider
        "./scylla evaluate hello-claude --replay",  # test_hello_claude.py
    }
    assert "./scylla test" in (ROOT / ".ci/run").read_text()


def test_the_quickstart_ends_as_shown(tmp_path: Path) -> None:
    done = entry("evaluate", "--jobs", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (shown,) = blocks("transcript").values()
    assert same_shape(done.stdout) == same_shape(shown)
    assert re.search(r"oracle +8 +100 %", shown)
    assert re.search(r"nop +8 +0 %", shown)


def write_shown_files(root: Path) -> Path:
    """All files that the README shows, and the patches that it tells of; the scenario's folder."""
    write_tree(root, blocks("file"))
    scenario = root / "scenarios/mine/101-greet-nobody"
    write_patches(root / "fixtures/greeter/greet.py", scenario)
    return scenario


def test_a_treatment_of_ones_own(tmp_path: Path) -> None:
    write_shown_files(tmp_path)
    work = Say("I write it.", "Bash", {"command": f"cat >greet.py <<'EOF'\n{SOLVED}EOF"})

    def script(body: Body) -> Say:
        if not body.get("tools"):
            return content_judge(body)
        return Say("Done.") if tool_results(body) else work

    with serve(script) as provider:
        env = {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": "sk-test"}
        said = scylla(*blocks("run")["own treatment"].split()[1:], "--yes", cwd=tmp_path, env=env)
    assert said.code == 0, said.err
    assert "6 planned, 6 ran, 6 judged, 6 scored; delivery proved in 6 of 6; judges $" in said.out
    with_skill = [body for body in provider.requests if "- house-style: How functions are" in str(body)]
    assert len(with_skill) == 3 * 2, "three trials of two requests each"


def test_a_scenario_of_ones_own(tmp_path: Path) -> None:
    scenario = write_shown_files(tmp_path)
    command = blocks("run")["own scenario"]
    said = scylla(*command.split()[1:], cwd=tmp_path)
    assert said.code == 0, said.err
    assert "ok: 101-greet-nobody: nop fails, solution passes" in said.out
    (scenario / "wrong/always-the-world.patch").write_text((scenario / "solution/solution.patch").read_text())
    (scenario / "right").mkdir()
    (scenario / "right/nobody-is-greeted.patch").write_text((scenario / "wrong/default-of-none.patch").read_text())
    again = scylla(*command.split()[1:], cwd=tmp_path)
    assert again.code == 7
    assert "right/nobody-is-greeted: fails, so the checks refuse a right solution: greets-" in again.err
    assert "wrong/always-the-world: passes, so the checks cannot tell it from a right solution" in again.err


def test_a_scenario_with_github_and_a_comparison_of_modes_of_ones_own(tmp_path: Path) -> None:
    write_tree(tmp_path, {name: text for name, text in blocks("file").items() if "greet" not in name})
    said = scylla(*blocks("run")["own GitHub scenario"].split()[1:], cwd=tmp_path)
    assert said.code == 0, said.err
    assert "solution passes, solution/mcp passes, wrong/denied fails if judges find" in said.out
    assert "wrong/other-label fails, wrong/price-of-a-day fails" in said.out
    compared = scylla(*blocks("run")["own comparison of modes"].split()[1:], "--yes", cwd=tmp_path)
    assert compared.code == 0, compared.err
    rows = [json.loads(line) for line in (tmp_path / "runs/answers/results.jsonl").read_text().splitlines()]
    assert {(row["mode"], row["passed"], row["github"]) for row in rows} == {
        ("baseline", True, "hub"), ("mcp", True, "hub"),
    }  # fmt: skip


def write_patches(base: Path, scenario: Path) -> None:
    """The solution and two wrong ones, as `git diff` makes them."""
    for name, text in {"solution/solution": SOLVED, **{f"wrong/{name}": text for name, text in WRONG.items()}}.items():
        changed = scenario.parent / "changed" / "greet.py"
        changed.parent.mkdir(exist_ok=True)
        changed.write_text(text)
        argv = ["git", "diff", "--no-index", "--no-prefix", str(base), str(changed)]
        diff = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
        body = diff[diff.index("@@") :]
        target = scenario / f"{name}.patch"
        target.parent.mkdir(exist_ok=True)
        target.write_text(f"--- a/greet.py\n+++ b/greet.py\n{body}")


def test_what_the_readme_names_exists() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in (README, *(ROOT / "docs").glob("*.md")))
    for path in re.findall(r"`((?:config|scenarios|scylla_gha)/[\w./-]*)`", text):
        is_example = re.search(r"[A-Z]{2,}\b|\b(mine|app|mytool)\b", path.replace("SKILL.md", "")) is not None
        is_example |= path == "config/github-fixtures.yaml"  # the user's repositories on github.com
        if not is_example and path not in blocks("file"):
            assert (ROOT / path).exists(), path


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150
