"""Evals and trigger queries are read in all forms that people write, and each fault names its place."""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.skills.suites import copy_skill
from tests.support.skills import checked, messages, one_skill, write_evals, write_skill

A, B = "pots.txt exists", "The reply names both sums"
ASK = "Sum the two columns of pots.csv."


def entry(**values: Any) -> dict[str, Any]:
    return {"id": 1, "prompt": ASK, **values}


EVALS: dict[str, tuple[Any, dict[str, int]]] = {
    "expectations": ({"evals": [entry(expectations=[A, B])]}, {"evals": 1, "judged": 2}),
    "texts in objects": ({"evals": [entry(assertions=[{"text": A}, {"id": "b", "description": B}])]}, {"judged": 2}),
    "an object of texts": ({"tests": [entry(evaluation_criteria={"whole": A, "right": B})]}, {"judged": 2}),
    "several keys are joined": ([entry(expected_behavior=[A], rubric=[B], fail=["invents"])], {"judged": 3}),
    "only the expected output": ({"cases": [entry(expected_output={"totals": [1, 2]})]}, {"judged": 1}),
    "expected output beside assertions": ([entry(expected_output="two sums", expects=[A])], {"judged": 1}),
    "a pattern": ([entry(assertions=[{"text": A, "type": "output_contains", "pattern": "\\b12\\b"}])], {"coded": 1}),
    "a command": ([entry(assertions=[{"check": A, "cmd": ["true"], "expect_exit": 0}])], {"coded": 1, "judged": 0}),
    "must have": ([entry(must_have=["\\b12\\b", B], must_not_have=["(?i)sorry"])], {"coded": 2, "judged": 1}),
    "retired": ([entry(checks=[{"check": A, "retired": True}, B])], {"judged": 1}),
    "one object": ({"eval_id": "x", "prompt": ASK, "expectations": [A]}, {"evals": 1}),
    "a message": ([entry(prompt=None, messages=[{"role": "user", "content": "Sum it"}])], {"evals": 1}),
    "parts of a message": ([{"turns": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}], {"evals": 1}),
    "a call": ([entry(prompt="/tally pots.csv"), entry(id=2, prompt="Use the tally skill.")], {"invoked_by_name": 2}),
    "a word that is a name": ([entry(prompt="Tally the pots.")], {"invoked_by_name": 0}),
    "about the skill": ([entry(expectations=["Reads references/rules.md first", B])], {"about_the_skill": 1}),
    "prompts by language": (
        {"scenarios": [{"id": "a", "inputs": {"en": ASK, "pt-BR": ASK}, "expected": A}]},
        {"evals": 2},
    ),
    "a list of prompts": ({"prompts": [entry(checks=[A])]}, {"evals": 1}),
    "a label in evals": (
        [entry(expectations=[A]), entry(id=2, should_trigger=False, checks=[A])],
        {"evals": 2, "should_not_trigger": 1},
    ),
}


@pytest.mark.parametrize("name", EVALS)
def test_evals_are_read(tmp_path: Path, name: str) -> None:
    value, expected = EVALS[name]
    skill = one_skill(write_evals(write_skill(tmp_path / "tally"), value))
    assert {key: skill["counts"][key] for key in expected} == expected
    assert messages(skill, "error") == []


QUERIES = [{"query": "sum", "should_trigger": True}, {"query": "weather", "should_trigger": False}]
TRIGGERS: dict[str, tuple[Any, int, int]] = {
    "a list": (QUERIES, 1, 1),
    "queries": ({"skill_name": "tally", "queries": QUERIES}, 1, 1),
    "camel case": ({"cases": [{"prompt": "sum", "shouldTrigger": True}]}, 1, 0),
    "two lists": ({"should_trigger": ["sum", "add"], "should_not_trigger": ["weather"]}, 2, 1),
    "names": ([{"query": "sum", "should_trigger": "tally", "should_not_trigger": ["plot"]}], 1, 0),
    "lists of skills": (
        {
            "skills": [
                {"name": "tally", "should_trigger": ["sum"]},
                {"name": "plot", "should_trigger": ["draw"], "should_not_trigger": ["rain"]},
            ]
        },
        2,
        1,
    ),
    "routing": ([{"query": "sum", "expected": "tally"}, {"query": "rain", "expected": None}], 1, 1),
    "a name beside the flag": (
        {
            "cases": [
                {"prompt": "sum", "should_trigger": True, "expected_skill": "tally"},
                {"prompt": "x", "target": "none"},
            ]
        },
        1,
        1,
    ),
    "null": ([{"query": "sum", "should_trigger": "tally"}, {"query": "rain", "should_trigger": None}], 1, 1),
    "lists by name": ({"tally": {"should_trigger": ["sum"], "should_not_trigger": ["rain"]}}, 1, 1),
    "the same twice": ([QUERIES[0], QUERIES[0]], 1, 0),
}


