"""`scylla-gha judge`: real command lines, a real gateway, the real SDK; only the provider is scripted."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.judged_repository import (
    EACH,
    JUDGES,
    NOP,
    ORACLE,
    JudgedRepository,
    fair,
    judged_repository,
    wording,
)
from tests.support.library import write, write_yaml
from tests.support.panel import asked_for, fault, raw, reply
from tests.support.provider import Body, Say
from tests.support.records import make_category, make_item, make_rubric
from tests.support.repository import SCENARIO

OTHERS = ("--judge", "other", "--judge", "opus", "--yes")
CONTROLLED = sorted(JUDGES * 3)  # the right answer, the wrong one, and that with its items in reverse


@pytest.fixture
def room(tmp_path: Path) -> Iterator[JudgedRepository]:
    with judged_repository(tmp_path) as made:
        yield made


def stamps(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


def near(usd: float) -> object:
    return pytest.approx(usd)


def test_a_batch_judges_the_trials_and_controls_its_judges(room: JudgedRepository) -> None:
    made = room.json()
    (own,) = made["panels"]
    assert (own["panel"], own["judges"], own["trials"], own["judged"], own["passed"]) == (
        "experiment",
        list(JUDGES),
        2,
        2,
        1,
    )
    assert own["usd"] == near(3 * EACH)
    found = [(probe["judge"], one["kind"], one["holds"]) for probe in made["probes"] for one in probe["controls"]]
    assert found == [(judge, kind, True) for judge in JUDGES for kind in ("canary", "order_swap")]
    assert room.asked() == sorted([*JUDGES, *CONTROLLED])


def test_a_second_time_nobody_is_asked_nothing_is_written_and_no_key_is_needed(room: JudgedRepository) -> None:
    first = room.json()
    before = stamps(room.run)
    room.asked()
    assert room.json(key="") == first
    assert room.asked() == []
    assert stamps(room.run) == before


def test_other_judges_make_a_judgment_of_their_own_beside_the_first(room: JudgedRepository) -> None:
    room.judge()
    kept = [(room.run / ORACLE / name).read_bytes() for name in ("trial.json", "judgment.json")]
    room.asked()
    made = room.json(*OTHERS)
    assert [(room.run / ORACLE / name).read_bytes() for name in ("trial.json", "judgment.json")] == kept
    (beside,) = (room.run / ORACLE / "judgments").iterdir()
    other, own = json.loads(beside.read_text()), room.record("judgment.json")
    assert beside.stem == other["key"][:8] != own["key"][:8]
    assert (other["trial_key"], [one["judge"] for one in other["answers"]]) == (own["trial_key"], ["other", "opus"])
    assert other["usage"]["usd"] == near(2 * EACH), "what this panel cost, not what all panels did"
    assert room.asked() == sorted(["other", "opus", *["other"] * 3]), "opus is controlled already"
    given = made["panels"][1]
    assert (given["panel"], given["compared"], given["difference"], given["flips"]) == (
        "judges other, opus",
        2,
        0.0,
        [],
    )


def test_the_report_stands_on_the_experiments_own_judges_and_counts_what_all_cost(room: JudgedRepository) -> None:
    room.judge("--no-controls")
    first = room.report()
    room.judge(*OTHERS, "--no-controls")
    second = room.report()
    assert first["judge_usd"] == near(3 * EACH)
    assert second["judge_usd"] == near(5 * EACH)
    assert {**second, "judge_usd": 0} == {**first, "judge_usd": 0}


def test_an_experiment_that_takes_the_other_judges_over_pays_nothing(room: JudgedRepository) -> None:
    room.judge("--no-controls")
    own = room.record("judgment.json")
    room.judge(*OTHERS, "--no-controls")
    file = room.root / "config/experiments/greet.yaml"
    file.write_text(file.read_text().replace("- opus\n- sonnet\n- haiku", "- other\n- opus"))
    room.asked()
    assert room.scylla("evaluate", "greet").code == 0
    assert room.asked() == []
    assert [one["judge"] for one in room.record("judgment.json")["answers"]] == ["other", "opus"]
    (aside,) = (room.run / ORACLE / "judgments").iterdir()
    assert json.loads(aside.read_text()) == own, "what was paid for is kept"
    assert json.loads((room.run / "report.json").read_text())["judge_usd"] == near(5 * EACH)


STRICT = make_rubric(
    make_category(make_item(id="Q1", type="subjective", checks=()), id="quality", weight=1.0), pass_threshold=1.0
)


def test_another_rubric_asks_for_its_items_and_scores_by_them(room: JudgedRepository, tmp_path: Path) -> None:
    room.judge("--no-controls")
    strict = write_yaml(tmp_path / "strict.yaml", STRICT)
    room.asked()
    made = room.json("--rubric", str(strict), "--yes", "--only", "*oracle*", "--no-controls")
    (beside,) = (room.run / ORACLE / "judgments").iterdir()
    assert [item["id"] for item in json.loads(beside.read_text())["items"]] == ["Q1"]
    assert [made["panels"][1][name] for name in ("panel", "trials", "compared")] == ["rubric strict", 1, 1]
    assert [len(asked_for(body)) for body in room.provider.requests] == [1, 1, 1]
    assert not (room.run / NOP / "judgments").exists()


def test_where_panels_part_the_trial_is_named(tmp_path: Path) -> None:
    def harsh(body: Body) -> Say:
        return Say(reply(*(raw(name, deductions=[fault("critical", 2.0)]) for name in asked_for(body))))

    with judged_repository(tmp_path, lambda body: harsh(body) if body["model"] == "other" else fair(body)) as room:
        room.judge("--no-controls")
        said = room.judge("--judge", "other", "--yes", "--no-controls")
    assert f"the panels disagree on whether it passes: {ORACLE}" in said.out.replace("\n", " ")


def test_another_prompt_is_what_the_judges_read(room: JudgedRepository, tmp_path: Path) -> None:
    room.judge("--no-controls")
    first = (room.run / ORACLE / "judgment.json").read_bytes()
    room.asked()
    folder = wording(tmp_path / "kinder", "Judge kindly.\n")
    made = room.json("--prompt", str(folder), "--yes", "--no-controls")
    assert {body["system"] for body in room.provider.requests} == {"Judge kindly.\n"}
    assert made["panels"][1]["panel"] == "prompt kinder"
    assert (room.run / ORACLE / "judgment.json").read_bytes() == first


def test_to_pay_again_is_asked_first(room: JudgedRepository) -> None:
    room.judge("--no-controls")
    room.asked()
    said = room.scylla("judge", "greet", "--judge", "other")
    assert (said.code, room.asked()) == (6, [])
    assert "0 trials to run and 2 to judge with paid models, and 1 control of judges: spend likely $" in said.err
    assert "Standard input is not a terminal; give --yes" in said.err


def test_what_was_recorded_is_judged_again_without_a_key(room: JudgedRepository) -> None:
    again = (*OTHERS, "--repeat", "2", "--json")
    first = room.judge(*again, "--record", "config/recordings/greet")
    shutil.rmtree(room.run / "controls")
    shutil.rmtree(room.run / ORACLE / "judgments")
    for journal in room.run.rglob("judge-traffic.jsonl"):
        journal.unlink()
    room.asked()
    replayed = room.judge(*again, "--replay", key="")
    assert (replayed.code, room.asked()) == (0, []), replayed.err
    assert without_journals(replayed.out) == without_journals(first.out)


def without_journals(said: str) -> dict[str, Any]:
    """Return what was judged, without the digests of journals, which hold times."""
    told: dict[str, Any] = json.loads(said)
    return {**told, "probes": [{**probe, "traffic": None} for probe in told["probes"]]}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--rubric", "none.yaml"], "does not exist"),
        (["--rubric", "broken.yaml"], "broken.yaml:1: categories: missing; add it"),
        (["--rubric", "misfit.yaml"], f"misfit.yaml: for {SCENARIO}: item F1: there is no checkpoint 'nowhere'"),
        (["--rubric", "empty"], f"empty: lacks {SCENARIO}.yaml"),
        (["--prompt", "empty"], "system_prompt.md: cannot be read"),
        (["--only", "x*"], "--only 'x*' matches none of 2 cells"),
        (["--repeat", "1"], "1 is not in the range"),
    ],
)
def test_what_cannot_be_is_said_before_anybody_is_asked(room: JudgedRepository, args: list[str], said: str) -> None:
    write(room.root / "broken.yaml", "pass_threshold: 0.5\n")
    misfit = make_rubric(make_category(make_item(id="F1", checks=("nowhere",)), id="all", weight=1.0))
    write_yaml(room.root / "misfit.yaml", misfit)
    (room.root / "empty").mkdir()
    found = room.judge(*args)
    assert found.code in {2, 3}
    assert said in " ".join(found.err.split())
    assert room.asked() == []


def test_trials_of_an_experiment_without_judges_can_be_judged_by_some(tmp_path: Path) -> None:
    with judged_repository(tmp_path, judges=()) as room:
        assert room.json(key="")["probes"] == []
        made = room.json("--judge", "opus", "--yes")
        assert [panel["judges"] for panel in made["panels"]] == [[], ["opus"]]
        assert room.asked() == ["opus"] * 4
        assert "has no judges; name some" in room.judge("--repeat", "2").err
        assert room.report()["judge_usd"] == near(4 * EACH)


def test_who_was_cut_off_by_the_provider_is_asked_again_by_the_next_run(tmp_path: Path) -> None:
    cut = [True]
    with judged_repository(tmp_path, lambda body: Say("{", cut=True) if cut[0] else fair(body)) as room:
        first = room.scylla("evaluate", "greet", "--yes")
        judgment = room.record("judgment.json")
        assert (first.code, judgment["unjudged"], judgment["result"]) == (8, None, None)
        assert "the stream ended before the end of the answer" in judgment["error"]
        assert room.asked() == sorted(JUDGES * 3), "three times each, and no more with the diff alone"
        cut[0] = False
        second = room.scylla("evaluate", "greet", "--yes")
        assert (second.code, room.asked()) == (0, sorted(JUDGES))
        assert room.record("judgment.json")["result"]["passed"]


def test_who_refused_twice_is_not_asked_again_by_the_next_run(tmp_path: Path) -> None:
    with judged_repository(tmp_path, lambda _: Say("", stop_reason="refusal")) as room:
        room.scylla("evaluate", "greet", "--yes")
        judgment = room.record("judgment.json")
        assert (judgment["error"], judgment["unjudged"]) == (None, None)
        assert "the answer ended by refusal" in judgment["result"]["why"]
        rows = [json.loads(line) for line in (room.run / "results.jsonl").read_text().splitlines()]
        assert {row["cell"]: row.get("judges_withheld", 0) for row in rows}[ORACLE] == len(JUDGES)
        assert room.asked() == sorted(JUDGES * 2), "once with all, and once with the diff alone"
        room.scylla("evaluate", "greet", "--yes")
        assert room.asked() == []
        assert room.record("judgment.json") == judgment
