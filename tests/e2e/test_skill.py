"""`scylla-gha skill` with the real Claude Code CLI and a scripted provider, as the author of a skill runs it."""

import json
import re
import shutil
import threading
from pathlib import Path
from typing import Any

from tests.support.command import Said, forked, scylla
from tests.support.git import shell
from tests.support.provider import Body, Provider, Say, serve
from tests.support.skill_author import adder, author, write_evals

KEY = "sk-ant-canary-0123456789"


def measure(root: Path, provider: Provider, *options: str) -> Said:
    env = {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": KEY}
    return scylla("skill", "skills/tally", "--yes", "--only", "evals", *options, cwd=root, env=env)


def spent(root: Path) -> float:
    """Return the USD of agents and judges in all rows."""
    return float(sum(row["usd"] + (row["judge_usd"] or 0) for row in rows(root)))


def test_evals_are_run_with_and_without_the_skill_and_paid_once(tmp_path: Path) -> None:
    author(tmp_path)
    with serve(adder) as provider:
        said = measure(tmp_path, provider, "--repetitions", "1")
        assert said.code == 0, said.err
        paid = len(provider.requests)
        again = measure(tmp_path, provider, "--repetitions", "1")
        assert again.code == 0, again.err
        assert len(provider.requests) == paid, "the second run must ask no model"
        before = spent(tmp_path)
        more = measure(tmp_path, provider, "--repetitions", "3")
        assert more.code == 0, more.err
    estimate = re.search(r"8 of 12 trials to run, \$([0-9.]+)", more.err)
    assert estimate is not None, more.err
    assert 1 / 1.5 <= float(estimate[1]) / (spent(tmp_path) - before) <= 1.5
    assert "tally: evals: 4 trials to run, $" in said.err
    assert "0 of 4 trials to run" in again.err
    assert "  with it       2                 100 %     100 %" in said.out
    assert "  without       2                  33 %       0 %" in said.out
    last = said.out.splitlines()[-2:]
    assert last[0].startswith("tally: Not enough data to compare it with no skill: 1 repetition of each eval")
    assert last[1].startswith("tally: It costs 1.0 x")
    assert last == again.out.splitlines()[-2:]


def rows(root: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (root / "runs/skill-tally/results.jsonl").read_text().splitlines()]


def test_setup_calls_by_name_and_the_last_version(tmp_path: Path) -> None:
    skill = author(tmp_path)
    shell(tmp_path, "git tag old")
    (skill / "SKILL.md").write_text((skill / "SKILL.md").read_text() + "Begin with the first.\n")
    write_evals(
        skill,
        {"id": 1, "prompt": "/tally data.csv", "setup": "echo 1 > data.csv", "checks": [{"cmd": "test -s data.csv"}]},
        {"id": 2, "prompt": "Sum 3 and 4", "setup": ["echo no >&2", "exit 3"], "checks": [{"cmd": "true"}]},
        {"id": 3, "prompt": "/tally", "checks": [{"type": "contains", "pattern": "42"}]},
    )
    with serve(adder) as provider:
        said = measure(tmp_path, provider, "--repetitions", "1", "--base", "old")
    assert said.code == 8, said.err
    assert "judge" not in said.err.partition("no judged trial")[0]
    by_cell = {(row["scenario"][:3], row["arm"][:7]): row for row in rows(tmp_path)}
    outcomes = {place: row["outcome"] for place, row in by_cell.items()}
    arms = ("t1-01-w", "t1-02-w", "t1-03-b")
    assert outcomes == {
        **{("001", arm): "completed" for arm in arms},
        **{("002", arm): "fixture_error" for arm in arms},
        ("003", "t1-01-w"): "completed",
        ("003", "t1-03-b"): "completed",
    }
    assert "the setup command 'exit 3' failed (exit code 3)" in by_cell["002", "t1-01-w"]["reason"]
    assert by_cell["001", "t1-02-w"]["passed"]
    prompts = {path.parts[-3].split(".")[0]: path.read_text() for path in tmp_path.glob("runs/*/001*/*/prompt.md")}
    assert prompts["001-eval--t1-01-with"] == "/tally data.csv"
    assert prompts["001-eval--t1-02-without"] == "data.csv"


def test_a_prompt_may_call_a_skill_that_runs_in_a_sub_agent(tmp_path: Path) -> None:
    skill = author(tmp_path)
    text = (skill / "SKILL.md").read_text()
    (skill / "SKILL.md").write_text(text.replace("---\n", "---\ncontext: fork\n", 1))
    write_evals(skill, {"id": 1, "prompt": "/tally 3 and 4", "checks": [{"type": "contains", "pattern": "42"}]})
    with serve(adder) as provider:
        said = measure(tmp_path, provider, "--repetitions", "1")
    assert said.code == 0, said.err
    (forked,) = (row for row in rows(tmp_path) if row["arm"].startswith("t1-01"))
    assert (forked["outcome"], forked["uses"]) == ("completed", {"skill/tally": 1})
    (trial,) = tmp_path.glob("runs/skill-tally/*t1-01-with*/trial.json")
    delivery = json.loads(trial.read_text())["attempts"][-1]["delivery"]
    main = "prompt, tools and lists of the main conversation: the sub-agent of tally asks first"
    assert (delivery["proved"], main in delivery["unverified"]) == (True, True)


def test_a_killed_command_is_resumed_and_nothing_is_paid_twice(tmp_path: Path) -> None:
    author(tmp_path)
    slow = threading.Event()

    def answer(body: Body) -> Say:
        if not body.get("tools"):
            slow.set()
        return adder(body)

    with serve(answer) as provider:
        env = {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": KEY}
        options = ("skill", "skills/tally", "--yes", "--only", "evals", "--repetitions", "2", "--jobs", "1")
        with forked(*options, cwd=tmp_path, env=env) as command:
            assert slow.wait(120)
            assert command.kill().code
        done = {path.parent.name for path in tmp_path.glob("runs/skill-tally/*/judgment.json")}
        trials = {path.parent.name for path in tmp_path.glob("runs/skill-tally/*/trial.json")}
        paid = len([body for body in provider.requests if body.get("tools")])
        said = measure(tmp_path, provider, "--repetitions", "2", "--jobs", "1")
        assert said.code == 0, said.err
        later = len([body for body in provider.requests if body.get("tools")]) - paid
    assert trials >= done
    assert trials
    assert later <= 8 - len(trials)
    assert len(rows(tmp_path)) == 8


def test_three_repetitions_give_a_verdict_in_text_json_and_files(tmp_path: Path) -> None:
    file = author(tmp_path) / "evals" / "evals.json"
    evals = json.loads(file.read_text())
    (evals if isinstance(evals, list) else evals["evals"])[1]["should_trigger"] = False
    file.write_text(json.dumps(evals))
    with serve(adder) as provider:
        said = measure(tmp_path, provider, "--json")
        assert said.code == 0, said.err
    (measured,) = json.loads(said.out)["measured"]
    assert (measured["skill"], measured["part"], measured["evals"]) == ("tally", "evals", 2)
    (contrast,) = measured["contrasts"]
    assert contrast["here"]["verdict"] == "better"
    assert contrast["other_work"]["evals"] == 1
    assert contrast["too_few"] == "too few evals for more than these; add 4"
    stored = json.loads((tmp_path / "runs/skill-tally/help.json").read_text())
    assert stored["contrasts"] == measured["contrasts"]
    text = (tmp_path / "runs/skill-tally/help.md").read_text()
    assert "- With it 67 points more assertions hold on these 2 evals (+39 to +94)" in text
    page = (tmp_path / "runs/skill-tally/report.html").read_text()
    assert "<li>With it 67 points more assertions hold on these 2 evals (+39 to +94)" in page
    sent = json.dumps([body for body in provider.requests if not body.get("tools")])
    assert "Expected result, which the agent did not see:" in sent
    assert "t1-01-with" not in sent


def test_a_repository_that_is_a_skill_is_measured_under_its_own_name(tmp_path: Path) -> None:
    """A clone may have any name, and the runs in it are no part of the skill."""
    skill = author(tmp_path / "other")
    root = tmp_path / "clone"
    shutil.copytree(skill, root)
    shell(root, "git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm one")
    (root / "SKILL.md").write_text((root / "SKILL.md").read_text() + "Name both sums.\n")
    env = {"ANTHROPIC_API_KEY": KEY}
    options = ("--yes", "--only", "evals", "--repetitions", "1", "--base", "HEAD")
    with serve(adder) as provider:
        env["ANTHROPIC_BASE_URL"] = provider.url
        said = scylla("skill", ".", *options, cwd=root, env=env)
        assert said.code == 0, said.err
        assert "tally: evals: 6 trials to run" in said.err
        again = scylla("skill", ".", *options, cwd=root, env=env)
    assert "0 of 6 trials to run" in again.err
    assert "1 skill: 0 errors" in again.out
    installed = root / "runs/skill-tally/suite/config/skills"
    assert [path.name for path in installed.iterdir()] == ["tally"]
    assert {path.name for path in (installed / "tally").iterdir()} == {"SKILL.md"}


def test_a_small_budget_leaves_out_the_trials_without_the_skill_first(tmp_path: Path) -> None:
    skill = author(tmp_path)
    shell(tmp_path, "git tag old")
    (skill / "SKILL.md").write_text((skill / "SKILL.md").read_text() + "Begin with the first.\n")
    with serve(adder) as provider:
        refused = measure(tmp_path, provider, "--base", "old", "--budget-usd", "0.5")
        assert refused.code == 6, refused.err
        assert not provider.requests
        said = measure(tmp_path, provider, "--base", "old", "--budget-usd", "3", "--fail-on", "regression")
    assert said.code == 0, said.err
    assert "tally: trials without the skill are not run: they do not fit into the budget" in said.err
    assert {row["variant"] for row in rows(tmp_path)} == {"T1/01-with", "T1/03-base"}
    last = said.out.splitlines()[-2]
    assert last.startswith(
        "tally: Not enough data to tell it from trials with its last version on these 2 evals: 0 points"
    )


def test_a_part_of_the_evals_or_queries_leaves_the_rest_of_the_answer(tmp_path: Path) -> None:
    skill = author(tmp_path)
    queries = [{"query": "Sum the ledger", "should_trigger": True}, {"query": "Say hi", "should_trigger": False}]
    (skill / "evals" / "triggers.json").write_text(json.dumps(queries))
    whole = ("skill", "skills/tally", "--yes", "--repetitions", "3", "--trigger-repetitions", "1")
    kept = ("skill-tally/results.jsonl", "skill-tally/help.json", "skill-tally-triggers/triggers.json")
    files = (*kept, "skill-tally/help.md", "skill-tally-triggers/triggers.md", "skills/tally.svg")
    with serve(adder) as provider:
        env = {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": KEY}
        assert scylla(*whole, cwd=tmp_path, env=env).code == 0
        paid, before = len(provider.requests), {name: (tmp_path / "runs" / name).read_text() for name in files}
        for part in (("--eval", "2"), ("--query", "hi"), ("--only", "triggers"), ("--only", "evals")):
            said = scylla(*whole, *part, cwd=tmp_path, env=env)
            assert said.code == 0, said.err
            assert {name: (tmp_path / "runs" / name).read_text() for name in files} == before, part
        assert len(provider.requests) == paid
    assert "fires 0 %, quiet 100 %, +67 pt" in before["skills/tally.svg"]
    assert {row["scenario"] for row in rows(tmp_path)} == {"001-eval", "002-eval"}