@pytest.mark.parametrize("name", TRIGGERS)
def test_queries_are_read(tmp_path: Path, name: str) -> None:
    value, positive, negative = TRIGGERS[name]
    skill = one_skill(write_evals(write_skill(tmp_path / "tally"), value, "trigger-evals.json"))
    assert (skill["counts"]["should_trigger"], skill["counts"]["should_not_trigger"]) == (positive, negative)
    assert messages(skill, "error") == []


# Collections of cases elsewhere expect these words.
FAULTS: dict[str, tuple[Any, str]] = {
    "trailing comma": ('{"evals": [{"prompt": "x",}]}', "is not JSON: column 27"),
    "twice": ('{"evals": [{"prompt": "a", "prompt": "b"}]}', "evals[0].prompt: is there twice"),
    "NaN": ('{"evals": [{"prompt": "a",\n"id": NaN}]}', "NaN is not a JSON number"),
    "deep": ("[" * 100_000, "nested too deeply"),
    "an object": ({"evals": {"one": entry()}}, "evals: must be a list"),
    "two lists": ({"evals": [entry()], "cases": [entry()]}, "evals and cases: a file has only one"),
    "empty": ({"evals": [entry(prompt=" ")]}, "evals[0].prompt: is empty"),
    "missing": ({"evals": [entry(), {"id": 2, "checks": [A]}]}, "evals[1].prompt: is missing"),
    "same id": ({"evals": [entry(), entry()]}, "evals[1].id: '1' is also the id of evals[0]"),
    "wrong id": ([entry(id=True)], "[0].id: must be a whole number or text"),
    "no text": ([entry(checks=[7])], "[0].checks[0]: has no text"),
    "too many": ([entry(checks=[A] * 201)], "[0]: has 201 assertions; the maximum is 200"),
    "too many entries": ([entry(id=number) for number in range(2001)], "has 2,001 entries; the maximum is 2,000"),
    "regex": (
        [entry(checks=[{"type": "contains", "pattern": "(a"}])],
        "checks[0].pattern: is no regular expression: '(a'",
    ),
    "regex bomb": ([entry(checks=[{"type": "regex", "pattern": "(a{1000}){1000}"}])], "is no regular expression"),
    "no file": ([entry(files=["none.csv"])], "[0].files[0]: none.csv: there is no such file"),
    "leads out": ([entry(files=["../../x"])], "[0].files[0]: ../../x: leads out"),
    "absolute": ([entry(files=["/etc/passwd"])], "[0].files[0]: /etc/passwd: must be a relative path"),
    "link": ([entry(files=["evals/link.csv"])], "evals/link.csv: is a link"),
    "command": ([entry(checks=[{"cmd": 5}])], "[0].checks[0].cmd: must be a command"),
    "setup": ([entry(setup=[5])], "[0].setup[0]: must be text; write one shell command"),
    "no label": ({"queries": [{"query": "sum"}]}, "queries[0]: has no label"),
    "text": (
        [{"query": "sum", "should_trigger": "true"}],
        "[0].should_trigger: 'true' is text; write true or false, or the name of a skill that is here",
    ),
    "both": ([QUERIES[0], {"query": "sum", "should_trigger": False}], "[1].query: is there with both labels"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_names_its_place(tmp_path: Path, name: str) -> None:
    value, message = FAULTS[name]
    is_label = name in {"no label", "text", "both"}
    skill = write_evals(write_skill(tmp_path / "tally"), value, "trigger-evals.json" if is_label else "evals.json")
    (skill / "evals/link.csv").symlink_to("/etc/passwd")
    assert any(message in text for text in messages(one_skill(skill), "error")), messages(one_skill(skill))


SKIPPED: dict[str, Any] = {
    "has 2 user messages": {"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]},
    "has a prompt and follow_ups": entry(follow_ups=["and then?"]),
    "the prompt contains the placeholder {{CITY}}": entry(prompt="Weather in {{CITY}}"),
    "the prompt contains the placeholder {PORT}": entry(prompt="Serve at {PORT}"),
    "the prompt contains the placeholder <path>": entry(prompt="Sum <path>"),
}


@pytest.mark.parametrize("reason", SKIPPED)
def test_what_cannot_be_asked_is_skipped_with_the_reason(tmp_path: Path, reason: str) -> None:
    skill = one_skill(write_evals(write_skill(tmp_path / "tally"), {"evals": [SKIPPED[reason], entry(id=7)]}))
    assert (skill["files"][0]["read"], skill["files"][0]["skipped"]) == (1, 1)
    assert any(f"evals[0]: skipped: {reason}" in text for text in messages(skill, "note"))


@pytest.mark.parametrize(
    "prompt",
    [
        "Write <name>x</name> as XML",
        "Run `fetch <url>`",
        "Commands: add <url>, list, rm <id>. Tests too.",
        "Echo ${HOME} and ${{ secrets.X }}",
        "{a: 1}",
    ],
)
def test_code_in_a_prompt_is_no_placeholder(tmp_path: Path, prompt: str) -> None:
    assert one_skill(write_evals(write_skill(tmp_path / "tally"), [entry(prompt=prompt)]))["counts"]["evals"] == 1


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        (
            "evals.yaml",
            "cases:\n- id: 1\n  prompt: Sum\n  date: 2026-01-02\n  checks: [it sums]\n- id: 2\n  checks: [a]\n",
            6,
        ),
        ("evals.jsonl", '{"prompt": "Sum", "checks": ["it sums"]}\n\n{"checks": ["a"]}\n', 3),
    ],
)
def test_yaml_and_lines_of_json_are_read(tmp_path: Path, name: str, text: str, line: int) -> None:
    skill = one_skill(write_evals(write_skill(tmp_path / "tally"), text, name))
    (file,) = skill["files"]
    assert (file["kind"], file["read"], file["in_error"]) == ("evals", 1, 1)
    (finding,) = [each for each in skill["findings"] if each["level"] == "error"]
    assert finding["line"] == line
    assert "prompt: is missing" in finding["message"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1", "is not YAML"),
        ("evals: !mine x", "is not YAML"),
        ("evals:\n- prompt: a\n  prompt: b", "evals[0].prompt: is there twice"),
        ("a: .nan", "has a value that JSON does not allow"),
        ("a: &x [*x]", "a value that JSON does not allow"),
    ],
)
def test_unreadable_yaml_is_named_and_no_error(tmp_path: Path, text: str, message: str) -> None:
    skill = one_skill(write_evals(write_skill(tmp_path / "tally"), text, "suite.yaml"))
    assert any("is not read" in each and message in each for each in messages(skill, "warning"))
    assert messages(skill, "error") == []


