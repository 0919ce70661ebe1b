from scylla_gha.model.design import Design, PairVariance, Power
from scylla_gha.render.design import told

SEEN = Design(scenarios=100, repetitions=5, smallest_effect=0.094, trials=1000, usd=30.0, minutes=100.0, sees=True)
UNSEEN = Design(scenarios=5, repetitions=5, smallest_effect=None, trials=50, usd=1.5, minutes=5.0, sees=False)
VARIANCE = PairVariance(arm="mcp", between=0.02, within=0.17, within_baseline=0.15, scenarios=20)
MADE = Power(experiment="demo", arms=2, comparisons=1, effect=0.1, basis="the pilot", variances=(VARIANCE,),
             designs=(UNSEEN, SEEN), cheapest=SEEN, at_hand="the 20 scenarios at hand cannot")  # fmt: skip


def test_the_table_marks_what_sees_the_effect_for_the_least_money() -> None:
    assert told(MADE).splitlines() == [
        "demo: 2 arms, 1 comparison with the baseline; by the pilot",
        "mcp: w^2 0.0200 between scenarios, s^2 0.1700 within (baseline 0.1500), over 20 scenarios",
        "scenarios  repetitions  smallest effect  trials     USD  minutes",
        "5                    5             none      50   $1.50      5.0",
        "100                  5       9.4 points    1000  $30.00    100.0  <- cheapest",
        "smallest effect: the difference of pass rates that is seen 4 times of 5; none: no difference would be",
        "minutes: of agents, one trial after the other; USD at the pilot's costs, judges included; ? and -: not known",
        "cheapest to see 10 points: 100 scenarios x 5 repetitions, 1000 trials",
        "the 20 scenarios at hand cannot",
    ]


def test_without_costs_it_is_the_fewest_trials_and_unknown_is_not_0() -> None:
    free = SEEN.model_copy(update={"usd": None, "minutes": None})
    lines = told(MADE.model_copy(update={"designs": (free,), "cheapest": free})).splitlines()
    assert lines[3].split() == ["100", "5", "9.4", "points", "1000", "?", "-", "<-", "fewest", "trials"]
    assert lines[6].startswith("fewest trials to see 10 points")


def test_where_no_design_sees_it_that_is_said() -> None:
    assert "no design of this table sees 10 points" in told(MADE.model_copy(update={"cheapest": None}))
