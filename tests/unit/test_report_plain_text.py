import pytest

from scylla_gha.model.report import (
    Design,
    EqualArm,
    EqualArms,
    FalseVerdictShares,
    History,
    PairVariance,
    Point,
    Power,
    Series,
    Shift,
)
from scylla_gha.report.document import Table, lines_of, share
from scylla_gha.report.plain_text import DIGITS, curve, design_table, equal_arms_text, history_text

SEEN = Design(scenarios=100, repetitions=5, smallest_effect=0.094, trials=1000, usd=30.0, minutes=100.0, sees=True)
UNSEEN = Design(scenarios=5, repetitions=5, smallest_effect=None, trials=50, usd=1.5, minutes=5.0, sees=False)
VARIANCE = PairVariance(arm="mcp", between=0.02, within=0.17, within_baseline=0.15, scenarios=20)
POWER = Power(experiment="demo", arms=2, comparisons=1, effect=0.1, basis="the pilot", variances=(VARIANCE,),
             designs=(UNSEEN, SEEN), cheapest=SEEN, at_hand="the 20 scenarios at hand cannot")  # fmt: skip


def test_the_table_marks_what_sees_the_effect_for_the_least_money() -> None:
    assert design_table(POWER).splitlines() == [
        "demo: 2 arms, 1 comparison; by the pilot",
        "mcp: w^2 0.0200 between scenarios, s^2 0.1700 within (baseline 0.1500), over 20 scenarios",
        "scenarios  repetitions  smallest effect  trials     USD  minutes",
        "5                    5             none      50   $1.50      5.0",
        "100                  5       9.4 points    1000  $30.00    100.0  <- cheapest",
        "smallest effect: the difference of pass rates that 4 of 5 experiments detect; none: too little data for any",
        "minutes: agents' time, one trial after the other; USD: at the pilot's costs, with judges; ? and -: unknown",
        "cheapest to detect 10 points: 100 scenarios x 5 repetitions, 1,000 trials",
        "the 20 scenarios at hand cannot",
    ]


def test_without_costs_it_is_the_fewest_trials_and_unknown_is_not_0() -> None:
    free = SEEN.model_copy(update={"usd": None, "minutes": None})
    lines = design_table(POWER.model_copy(update={"designs": (free,), "cheapest": free})).splitlines()
    assert lines[3].split() == ["100", "5", "9.4", "points", "1000", "?", "-", "<-", "fewest", "trials"]
    assert lines[6].startswith("fewest trials to detect 10 points")


def test_where_no_design_sees_it_that_is_said() -> None:
    assert "no design in this table detects 10 points" in design_table(POWER.model_copy(update={"cheapest": None}))


SHARES = FalseVerdictShares(
    verdicts=500, false=5, false_share=0.01, low=0.004, high=0.023, equivalent_share=0.25, flip_rate=0.39
)
ARM = EqualArm(arm="base", scenarios=20, repetitions=(5, 10), as_run="worse", why="-20 points", resampled=SHARES)
AA_TEST = EqualArms(experiment="demo", family=2, margin=0.05, resamples=500, arms=(ARM,), left_out=("once",),
                 over_all=SHARES, meaning="silent")  # fmt: skip


def test_it_says_how_often_and_what_that_means() -> None:
    assert equal_arms_text(AA_TEST).splitlines() == [
        "demo: each arm against itself; a verdict of better or worse is false",
        "arm   scenarios  repetitions  as run  halves  false  95 % interval  equivalent   flips",
        "base         20      5 to 10   worse     500  1.0 %   0.4 to 2.3 %      25.0 %  39.0 %",
        "all                                      500  1.0 %   0.4 to 2.3 %      25.0 %  39.0 %",
        "as run: odd against even repetitions; halves: number of random splits; false: share of better or worse",
        "flips: the chance that two verdicts on random halves differ",
        "each p is multiplied by 2, the experiment's number of comparisons; the margin is 5 points",
        (
            "base: odd repetitions did worse than even ones: -20 points; "
            "by chance, or because something changed during the run"
        ),
        "once: left out, since no scenario has two judged repetitions",
        "meaning: silent",
    ]


