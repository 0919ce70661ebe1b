"""Controls of the judges: real command lines, a real gateway, the real SDK; only the provider is scripted."""

import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.command import forked
from tests.support.judged_repository import EACH, JUDGES, JudgedRepository, fair, judged_repository, lenient, sees
from tests.support.panel import asked_for, fault, raw, reply
from tests.support.processes import wait_for
from tests.support.provider import Body, Fail, Hang, Say
from tests.support.repository import SCENARIO, environment

OTHERS = ("--judge", "other", "--judge", "opus", "--yes")
CONTROLLED = sorted(JUDGES * 3)  # the right answer, the wrong one, and that with its items in reverse


@pytest.fixture
def room(tmp_path: Path) -> Iterator[JudgedRepository]:
    with judged_repository(tmp_path) as made:
        yield made


def near(usd: float) -> object:
    return pytest.approx(usd)


DEAR = 1.0  # USD of an answer of `dear`, at the prices of `make_model`: far above what a request is reserved at


def dear(body: Body) -> Say:
    """A fair answer to a prompt of a million tokens."""
    return replace(fair(body), usage={"input_tokens": 1_000_000})


def test_a_judge_that_says_otherwise_of_the_same_is_found_out(tmp_path: Path) -> None:
    times: dict[str, int] = {}

    def fickle(body: Body) -> Say:
        """Every second answer of haiku differs."""
        times[body["model"]] = times.get(body["model"], 0) + 1
        even = body["model"] == "haiku" and times["haiku"] % 2 == 0
        return Say(reply(*(raw(name, deductions=[fault("minor", 0.2)] * even) for name in asked_for(body))))

    with judged_repository(tmp_path, fickle) as room:
        made = room.json("--repeat", "3", "--no-controls", "--yes")
        assert room.asked() == sorted(JUDGES * 3), "the judgment's own answer is the first of three"
        found = {probe["judge"]: probe["controls"][0] for probe in made["probes"]}
        assert {judge: one["holds"] for judge, one in found.items()} == {"opus": True, "sonnet": True, "haiku": False}
        assert found["haiku"]["why"] == "2 of 4 items differ"
        room.json("--repeat", "3", "--no-controls", "--yes")
        assert room.asked() == []
        report = room.report()
    assert "judge haiku answered 2 of 4 items differently when asked the same question again." in report["warnings"]
    assert report["judge_usd"] == near(9 * EACH)


def test_a_judge_that_goes_by_the_order_of_the_items_is_found_out(tmp_path: Path) -> None:
    def positional(body: Body) -> Say:
        names = asked_for(body)
        return Say(reply(*(raw(name, deductions=[fault("minor", 0.2)] * at) for at, name in enumerate(names))))

    with judged_repository(tmp_path, positional, ("opus", "sonnet")) as room:
        room.judge()
        report = room.report()
    assert f"judge opus failed the order swap of {SCENARIO}: 2 of 2 items differ." in report["warnings"]


def test_a_judge_that_cannot_tell_right_from_wrong_is_in_the_report(tmp_path: Path) -> None:
    script = lambda body: lenient(body) if body["model"] == "haiku" else fair(body)  # noqa: E731
    with judged_repository(tmp_path, script) as room:
        assert room.judge().code == 0
        (warning,) = [one for one in room.report()["warnings"] if one.startswith("judge ")]
    found = "known-good 1.00 (at least 0.8), known-bad 1.00 (lower by at least 0.2)"
    assert warning == f"judge haiku failed the canary of {SCENARIO}: {found}."


def test_controls_of_judges_that_the_report_is_not_by_warn_of_nothing_and_cost(tmp_path: Path) -> None:
    script = lambda body: lenient(body) if body["model"] == "other" else fair(body)  # noqa: E731
    with judged_repository(tmp_path, script) as room:
        room.judge("--no-controls")
        made = room.json("--judge", "other", "--yes")
        assert [one["holds"] for one in made["probes"][0]["controls"]] == [False, True]
        report = room.report()
    assert not [one for one in report["warnings"] if one.startswith("judge ")]
    assert report["judge_usd"] == near((3 + 1 + 3) * EACH)


