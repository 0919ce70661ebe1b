from scylla_gha.model.equal_arms import EqualArm, EqualArms, Shares
from scylla_gha.render.equal_arms import told

SHARES = Shares(verdicts=500, false=5, false_share=0.01, low=0.004, high=0.023, equivalent_share=0.25, flip_rate=0.39)
ARM = EqualArm(arm="base", scenarios=20, repetitions=(5, 10), as_run="worse", why="-20 points", resampled=SHARES)
MADE = EqualArms(experiment="demo", family=2, margin=0.05, resamples=500, arms=(ARM,), left_out=("once",),
                 over_all=SHARES, meaning="silent")  # fmt: skip


def test_it_says_how_often_and_what_that_means() -> None:
    assert told(MADE).splitlines() == [
        "demo: each arm against itself; whatever a verdict finds is false",
        "arm   scenarios  repetitions  as run  halves  false  95 % interval  equivalent   flips",
        "base         20      5 to 10   worse     500  1.0 %   0.4 to 2.3 %      25.0 %  39.0 %",
        "all                                      500  1.0 %   0.4 to 2.3 %      25.0 %  39.0 %",
        "as run: odd against even repetitions; halves: random ones; false: better or worse",
        "flips: the chance that two verdicts on random halves differ",
        "each p is multiplied by 2, the comparisons of the experiment; the margin is 5 points",
        "base: odd repetitions came out worse than even ones: -20 points; by chance, or something changed while it ran",
        "once: left out, since no scenario has two judged repetitions",
        "meaning: silent",
    ]


def test_without_repetitions_there_is_no_table() -> None:
    nothing = MADE.model_copy(update={"arms": (), "over_all": None})
    assert told(nothing).splitlines()[1:] == [
        "once: left out, since no scenario has two judged repetitions",
        "meaning: silent",
    ]