def test_without_repetitions_there_is_no_table() -> None:
    nothing = AA_TEST.model_copy(update={"arms": (), "over_all": None})
    assert equal_arms_text(nothing).splitlines()[1:] == [
        "once: left out, since no scenario has two judged repetitions",
        "meaning: silent",
    ]


POINTS = (
    Point(run="monday", epoch="", trials=20, scenarios=10, rate=0.75, usd=0.5, seconds=12.34),
    Point(run="tuesday", epoch="e2", trials=20, scenarios=10, rate=0.25, usd=None, seconds=12.0, difference=-0.5,
          low=-0.7, verdict="worse", not_worse=False),
    Point(run="friday", epoch="", trials=0, scenarios=0, rate=None, usd=None, seconds=None),
    Point(run="sunday", epoch="", trials=20, scenarios=10, rate=0.75, usd=0.5, seconds=1.0, difference=0.0,
          low=-0.01, verdict="not_enough_data", not_worse=True),
)  # fmt: skip
STEP = Shift(kind="change", metric="pass_rate", run="tuesday", since="tuesday", before=0.75, after=0.25, side="down",
             p=0.02)  # fmt: skip
SHIFTS = (
    STEP,
    STEP.model_copy(update={"metric": "usd", "before": 0.5, "after": 1.5, "side": "up", "p": 0.001}),
    STEP.model_copy(update={"metric": "seconds", "run": "friday", "before": 12.0, "after": 240.0, "p": 0.05}),
    Shift(kind="drift", metric="pass_rate", run="friday", since="tuesday", side="down"),
)
HISTORY = History(baseline="monday", margin=0.05,
               series=(Series(arm="arm", points=POINTS, shifts=SHIFTS, notes=("n",)),), notes=("short",))  # fmt: skip


def test_each_arm_has_a_curve_a_table_and_what_was_found() -> None:
    assert history_text(HISTORY).splitlines() == [
        "arm  ▆▃?▆",
        "result set  trials  scenarios  pass rate     from baseline  at worst    verdict    USD  seconds",
        "monday          20         10     75.0 %  ▆       baseline                       $0.50     12.3",
        "tuesday@e2      20         10     25.0 %  ▃          -50.0     -70.0      worse      ?     12.0",
        "friday           0          0          -  ?              -         -          -      ?        -",
        "sunday          20         10     75.0 %  ▆           +0.0      -1.0  not worse  $0.50      1.0",
        "  change down of pass_rate at tuesday: 75.0 % to 25.0 % (E-divisive, p 0.020)",
        "  change up of usd at tuesday: $0.50 to $1.50 (E-divisive, p 0.001)",
        "  change down of seconds at friday: 12.00 s to 4.0 min (E-divisive, p 0.050)",
        "  drift down of the pass rate: signal at friday, since about tuesday (CUSUM)",
        "  note: n",
        "",
        (
            "baseline: monday; at worst: the lower one-sided 95 % limit in points, not worse above -5; "
            "verdicts are not adjusted for their number"
        ),
        "note: short",
    ]


def test_where_nothing_is_found_that_is_said() -> None:
    calm = HISTORY.model_copy(update={"series": (Series(arm="arm", points=POINTS[:1], shifts=()),)})
    assert "  no change and no drift found" in history_text(calm).splitlines()


def test_a_curve_goes_from_low_to_high_in_any_marks() -> None:
    assert curve([0.0, 0.5, 1.0, None]) == "▁▅█?"
    assert curve([0.0, 0.5, 1.0], DIGITS) == "049"


def test_columns_are_as_wide_as_they_must_be_and_nothing_steers_a_terminal() -> None:
    assert lines_of(Table(("arm", "n", ""), [("a\x1b[2J", "1", "x"), ("longer", "1000", "")])) == [
        "arm        n",
        "a[2J       1  x",
        "longer  1000",
    ]


@pytest.mark.parametrize(("part", "shown"), [(None, "-"), (0.0, "0.0 %"), (0.0124, "1.2 %"), (1.0, "100.0 %")])
def test_a_share_has_one_digit_and_unknown_is_not_0(part: float | None, shown: str) -> None:
    assert share(part) == shown