@pytest.mark.parametrize("place", ["eval.json", "references/evals/evals.json", "evals.yml"])
def test_evals_at_other_places_are_read_and_not_delivered(tmp_path: Path, place: str) -> None:
    skill = write_skill(tmp_path / "tally")
    (skill / place).parent.mkdir(parents=True, exist_ok=True)
    (skill / place).write_text(json.dumps([entry(checks=[A])]))
    assert one_skill(skill)["counts"]["evals"] == 1
    copy_skill(skill, tmp_path / "copy")
    assert not (tmp_path / "copy" / place).exists()


def several(root: Path, value: Any, name: str = "trigger-eval.json") -> dict[str, Any]:
    """Return the check of the skills tally and plot, with a file in the folder of evals that they share."""
    for skill in ("tally", "plot"):
        write_skill(root / "skills" / skill, f"name: {skill}\ndescription: Use it for a {skill}.")
    write_evals(root, value, name)
    return checked(root)


NAMED = [{"query": "sum", "should_trigger": "tally"}, {"query": "draw", "should_trigger": "plot"}]
SHARED: dict[str, Any] = {
    "labels": NAMED,
    "notes beside the entries": {"about": "routing", "evals": NAMED},
    "expected skills": {
        "queries": [{"prompt": "sum", "expected_skill": "tally"}, {"prompt": "draw", "expected_skill": "plot"}]
    },
    "routes": {"cases": [{"prompt": "sum", "expect": "tally"}, {"prompt": "draw", "expect": "plot"}]},
    "flags with names": {
        "cases": [
            {"query": "sum", "should_trigger": True, "target": "tally"},
            {"query": "draw", "should_trigger": True, "target": "plot"},
        ]
    },
}


