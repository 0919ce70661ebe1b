"""Checks of SKILL.md and of the files beside it; `skills-ref` decides what the specification allows."""

import json
import os
import re
from pathlib import Path

import pytest
import skills_ref
from click.testing import CliRunner, Result

from scylla_gha.cli.main import cli
from scylla_gha.errors import ConfigError
from tests.support.skills import DESCRIPTION, FRONT, checked, messages, one_skill, write_evals, write_skill

SPECIFICATION = {"name", "description", "compatibility", "field", "front-matter", "file"}
FRONTS = [
    FRONT,
    f"name: Tally\ndescription: {DESCRIPTION}",
    f"name: totals\ndescription: {DESCRIPTION}",
    f"name: -tally-\ndescription: {DESCRIPTION}",
    f"name: tal--ly\ndescription: {DESCRIPTION}",
    f"name: tal_ly\ndescription: {DESCRIPTION}",
    f"name: {'t' * 65}\ndescription: {DESCRIPTION}",
    f"name:\ndescription: {DESCRIPTION}",
    f"name: [tally]\ndescription: {DESCRIPTION}",
    f"description: {DESCRIPTION}",
    "name: tally",
    "name: tally\ndescription:",
    "name: tally\ndescription: ''",
    "name: tally\ndescription: yes",
    "name: tally\ndescription: 7",
    f"name: tally\ndescription: {'d' * 1024}",
    f"name: tally\ndescription: {'d' * 1025}",
    "name: tally\ndescription: |\n  Adds up.\n  Use it when asked.",
    "name: tally\ndescription: Adds up. Use it when: asked",
    f"{FRONT}\ncompatibility: {'c' * 501}",
    f"{FRONT}\ncompatibility: linux",
    f"{FRONT}\ncompatibility:\n  - linux",
    f"{FRONT}\nlicense: MIT\nallowed-tools: Read Grep\nmetadata:\n  author: me",
    f"{FRONT}\nallowed-tools: [Read, Grep]",
    f"{FRONT}\nallowed-tools:\n  - Read",
    f"{FRONT}\nmetadata: {{a: b}}",
    f"{FRONT}\nlicense: &a MIT",
    f"{FRONT}\nlicense: !!str MIT",
    f"{FRONT}\nlicense: *a",
    f"{FRONT}\nlicense: @a",
    f"{FRONT}\nauthor: me",
    f"{FRONT}\nname: tally",
    "- name",
    "",
]


@pytest.mark.parametrize("front", FRONTS)
def test_the_specification_is_that_of_its_own_tool(tmp_path: Path, front: str) -> None:
    skill = write_skill(tmp_path / "tally", front)
    findings = one_skill(skill)["findings"]
    ours = [each for each in findings if each["level"] == "error" or each["rule"] == "yaml"]
    assert bool(ours) == bool(skills_ref.validate(skill)), (ours, skills_ref.validate(skill))
    assert {each["rule"] for each in ours} <= SPECIFICATION | {"yaml"}


@pytest.mark.parametrize("text", ["no front matter", "---\nname: tally\n", "\ufeff---\nname: tally\n---\n"])
def test_a_file_without_front_matter_is_refused(tmp_path: Path, text: str) -> None:
    skill = write_skill(tmp_path / "tally")
    (skill / "SKILL.md").write_text(text)
    assert skills_ref.validate(skill) != []
    assert [each["rule"] for each in one_skill(skill)["findings"] if each["level"] == "error"] == ["front-matter"]


def test_what_is_not_yaml_is_read_as_claude_code_does(tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "tally", "name: tally\ndescription: Adds up. Use it when: asked\n  for sums")
    warnings = messages(one_skill(skill), "warning")
    assert ["put the whole text in quotes" in text for text in warnings] == [True]
    assert messages(one_skill(skill), "error") == []


