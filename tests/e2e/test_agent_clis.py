"""Each agent CLI with a manifest works on a task, and gets each treatment that its manifest has a line for."""

from pathlib import Path

import pytest

from tests.support.agent_clis import (
    MANIFESTS,
    SENTENCE,
    STYLES,
    TREATMENTS,
    arm,
    attempts,
    evaluate,
    first_requests,
    pinned,
    takes,
    working_provider,
    write_experiment,
    write_treatments,
)
from tests.support.command import scylla
from tests.support.git import shell

# Packages of plug-ins, and a list of prices; no setting prevents it.
TRIED = {"opencode": {"registry.npmjs.org"}, "aider": {"raw.githubusercontent.com"}}
PROOFS = {
    "01-instructions": SENTENCE,
    "02-skill": "How to greet reviewers",
    "04-agent": "Reads the proofs",
    "05-append": "You work with great care today.",
    "06-replace": "You are a careful engineer.",
}


@pytest.mark.parametrize(("name", "style"), STYLES)
def test_it_writes_a_file_and_reaches_no_other_host(tmp_path: Path, name: str, style: str) -> None:
    with working_provider(name, style) as url:
        said = evaluate(tmp_path, name, url, api_style=style)
    assert said.code == 0, said.err
    (attempt,) = attempts(tmp_path).values()
    writes = style == "anthropic-messages" or name != "aider"
    assert (attempt["outcome"], attempt["diff"]["files"]) == ("completed", ["hello.py"] * writes), attempt["reason"]
    assert attempt["delivery"]["proved"], attempt["delivery"]
    assert attempt["network"]["allowed"] == {}
    assert attempt["network"]["refused"].keys() <= TRIED.get(name, set())
    requests = 1 if name == "aider" or (name == "mini-swe-agent" and style != "anthropic-messages") else 2
    assert (attempt["turns"], attempt["requests"]) == (requests, requests)
    assert attempt["usage"]["usd"] > 0
    assert attempt["agent_version"] in {None, pinned(name).partition("@")[2]}


@pytest.mark.parametrize("name", sorted(MANIFESTS))
def test_each_treatment_is_proved_and_taken_away_or_refused(tmp_path: Path, name: str) -> None:
    shell(write_treatments(tmp_path), "git init -q && git add -A")
    taken = [sub_test for sub_test in TREATMENTS if takes(name, sub_test)]
    with working_provider(name) as url:
        said = evaluate(tmp_path, name, url, variants=tuple(f"T1/{sub_test}" for sub_test in taken))
    assert said.code == 0, said.err
    made, texts = attempts(tmp_path), first_requests(tmp_path)
    ids = {sub_test: arm(name, f"t1-{sub_test}") for sub_test in taken}
    for sub_test, arm_id in ids.items():
        delivery = made[arm_id]["delivery"]
        assert (made[arm_id]["outcome"], delivery["proved"]) == ("completed", True), (sub_test, delivery)
        other = {text for shown, text in PROOFS.items() if shown != sub_test}
        assert not [text for text in other if text in texts[arm_id]], sub_test
        assert PROOFS.get(sub_test, "") in texts[arm_id], sub_test
    for sub_test in TREATMENTS.keys() - ids.keys():
        write_experiment(tmp_path, name, (f"T1/{sub_test}",))
        refused = scylla("validate", "probe.yaml", cwd=tmp_path)
        assert refused.code == 3, sub_test
        assert f"{name} cannot take " in refused.err