@pytest.mark.parametrize("form", SHARED)
def test_a_file_of_several_skills_counts_for_all_that_it_names(tmp_path: Path, form: str) -> None:
    check = several(tmp_path, SHARED[form])
    counts = {skill["name"]: skill["counts"] for skill in check["skills"]}
    assert [counts[name]["should_trigger"] for name in ("tally", "plot")] == [2, 2]
    labels = {query["query"]: query["label"]["expected"] for query in check["skills"][0]["files"][0]["queries"]}
    assert labels == {"sum": ["tally"], "draw": ["plot"]}
    assert any(each["message"].startswith("counts for 2 skills: plot") for each in check["findings"])


def test_files_of_several_skills_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    several(tmp_path, QUERIES)
    write_evals(tmp_path, {"skill_name": "lost", "evals": [entry(checks=[A])]})
    write_evals(tmp_path / "docs", {"cases": [{"prompt": "draw", "expected_skill": "plot"}]}, "old-evals.json")
    (tmp_path / "docs/evals/old-evals.json").rename(tmp_path / "docs/old-evals.json")
    findings = {each["path"]: each["message"] for each in checked(tmp_path)["findings"]}
    assert 'does not say for which skill it is; write "skill_name"' in findings["evals/trigger-eval.json"]
    assert "it is for lost, and no skill here has this name" in findings["evals/evals.json"]
    assert "copy it to skills/plot/evals/old-evals.json" in findings["docs/old-evals.json"]


def test_evals_of_other_skills_are_left_to_them(tmp_path: Path) -> None:
    cases = [entry(skill="tally", checks=[A]), entry(id=2, skill="plot", checks=[A])]
    check = several(tmp_path, {"cases": cases}, "cases/all.json")
    assert [skill["counts"]["evals"] for skill in check["skills"]] == [1, 1]
    assert "1 other entry is for other skills" in messages(check["skills"][0], "note")


def test_prompts_in_lists_of_another_name_are_named(tmp_path: Path) -> None:
    skill = write_evals(write_skill(tmp_path / "tally"), {"use_cases": [entry()], "others": [entry()]}, "all.json")
    assert any("its prompts are in use_cases, others" in text for text in messages(one_skill(skill), "note"))


def test_equal_files_in_two_folders_are_read_once(tmp_path: Path) -> None:
    write_evals(write_skill(tmp_path / "skills/tally"), {"skill_name": "tally", "evals": [entry(checks=[A])]})
    write_evals(tmp_path, {"skill_name": "tally", "evals": [entry(checks=[A])]})
    skill = one_skill(tmp_path)
    assert skill["counts"]["evals"] == 1
    assert "is equal to skills/tally/evals/evals.json, which is read" in messages(skill, "note")