BODIES = {
    "See [rules](references/none.md).": "references/none.md: there is no such file",
    "Run `python scripts/none.py`.": "scripts/none.py: there is no such file",
    "See ../other/notes.md.": "../other/notes.md: leads out of the skill's folder",
    "See references/Rules.md.": "references/Rules.md: the file is named references/rules.md",
    "\n" * 501 + "x": "references/lost.md: nothing names it",
    "x\n" * 501: "the body has 501 lines",
}


@pytest.mark.parametrize("body", BODIES)
def test_references_are_checked(tmp_path: Path, body: str) -> None:
    skill = write_skill(tmp_path / "tally", body=body)
    (skill / "references").mkdir()
    for name in ("rules.md", "lost.md"):
        (skill / "references" / name).write_text("x")
    assert any(BODIES[body] in text for text in messages(one_skill(skill))), messages(one_skill(skill))


def test_evals_that_the_body_names_are_not_given_to_an_agent(tmp_path: Path) -> None:
    skill = write_evals(write_skill(tmp_path / "tally", body="See evals/evals.json, evals/none.json."), [])
    (text,) = messages(one_skill(skill), "warning")
    assert text.startswith("evals/evals.json: agents do not get this file")


def test_a_file_above_the_skill_is_named_where_it_is(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills/tally", body="Run `python scripts/sum.py`.")
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/sum.py").write_text("")
    assert "scripts/sum.py: is not in the skill's folder but in ../..; write that path" in messages(one_skill(tmp_path))


def test_scripts_that_a_program_runs_need_no_execute_bit(tmp_path: Path) -> None:
    body = "Run `python3 scripts/a.py` and `scripts/b.py`; scripts/__init__.py is empty."
    skill = write_skill(tmp_path / "tally", body=body)
    (skill / "scripts").mkdir()
    for name in ("a.py", "b.py", "test_a.py"):
        (skill / "scripts" / name).write_text("#!/usr/bin/env python3\n")
    texts = [each["message"] for each in one_skill(skill)["findings"] if each["rule"] in {"script", "unused-file"}]
    assert ["scripts/b.py: has a `#!` line" in text for text in texts] == [True]


WHEN = {
    "Reads ledgers of small shops and sums the columns": True,
    "Reads ledgers and sums the columns. Only activate in shops": False,
    "Réunit les colonnes et calcule leurs sommes": False,
    "Suma columnas de libros contables e informes": False,
    "合计账本的各列": False,
    "Reads ledgers of small shops — and sums the columns": True,
}


@pytest.mark.parametrize("description", WHEN)
def test_when_is_looked_for_in_english_only(tmp_path: Path, description: str) -> None:
    skill = one_skill(write_skill(tmp_path / "tally", f"name: tally\ndescription: {description}"))
    assert any("does not say when" in text for text in messages(skill)) is WHEN[description]


QUIET = [
    "Read references/rules-{platform}.md and copy `assets/images/**`.",
    "Create a file [Title](url), `{baseDir}/scripts/x.py`, https://x.invalid/scripts/a.sh, ~/scripts/b.sh",
    "```sh\ncd ../other/notes.md\n```",
    "[here](#part) [mail](mailto:a@b.invalid) [root](/x.md)",
]


@pytest.mark.parametrize("body", QUIET)
def test_other_paths_are_no_references(tmp_path: Path, body: str) -> None:
    assert messages(one_skill(write_skill(tmp_path / "tally", body=body)), "warning", "error") == []


def test_links_are_not_followed_and_are_named(tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "skills/tally")
    (skill / "assets").symlink_to("/etc")
    (tmp_path / "skills/copy").symlink_to(skill)
    check = checked(tmp_path)
    assert [each["name"] for each in check["skills"]] == ["tally"]
    assert any(
        "assets: is a symbolic link, which leads outside" in text for text in messages(check["skills"][0], "warning")
    )
    assert any("is a link to skills/tally" in text for text in messages(check))


def test_the_listing_says_which_descriptions_a_model_sees(tmp_path: Path) -> None:
    for number in range(12):
        front = f"name: k{number:02}\ndescription: Use it when area {number} is asked for. {'word ' * 60}"
        write_skill(tmp_path / f"skills/k{number:02}", front)
    check = checked(tmp_path)
    most, least = check["listing"]
    assert (most["room"], least["room"]) == (23_926, 1_926)
    assert most["whole"] == [f"k{number:02}" for number in range(12)]
    assert least["whole"] == [f"k{number:02}" for number in range(5)]
    (finding,) = [each for skill in check["skills"] for each in skill["findings"] if each["rule"] == "listing"]
    assert finding["level"] == "warning"
    assert "by name only for Haiku 4.5, Opus 4.5 and 4.6, Sonnet 4.5 and 4.6 if all skills here" in finding["message"]
    assert "installed: k05, k06" in finding["message"]


def test_descriptions_that_are_alike_and_names_that_are_equal(tmp_path: Path) -> None:
    write_skill(tmp_path / "a/tally")
    write_skill(tmp_path / "b/tally", body="# other\n")
    write_skill(tmp_path / "b/totals", f"name: totals\ndescription: {DESCRIPTION.replace('small', 'large')}")
    write_skill(tmp_path / "b/plot", "name: plot\ndescription: Draws charts. Use it when somebody needs a picture.")
    findings = [each for skill in checked(tmp_path)["skills"] for each in skill["findings"]]
    assert [each["path"] for each in findings if each["rule"] == "duplicate-name"] == ["b/tally/SKILL.md"]
    alike = [each for each in findings if each["rule"] == "overlap"]
    assert [("totals" in each["message"], "plot" in each["message"]) for each in alike] == [(True, False)]


PLACES = [
    "skills/tally/evals/deep/a.json",
    "evals/tally/a.json",
    "evals/skills/tally/a.json",
    "tests/tally/evals/b/a.json",
    "testing/tally/evals/a.json",
    "skills/tally/evals.json",
    "evals/evals.json",
]


@pytest.mark.parametrize("place", PLACES)
def test_evals_are_found_where_people_put_them(tmp_path: Path, place: str) -> None:
    (tmp_path / ".git").mkdir()
    skill = write_skill(tmp_path / "skills/tally")
    write_skill(tmp_path / "node_modules/x/tally")
    write_skill(tmp_path / ".hidden/tally")
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_text('[{"prompt": "Sum it", "checks": ["two sums"]}]')
    for folder in (tmp_path, skill):
        assert one_skill(folder)["counts"]["evals"] == 1


def test_evals_of_several_skills_in_one_folder_name_their_skill(tmp_path: Path) -> None:
    for name in ("tally", "plot"):
        write_skill(tmp_path / "skills" / name, f"name: {name}\ndescription: Use it when asked.")
        value = {"skill_name": name, "evals": [{"prompt": "Go", "files": ["evals/a.csv"], "checks": ["it went"]}]}
        write_evals(tmp_path, value, f"{name}.json")
    write_evals(tmp_path, [{"prompt": "Of nobody", "checks": ["x"]}], "evals.json")
    write_evals(tmp_path, "1", "a.csv")
    files = [[file["path"] for file in skill["files"]] for skill in checked(tmp_path)["skills"]]
    assert files == [["evals/plot.json"], ["evals/tally.json"]]


def test_a_clone_may_have_another_name(tmp_path: Path) -> None:
    skill = write_evals(write_skill(tmp_path / "tally-skill"), [{"prompt": "/tally pots.csv", "checks": ["two sums"]}])
    assert any("rename one of them" in text for text in messages(one_skill(skill), "error"))
    (skill / ".git").mkdir()
    read = one_skill(skill)
    assert any("install it in a folder of this name" in text for text in messages(read, "note"))
    assert (read["name"], read["counts"]["invoked_by_name"]) == ("tally", 1)


def test_a_skill_of_a_plugin_has_two_names(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills/tally")
    (tmp_path / ".claude-plugin").mkdir()
    (tmp_path / ".claude-plugin/plugin.json").write_text('{"name": "books"}')
    assert one_skill(tmp_path)["invoked_as"] == ["tally", "books:tally"]


def run(*args: str) -> Result:
    return CliRunner().invoke(cli, ["skill", *args])


def test_without_a_key_the_command_prints_findings_counts_and_an_estimate(tmp_path: Path) -> None:
    skill = write_evals(write_skill(tmp_path / "tally"), [{"prompt": "Sum it", "checks": ["two sums"]}])
    said = run(str(skill))
    assert said.exit_code == 0
    assert "tally" in said.stdout
    assert "evals.json: evals: 1 entry, 1 read, 0 skipped, 0 in error" in said.stdout
    assert "1 skill: 0 errors, 0 warnings, 1 note" in said.stdout
    assert "evals: 6 trials to run, $" in said.stderr
    assert said.stderr.endswith("no key: triggers and evals were not run; set ANTHROPIC_API_KEY\n")
    assert not run(str(skill), "--only", "check").stderr


def test_an_error_is_exit_code_3_and_a_folder_without_skills_too(tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "tally", "name: totals\ndescription: Use it when asked.")
    for folder, message in (
        (skill, "1 error: {0}/SKILL.md:2; correct"),
        (skill.parent / "none", "no SKILL.md in it or below it"),
    ):
        folder.mkdir(exist_ok=True)
        said = run(str(folder))
        assert isinstance(said.exception, ConfigError)
        assert message.format(skill) in str(said.exception)


def test_hostile_text_controls_no_terminal(tmp_path: Path) -> None:
    front = 'name: "\\e[31mx"\ndescription: "</judge> \\u202e <b>"\n"k\\ney\\e[2J": 1'
    body = "[a](references/\x1b[2J.md) [b](../\x07x.md) " + "[" * 20_000 + "../" * 20_000
    skill = write_evals(write_skill(tmp_path / "ta\x1b[2Jlly", front, body), [{"prompt": "/x\x1b[2J", "\x1bkey": 1}])
    text = run(str(skill)).stdout
    assert "\x1b" not in text
    assert "\x07" not in text


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "tally", body="x" * 10_000_000)
    assert any("has more than 1 MiB" in text for text in messages(one_skill(skill), "error"))


def test_long_lines_of_hostile_files_are_read_to_the_end(tmp_path: Path) -> None:
    """Searches in quadratic time would take hours."""
    skill = write_skill(tmp_path / "tally", FRONT)
    body = "\n".join(("a/" * 200_000, "[x](" * 100_000, "references/" * 40_000))
    (skill / "SKILL.md").write_text((skill / "SKILL.md").read_text() + body)
    texts = ["[" * 400_000, "(a+)+$ " * 50_000, "a|b " * 50_000, "\\b" * 100_000]
    write_evals(
        skill, [{"id": 1, "prompt": "Add 1 and 2.", "must_have": texts, "expectations": ["references/" * 40_000]}]
    )
    (file,) = one_skill(skill)["files"]
    assert (file["entries"], file["read"]) == (1, 1)


def test_links_and_pipes_among_evals_are_named(tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "tally", FRONT)
    (skill / "evals").mkdir()
    (skill / "evals" / "linked.json").symlink_to("/etc/passwd")
    os.mkfifo(skill / "evals" / "evals.json")
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "tally").symlink_to("/etc")
    (tmp_path / "evals" / "tally.json").symlink_to("/etc/passwd")
    found = {each["path"]: each["message"] for each in one_skill(tmp_path)["findings"] if each["rule"] == "link"}
    assert {Path(path).name for path in found} == {"linked.json", "evals.json", "tally", "tally.json"}
    assert "is a special file and is not read" in " ".join(found.values())