def test_the_known_answers_are_shown_as_blind_as_a_trial(room: JudgedRepository) -> None:
    room.judge()
    texts = [body["messages"][0]["content"] for body in room.provider.requests if body["model"] == "opus"]
    assert len(texts) == 4
    assert not [
        word for word in ("solution", "wrong", "loud", "canary", "oracle", "known") for text in texts if word in text
    ]
    assert sum(sees(body) for body in room.provider.requests if body["model"] == "opus") == 2


def test_what_is_not_in_the_recording_is_named_and_not_asked(room: JudgedRepository) -> None:
    room.judge("--no-controls", "--record", "config/recordings/greet")
    said = room.judge("--replay", key="")
    assert said.code == 0
    assert f"note: skipped 3 controls not in the recording: opus on {SCENARIO}, ..." in said.err
    assert not (room.run / "controls").exists()


def test_a_control_that_the_provider_prevented_is_undecided_and_asked_again(tmp_path: Path) -> None:
    down = [True]

    def script(body: Body) -> Say | Fail:
        return Fail(400) if down[0] and body["model"] == "opus" and not sees(body) else fair(body)

    with judged_repository(tmp_path, script) as room:
        (first, *_) = room.json()["probes"]
        assert (first["judge"], [one["holds"] for one in first["controls"]]) == ("opus", [None, None])
        assert "the provider answered 400" in first["error"]
        undecided = f"judge opus: not all controls of {SCENARIO} could be decided: opus: the provider answered 400"
        assert [one for one in room.report()["warnings"] if one.startswith(undecided)]
        down.clear()
        down.append(False)
        room.asked()
        (first, *_) = room.json()["probes"]
        assert room.asked() == ["opus"] * 3, "and only what was missing"
        assert (first["error"], [one["holds"] for one in first["controls"]]) == (None, [True, True])


def test_interrupted_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    stuck = [True]

    def script(body: Body) -> Say | Hang:
        return Hang() if stuck[0] and body["model"] == "haiku" and not sees(body) else fair(body)

    with judged_repository(tmp_path, script) as room:
        env = environment(tmp_path, ANTHROPIC_API_KEY="sk-canary-0123456789", ANTHROPIC_BASE_URL=room.provider.url)
        with forked("judge", "greet", "--yes", cwd=room.root, env=env) as command:
            done = room.run / "controls" / SCENARIO
            assert wait_for(
                lambda: len([one for one in done.glob("*.json") if '"error": null' in one.read_text()]) == 2
            )
            assert wait_for(lambda: any(body["model"] == "haiku" and not sees(body) for body in room.provider.requests))
            assert command.kill().code == -signal.SIGKILL
        stuck[0] = False
        room.asked()
        made = room.json()
        assert room.asked() == ["haiku"] * 3
        assert [probe["error"] for probe in made["probes"]] == [None] * 3
        assert made["probes"][2]["usage"]["usd"] is None, "what was in flight when it was killed is unknown"
        assert room.report()["judge_usd"] is None


def test_a_budget_holds_for_controls_too_and_what_is_decided_is_kept(tmp_path: Path) -> None:
    with judged_repository(tmp_path, dear) as room:
        room.limit(budget_usd=2.5 * DEAR)
        (probe,) = room.json("--judge", "opus")["probes"]
        assert [(one["kind"], one["holds"]) for one in probe["controls"]] == [("canary", True), ("order_swap", None)]
        assert "the spend limit of $2.50 of this account is reached" in probe["error"]
        assert room.asked() == ["opus"] * 3, "the trial and both known answers"
        again = room.judge("--judge", "opus")
        assert (again.code, room.asked()) == (6, [])
        assert "is spent" in again.err
