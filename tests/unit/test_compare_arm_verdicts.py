from pathlib import Path

import pytest

from scylla_gha.compare import arm_globs, arm_verdicts, worse_arms
from scylla_gha.errors import ConfigError
from scylla_gha.model.publication import ArmVerdict
from scylla_gha.model.report import ArmPair, History, Point, ResultComparison, Series, Shift
from scylla_gha.store import write_record
from tests.support.comments import Made, report_of

LOSS = report_of(Made({"base.cli.m": (5, 4, 5), "head.cli.m": (1, 0, 2)}))


def test_a_report_holds_arms_against_its_baseline(tmp_path: Path) -> None:
    write_record(tmp_path / "r.json", LOSS)
    (found,) = arm_verdicts(tmp_path / "r.json")
    assert (found.arm, found.against, found.verdict, found.not_worse) == ("head.cli.m", "base.cli.m", "worse", False)
    assert found.why.startswith("-73.3 points")


def test_a_report_without_statistics_shows_nothing(tmp_path: Path) -> None:
    write_record(tmp_path / "r.json", LOSS.model_copy(update={"analysis": None}))
    assert [one.not_worse for one in arm_verdicts(tmp_path / "r.json")] == [False]


def test_a_comparison_holds_arms_against_a_pinned_result(tmp_path: Path) -> None:
    assert LOSS.analysis is not None
    pair = ArmPair(a_arm="old", b_arm="new", before=(9, 9), after=(1, 9), ruling=LOSS.analysis.rulings[0], others=(),
                   fixes=(), regressions=())  # fmt: skip
    write_record(
        tmp_path / "c.json", ResultComparison(a="x", b="y", metric="pass_rate", margin=0.05, pairs=(pair,), warnings=())
    )
    (found,) = arm_verdicts(tmp_path / "c.json")
    assert (found.arm, found.against, found.verdict) == ("new", "old", "worse")


def point(run: str, **given: object) -> Point:
    return Point.model_validate({"run": run, "epoch": "", "trials": 9, "scenarios": 3, "rate": 0.5, "usd": None,
                                 "seconds": None, **given})  # fmt: skip


def test_a_history_tells_of_its_newest_result(tmp_path: Path) -> None:
    points = (point("mon"), point("tue", verdict="worse", difference=-0.2, low=-0.3, not_worse=False))
    fell = Shift(kind="drift", metric="pass_rate", run="tue", since="mon", side="down")
    unclear = point("wed", verdict="not_enough_data", not_worse=True)
    series = (Series(arm="a", points=points, shifts=(fell,)), Series(arm="b", points=points[:1], shifts=()),
              Series(arm="c", points=(unclear,), shifts=()))  # fmt: skip
    write_record(tmp_path / "h.json", History(baseline="mon", margin=0.05, series=series))
    a, b, c = arm_verdicts(tmp_path / "h.json")
    assert a.why == "-20.0 points, at worst -30.0 (one-sided 95 %); drift downwards since mon"
    assert [(one.verdict, one.not_worse) for one in (a, b, c)] == [
        ("worse", False), (None, False), ("not_enough_data", True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "why"), [("x", "not JSON"), ("[]", "not a Report"), ('{"pairs": 1}', "ResultComparison")]
)
def test_another_file_is_named(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(ConfigError, match=why):
        arm_verdicts(tmp_path / "f.json")


def alarm(arm: str, against: str) -> ArmVerdict:
    return ArmVerdict(arm=arm, against=against, verdict="worse", why="", not_worse=False)


def test_all_cells_of_an_alarming_arm_are_measured_again_and_those_of_its_baseline() -> None:
    found = [alarm("a", "base"), alarm("b", "base")]
    assert arm_globs(found, ["base", "a", "b", "c"]) == "*--a--r* *--b--r* *--base--r*"
    assert arm_globs([alarm("a", "last monday")], ["a", "b"]) == "*--a--r*"
    assert arm_globs([alarm(f"arm{number}", "base") for number in range(99)], []) == "*"
    assert (
        worse_arms([alarm("a", "x"), ArmVerdict(arm="b", against="x", verdict=None, why="", not_worse=True)])[0].arm
        == "a"
    )