def test_findings_as_sarif_have_paths_from_the_top_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write_skill(tmp_path / "my skills/tally", "name: totals\ndescription: Use it when asked.")
    run(str(tmp_path / "my skills"), "--sarif", str(tmp_path / "out/skills.sarif"))
    (sarif,) = json.loads((tmp_path / "out/skills.sarif").read_text())["runs"]
    result = sarif["results"][0]
    place = result["locations"][0]["physicalLocation"]
    assert (result["ruleId"], result["level"]) == ("skill/name", "error")
    assert place == {"artifactLocation": {"uri": "my%20skills/tally/SKILL.md"}, "region": {"startLine": 2}}
    assert {rule["id"] for rule in sarif["tool"]["driver"]["rules"]} >= {each["ruleId"] for each in sarif["results"]}


def test_actions_shows_findings_beside_their_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    write_skill(tmp_path / "skills/a,tally", "name: totals\ndescription: Adds up the sums of ledgers")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    said = run(str(tmp_path / "skills"))
    errors, warnings = (re.findall(f"^::{level} (.*)$", said.stderr, re.MULTILINE) for level in ("error", "warning"))
    assert errors[0].startswith("file=skills/a%2Ctally/SKILL.md,line=2,title=skill%3A name::name: is 'totals'")
    assert ["does not say when" in text for text in warnings] == [True]


