"""Each agent CLI with a manifest works on a task, and gets each treatment that its manifest has a line for."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.agent_clis import (
    CLIS,
    MANIFESTS,
    SENTENCE,
    STYLES,
    TREATMENTS,
    arm,
    first_requests,
    pinned,
    style,
    takes,
    write_experiment,
)
from tests.support.agent_matrix import TAKEN_AWAY, is_same_elsewhere, run_plain, run_replay, run_treatments
from tests.support.command import scylla

# Packages of plug-ins, and a list of prices; no setting prevents it.
TRIED = {"opencode": {"registry.npmjs.org"}, "aider": {"raw.githubusercontent.com"}}
PROOFS = {
    "01-instructions": SENTENCE,
    "02-skill": "How to greet reviewers",
    "04-agent": "Reads the proofs",
    "05-append": "You work with great care today.",
    "06-replace": "You are a careful engineer.",
}


def require_whole(name: str, attempt: dict[str, Any]) -> None:
    """Assert that a run wrote the file, and that nothing about it is unknown."""
    assert (attempt["outcome"], attempt["diff"]["files"]) == ("completed", ["hello.py"]), attempt["reason"]
    assert attempt["delivery"]["proved"], attempt["delivery"]
    assert attempt["network"]["allowed"] == {}
    assert attempt["network"]["refused"].keys() <= TRIED.get(name, set())
    requests = 1 if name == "aider" else 2
    assert (attempt["turns"], attempt["requests"]) == (requests, requests)
    assert attempt["usage"]["usd"] > 0
    assert attempt["agent_version"] in {None, pinned(name).partition("@")[2]}


@pytest.mark.parametrize("name", CLIS)
def test_it_writes_a_file_reaches_no_other_host_and_is_replayed_elsewhere(tmp_path: Path, name: str) -> None:
    recorded, again = tmp_path / "recorded", tmp_path / "another folder"
    for folder in (recorded, again):
        folder.mkdir()
    attempt = run_plain(recorded, name)
    require_whole(name, attempt)
    replayed = run_replay(again, name, recorded)
    assert (replayed["outcome"], replayed["requests"]) == ("completed", attempt["requests"]), replayed["reason"]
    assert is_same_elsewhere(recorded, name)


@pytest.mark.parametrize(("name", "api_style"), [(name, used) for name, used in STYLES if used != style(name)])
def test_it_does_the_same_with_its_other_model_api(tmp_path: Path, name: str, api_style: str) -> None:
    require_whole(name, run_plain(tmp_path, name, api_style))


@pytest.mark.parametrize("name", sorted(MANIFESTS))
def test_each_treatment_is_proved_or_refused(tmp_path: Path, name: str) -> None:
    made = run_treatments(tmp_path, name, tuple(TREATMENTS))
    texts = first_requests(tmp_path)
    for sub_test, attempt in made.items():
        delivery, text = attempt["delivery"], texts[arm(name, f"t1-{sub_test}")]
        assert (attempt["outcome"], delivery["proved"]) == ("completed", True), (sub_test, delivery)
        assert not [shown for other, shown in PROOFS.items() if other != sub_test and shown in text], sub_test
        assert PROOFS.get(sub_test, "") in text, sub_test
    for sub_test in TREATMENTS.keys() - made.keys():
        assert not takes(name, sub_test)
        write_experiment(tmp_path, name, (f"T1/{sub_test}",))
        refused = scylla("validate", "probe.yaml", cwd=tmp_path)
        assert refused.code == 3, sub_test
        assert f"{name} cannot take " in refused.err


@pytest.mark.parametrize("name", ["codex", "gemini-cli", "qwen-code"])  # one for each API; agent_matrix runs all
def test_a_treatment_that_is_put_where_the_cli_does_not_look_is_missed(tmp_path: Path, name: str) -> None:
    for sub_test, attempt in run_treatments(tmp_path, name, TAKEN_AWAY, broken=True).items():
        assert attempt["outcome"] == "delivery_error", sub_test
        assert attempt["reason"].startswith("missing: "), sub_test
