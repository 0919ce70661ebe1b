import itertools

import pytest

from scylla_gha.judge.score import AgreedItem, consensus
from scylla_gha.model.judgment import JudgeScore
from tests.support.panel import answer, make_item, score

NAMES = ("opus", "sonnet", "haiku", "more", "most")
GONE, REFUSED, UNREADABLE = "gone", "refused", "unreadable"
Said = float | str | None
LOST: dict[Said, str] = {GONE: "unreached", REFUSED: REFUSED, UNREADABLE: UNREADABLE}


def agreed(kind: str, *said: Said) -> AgreedItem:
    """Return the consensus of judges that said a value, None for N/A, or GONE."""
    found = consensus(
        [make_item(kind=kind)],
        [answer(name, one(what), lost=LOST.get(what)) for name, what in zip(NAMES, said, strict=False)],
    )
    assert (found.error is None) == found.items["Q1"].judged
    return found.items["Q1"]


def one(what: Said) -> JudgeScore:
    if isinstance(what, str):
        return JudgeScore(id="Q1", evidence="", state="missing", reason="no answer")
    return score(what)


@pytest.mark.parametrize(
    ("kind", "said", "value"),
    [
        ("subjective", (0.9, 0.5, 0.7), 0.7),
        ("subjective", (1.0, 0.0, 0.0), 0.0),
        ("subjective", (0.8, 0.6, GONE), 0.7),
        ("subjective", (0.8, 0.6, None), 0.7),
        ("subjective", (0.4,), 0.4),
        ("subjective", (0.4, 0.5, 0.6, GONE, GONE), 0.5),
        ("binary", (1, 0, 1), 1.0),
        ("binary", (1, 1, GONE), 1.0),
    ],
)
def test_a_majority_with_values_gives_the_median(kind: str, said: tuple[Said, ...], value: float) -> None:
    found = agreed(kind, *said)
    assert (found.value, found.judged) == (value, True)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("subjective", (0.8, GONE, GONE)),
        ("subjective", (GONE, GONE, GONE)),
        ("subjective", (0.8, None, GONE)),  # neither a majority for a value nor for N/A
        ("subjective", (0.8, GONE)),  # of two both are needed
        ("subjective", (0.4, 0.5, GONE, GONE, GONE)),
        ("subjective", (0.8, REFUSED, GONE)),  # the judge who was not reached decides
        ("binary", (1, 0, GONE)),
        ("binary", (1, REFUSED, GONE)),
    ],
)
def test_where_a_provider_leaves_no_majority_it_is_unjudged(kind: str, said: tuple[Said, ...]) -> None:
    found = agreed(kind, *said)
    assert (found.value, found.judged) == (None, False)


@pytest.mark.parametrize(
    ("kind", "said", "value"),
    [
        ("subjective", (REFUSED, REFUSED, REFUSED), 0.0),
        ("subjective", (1.0, REFUSED, REFUSED), 0.0),
        ("subjective", (1.0, 0.6, REFUSED), 0.6),  # the median of 1, 0.6 and 0
        ("subjective", (1.0, 0.2, UNREADABLE), 0.2),
        ("subjective", (1.0, REFUSED), 0.0),
        ("subjective", (None, 1.0, REFUSED), 0.0),
        ("subjective", (REFUSED, REFUSED, GONE), 0.0),
        ("binary", (1, 1, REFUSED), 1.0),
        ("binary", (1, 0, REFUSED), 0.0),
        ("binary", (1, UNREADABLE, UNREADABLE), 0.0),
        ("binary", (1, 0), 0.0),  # no half of a yes, and nobody is missing
        ("binary", (1, 0, None), 0.0),
    ],
)
def test_what_judges_who_were_reached_do_not_find_met_is_not_met(
    kind: str, said: tuple[Said, ...], value: float
) -> None:
    found = agreed(kind, *said)
    assert (found.value, found.judged) == (value, True)


@pytest.mark.parametrize("kind", ["binary", "subjective"])
@pytest.mark.parametrize("silence", ["refused", "unreadable"])
def test_no_agent_gains_by_a_judge_that_it_silences(kind: str, silence: str) -> None:
    """Whatever three judges would say: if any of them is silenced, the item is worth no more than before."""
    for said in itertools.product((0.0, 1.0) if kind == "binary" else (0.0, 0.3, 0.8, 1.0), repeat=3):
        before = agreed(kind, *said).value
        for silenced in itertools.product((False, True), repeat=3):
            texts = [silence if is_silenced else value for value, is_silenced in zip(said, silenced, strict=True)]
            after = agreed(kind, *texts)
            assert after.judged
            assert (after.value or 0.0) <= (before or 0.0)


@pytest.mark.parametrize("said", [(None, None, None), (None, None, 0.5), (None, GONE, None)])
def test_a_majority_of_na_is_na(said: tuple[Said, ...]) -> None:
    found = agreed("subjective", *said)
    assert (found.value, found.judged, found.reason) == (None, True, "does not apply: nothing to judge")


@pytest.mark.parametrize(
    ("kind", "said", "flagged"),
    [
        ("subjective", (0.2, 0.7, 0.5), False),
        ("subjective", (0.1, 0.7, 0.5), True),
        ("subjective", (0.5, 0.5, None), True),
        ("subjective", (0.5, 0.5, GONE), False),
        ("binary", (1, 0, 1), True),
        ("binary", (1, 1, 1), False),
    ],
)
def test_judges_far_apart_are_flagged(kind: str, said: tuple[Said, ...], flagged: bool) -> None:
    assert agreed(kind, *said).flags == (("disagreement",) if flagged else ())


def test_flags_of_the_judges_are_kept() -> None:
    first = score(0.5, flags=("evidence_contradicts_score",))
    found = consensus([make_item()], [answer("opus", first), answer("haiku", score(0.5))])
    assert found.items["Q1"].flags == ("evidence_contradicts_score",)


def test_every_judges_value_is_in_the_reason() -> None:
    assert agreed("subjective", 1.0, None, 0.5).reason == "median of opus 1.00, sonnet N/A, haiku 0.50"
    assert agreed("binary", 1, 0, GONE).reason == "the judges are split: opus 1.00, sonnet 0.00; haiku: no answer"
    assert agreed("binary", 1, 0).reason == "not met, since the judges are split: opus 1.00, sonnet 0.00"
    reason = "median of opus 1.00, sonnet 0.50; counts as not met: haiku: no answer"
    assert agreed("subjective", 1.0, 0.5, REFUSED).reason == reason


def test_what_is_unjudged_is_named_with_what_went_wrong() -> None:
    lost = answer("haiku", error="the provider answered 500")
    found = consensus([make_item(), make_item("O1")], [answer("opus", score(1.0), score(1.0, "O1")), lost])
    assert found.error == "unjudged: " + "; ".join(
        f"{name}: 1 of 2 judges answered, 1 with a value; 2 must agree; haiku: the provider answered 500"
        for name in ("Q1", "O1")
    )


@pytest.mark.parametrize(("cited", "kept"), [(2, "more, says 0"), (1, None), (3, "more, says 0")])
def test_excess_needs_a_majority(cited: int, kept: str | None) -> None:
    answers = [answer(NAMES[at], score(1), excess=f"more, says {at}" if at < cited else None) for at in range(3)]
    assert consensus([make_item()], answers).excess == kept


def test_steps_need_a_majority() -> None:
    said = [("a", "b"), ("a",), ("b", "c")]
    found = consensus([], [answer(name, steps=one) for name, one in zip(NAMES, said, strict=False)])
    assert found.steps == {"a", "b"}