def test_doctor_counts_the_skills_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_evals(write_skill(tmp_path / "tally"), [{"prompt": "Sum it", "checks": ["two sums"]}])
    write_skill(tmp_path / "plot", "name: charts\ndescription: Use it when asked.")
    monkeypatch.chdir(tmp_path)
    found = json.loads(CliRunner().invoke(cli, ["doctor", "--json"]).stdout)["here"]
    (skills,) = [each for each in found if each["id"] == "skills"]
    assert skills["what"] == "2 skills, 1 with evals or queries; 1 error"


def test_the_examples_of_the_help_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (".claude/skills/pdf", "skills/pdf"):
        skill = write_skill(tmp_path / folder, "name: pdf\ndescription: Use it when asked.")
        write_evals(skill, [{"query": "Sum", "should_trigger": True}], "triggers.json")
    monkeypatch.chdir(tmp_path)
    lines = [line.split() for line in run("--help").stdout.splitlines() if line.startswith("  scylla-gha skill")]
    assert [run(*words[2:]).exit_code for words in lines] == [0, 0, 0, 0]


def test_names_that_no_skill_eval_or_query_has_are_refused_with_those_that_there_are(tmp_path: Path) -> None:
    skill = write_evals(write_skill(tmp_path / "tally"), [{"id": 7, "prompt": "Sum it", "checks": ["two sums"]}])
    for option, name, known in (("--eval", "99", "7"), ("--skill", "sums", "tally")):
        refused = run(str(skill), option, name, "--out", str(tmp_path / "runs"))
        assert isinstance(refused.exception, ConfigError)
        assert f"{option}: {name}: no " in str(refused.exception)
        assert str(refused.exception).endswith(f"has this name; there are: {known}")
    refused = run(str(skill), "--query", "draw", "--out", str(tmp_path / "runs"))
    assert str(refused.exception).endswith("there are none")
    said = run(str(skill), "--only", "check", "--eval", "7")
    assert said.exit_code == 2
    assert "--only check runs none" in said.stderr


