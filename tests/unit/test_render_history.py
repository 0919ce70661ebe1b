from scylla_gha.model.history import History, Point, Series, Shift
from scylla_gha.render.history import DIGITS, curve, told

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
MADE = History(baseline="monday", margin=0.05, series=(Series(arm="arm", points=POINTS, shifts=SHIFTS, notes=("n",)),),
               notes=("short",))  # fmt: skip


def test_each_arm_has_a_curve_a_table_and_what_was_found() -> None:
    assert told(MADE).splitlines() == [
        "arm  ▆▃?▆",
        "result set  trials  scenarios  pass rate     from baseline  at worst    verdict      USD  seconds",
        "monday          20         10     75.0 %  ▆       baseline                       $0.5000     12.3",
        "tuesday@e2      20         10     25.0 %  ▃          -50.0     -70.0      worse        ?     12.0",
        "friday           0          0          -  ?              -         -          -        ?        -",
        "sunday          20         10     75.0 %  ▆           +0.0      -1.0  not worse  $0.5000      1.0",
        "  change down of pass_rate at tuesday: 75.0 % to 25.0 % (E-divisive, p 0.020)",
        "  change up of usd at tuesday: $0.5000 to $1.50 (E-divisive, p 0.001)",
        "  change down of seconds at friday: 12.00 s to 4.0 min (E-divisive, p 0.050)",
        "  drift down of the pass rate: signal at friday, since about tuesday (CUSUM)",
        "  note: n",
        "",
        "baseline: monday; at worst: the one-sided 95 % limit in points, not worse above -5; each verdict is by itself",
        "note: short",
    ]


def test_where_nothing_is_found_that_is_said() -> None:
    calm = MADE.model_copy(update={"series": (Series(arm="arm", points=POINTS[:1], shifts=()),)})
    assert "  no change and no drift found" in told(calm).splitlines()


def test_a_curve_goes_from_low_to_high_in_any_marks() -> None:
    assert curve([0.0, 0.5, 1.0, None]) == "▁▅█?"
    assert curve([0.0, 0.5, 1.0], DIGITS) == "049"