def test_files_of_an_eval_are_relative_to_the_repository_too(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    skill = write_skill(tmp_path / "skills/tally")
    files = ["skills/tally/evals/files/a.csv", "skills/former/evals/files/a.csv", "SKILL.md"]
    write_evals(skill, [entry(files=files, checks=[A]), entry(id=2, files=["x/a.csv"])])
    (skill / "evals/files").mkdir()
    (skill / "evals/files/a.csv").write_text("1,2")
    read = one_skill(tmp_path)
    (only,) = read["files"][0]["evals"]
    assert list(only["files"]) == [str(skill / "evals/files/a.csv")]
    assert any("SKILL.md is left out, since trials without the skill" in text for text in messages(read, "warning"))
    assert any("x/a.csv: there is no such file; write evals/files/a.csv" in text for text in messages(read, "error"))


def test_commands_that_can_never_hold_are_named_and_judged(tmp_path: Path) -> None:
    checks = [{"check": A, "cmd": ["test", "-d", "{case_dir}/x"]}, {"check": B, "cmd": "python evals/check.py"}]
    read = one_skill(
        write_evals(write_skill(tmp_path / "tally"), [entry(checks=checks), entry(id=2, checks=[{"cmd": "evals/x"}])])
    )
    assert (read["counts"]["judged"], read["counts"]["coded"]) == (2, 0)
    text = (
        "[0].checks[0].cmd and 1 other: the command contains {case_dir}, which nothing fills, so judges decide the text"
    )
    assert any(text in each for each in messages(read, "warning"))
    assert any("[1].checks[0].cmd: the command needs evals/" in each for each in messages(read, "error"))


def test_lines_of_faults_are_those_of_the_file(tmp_path: Path) -> None:
    text = json.dumps({"evals": [entry(), entry(id=2, checks=[A, {"id": "x"}])]}, indent=1)
    skill = one_skill(write_evals(write_skill(tmp_path / "tally"), text))
    (finding,) = [each for each in skill["findings"] if each["level"] == "error"]
    assert '"id": "x"' in text.splitlines()[finding["line"]]


def test_other_files_are_left_alone_and_named(tmp_path: Path) -> None:
    skill = write_evals(write_skill(tmp_path / "tally"), [entry(checks=[A], note="x", owner="me")])
    write_evals(skill, {"planted": []}, "answer-key.json")
    read = one_skill(skill)
    assert read["counts"]["evals"] == 1
    assert [file["path"] for file in read["files"] if file["kind"] == "not evals"] == ["evals/answer-key.json"]
    assert "unknown keys, which are ignored: note, owner" in messages(read, "note")


def test_hosts_must_be_declared(tmp_path: Path) -> None:
    asks = [
        entry(prompt="Fetch https://example.invalid/a"),
        entry(id=2, prompt="Fetch https://b.invalid", hosts=["b.invalid"]),
        entry(id=3, prompt="See http://localhost:1"),
        entry(id=4, prompt="Write a link to https://c.invalid", hosts=[]),
    ]
    read = one_skill(write_evals(write_skill(tmp_path / "tally"), asks))
    (text,) = [text for text in messages(read, "warning") if "network" in text]
    assert text.startswith("[0]: the prompt names example.invalid, so it is not run until")
    assert 'write "hosts": ["example.invalid"], or "hosts": [] if it needs none' in text


def test_all_faults_of_an_entry_are_named(tmp_path: Path) -> None:
    bad = entry(id=True, prompt="", files=["none.csv", "/etc/x"], checks=[7, A, {}], setup=[5], should_trigger=7)
    read = one_skill(write_evals(write_skill(tmp_path / "tally"), {"evals": [bad, entry()]}))
    places = ("should_trigger", "prompt", "id", "checks[0]", "checks[2]", "files[0]", "files[1]", "setup[0]")
    assert [text.partition(":")[0] for text in messages(read, "error")] == [f"evals[0].{place}" for place in places]
    assert (read["files"][0]["in_error"], read["files"][0]["read"]) == (1, 1)


def test_a_file_of_another_tool_is_left_alone(tmp_path: Path) -> None:
    """Few of its entries have a prompt, and its name is not evals.json."""
    skill = write_evals(write_skill(tmp_path / "tally"), [entry(checks=[A])])
    write_evals(skill, {"evals": [{"id": 1, "type": "scan", "expectations": [A]}] * 2 + [entry()]}, "local-evals.json")
    read = one_skill(skill)
    assert [file["kind"] for file in read["files"]] == ["evals", "not evals"]


def test_calls_of_nobody_are_named_once(tmp_path: Path) -> None:
    (tmp_path / "commands").mkdir()
    (tmp_path / "commands/count.md").write_text("Count.")
    prompts = ["/count a", "/tally a", "/sum a", "/add a", "/etc/hosts is long"]
    asks = [entry(id=number, prompt=prompt, checks=[A]) for number, prompt in enumerate(prompts)]
    write_evals(write_skill(tmp_path / "tally"), asks)
    read = one_skill(tmp_path)
    assert read["counts"]["invoked_by_name"] == 4
    assert messages(read, "warning") == ["[2]: calls /sum and 1 other, but no skill or command here has this name"]


def test_byte_order_marks_and_other_encodings(tmp_path: Path) -> None:
    skill = write_evals(write_skill(tmp_path / "tally"), "")
    path = skill / "evals/evals.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps([entry(checks=[A])]).replace(" ", "\r\n", 1).encode())
    assert one_skill(skill)["counts"]["evals"] == 1
    path.write_bytes(json.dumps([entry()]).encode("utf-16"))
    assert any("is not UTF-8" in text for text in messages(one_skill(skill), "error"))
    path.write_bytes(b" " * (4 * 1024**2 + 1))
    assert any("more than 4 MiB" in text for text in messages(one_skill(skill), "error"))


def test_queries_of_a_skill_for_users_are_skipped(tmp_path: Path) -> None:
    front = "name: tally\ndescription: Use it when asked.\ndisable-model-invocation: true"
    read = one_skill(write_evals(write_skill(tmp_path / "tally", front), QUERIES, "trigger-evals.json"))
    assert (read["counts"]["should_trigger"], read["files"][0]["skipped"]) == (0, 2)