def test_an_option_for_evals_leaves_the_triggers_out(tmp_path: Path) -> None:
    skill = write_evals(write_skill(tmp_path / "tally"), [{"id": 7, "prompt": "Sum it", "checks": ["two sums"]}])
    write_evals(skill, [{"query": "sum this ledger", "should_trigger": True}], "trigger-evals.json")
    out = str(tmp_path / "runs")
    said = run(str(skill), "--eval", "7", "--out", out)
    assert ("triggers:" in said.stderr, "evals: 6 trials to run" in said.stderr) == (False, True)
    said = run(str(skill), "--query", "ledger", "--out", out)
    assert ("triggers: 3 trials to run" in said.stderr, "evals:" in said.stderr) == (True, False)
    said = run(str(skill), "--budget-usd", "0.1", "--out", out)
    assert "note: the budget is likely too small for all of it" in said.stderr
    assert not (tmp_path / "runs").exists()
    assert "sandbox: " not in said.stderr


def test_entries_of_a_file_that_is_not_json_are_not_counted(tmp_path: Path) -> None:
    skill = write_evals(write_skill(tmp_path / "tally"), '[{"id": 1, "prompt": "Sum it",]')
    said = run(str(skill), "--only", "check")
    assert "evals.json: cannot be read" in said.stdout
    assert "evals.json:1: error: is not JSON" in said.stdout
    assert "write at least" not in said.stdout


def test_a_choice_of_what_is_not_run_is_a_usage_error(tmp_path: Path) -> None:
    skill = write_evals(write_skill(tmp_path / "tally"), [{"id": 1, "prompt": "Sum it", "checks": ["two sums"]}])
    for options, message in (
        (
            ("--eval", "1", "--only", "triggers"),
            "--eval chooses evals to run, and --only triggers runs none; leave one",
        ),
        (("--query", "a", "--only", "evals"), "--query chooses triggers to run, and --only evals runs none; leave one"),
        (("--query", "a", "--only", "check"), "--only check runs none; leave one of them out"),
    ):
        said = run(str(skill), *options)
        assert (said.exit_code, message in said.stderr) == (2, True), said.stderr


def test_what_cannot_be_found_is_an_error_that_says_what_to_write(tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "tally")
    for only, file in (("evals", "evals/evals.json"), ("triggers", "evals/trigger-evals.json")):
        said = run(str(skill), "--only", only, "--yes")
        assert isinstance(said.exception, ConfigError)
        assert f"no skill in {skill} has {only}; write {file} beside SKILL.md: " in str(said.exception)
    said = run(str(skill / "SKILL.md"))
    assert (said.exit_code, f"SKILL.md is a file; name its folder: {skill}" in said.stderr) == (2, True)
    write_evals(
        skill, [{"query": f"Sum {number} " + "x" * 99, "should_trigger": True} for number in range(5)], "t.json"
    )
    said = run(str(skill), "--query", "rain")
    assert str(said.exception).startswith("--query: no query contains the text 'rain'; there are: Sum 0 xxx")
    assert str(said.exception).endswith("x…; and 2 more")


def test_files_with_errors_are_named_before_the_estimate_and_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    entries = [{"id": 1, "prompt": "Sum it", "checks": ["two sums"]}, {"id": "pots", "prompt": "Sum", "files": ["no"]}]
    write_evals(write_evals(write_skill(tmp_path / "tally"), entries), "{", "triggers.json")
    said = run("tally")
    wrong = "tally/evals/evals.json:1: 1 entry with an error is not run"
    broken = "tally/evals/triggers.json:1: has errors; nothing of it is run"
    assert said.stderr.index(wrong) < said.stderr.index("evals: 6 trials to run")
    assert broken in said.stderr
    last = "2 errors: tally/evals/evals.json:1, tally/evals/triggers.json:1; correct what"
    assert str(said.exception).startswith(last)
    assert "no such file; add it, or remove the path (eval pots)" in said.stdout
    assert "is not JSON: column 2: " in said.stdout
    assert "[triggers]" in said.stdout
    assert "sandbox:" not in said.stderr
    assert not (tmp_path / "runs").exists()


def test_numbers_of_evals_and_queries_are_said_of_their_files(tmp_path: Path) -> None:
    skill = write_evals(write_skill(tmp_path / "tally"), [{"id": 1, "prompt": "Sum it", "checks": ["two sums"]}])
    write_evals(skill, [{"query": "Sum", "should_trigger": True}], "triggers.json")
    found = {each["rule"]: each["path"] for each in one_skill(skill)["findings"]}
    assert found == {"evals": "evals/evals.json", "triggers": "evals/triggers.json"}
