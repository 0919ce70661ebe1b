"""Statements of the report on treatments, on the safety net, and on secrets."""

import pytest

from scylla_gha.aggregate import aggregate
from tests.support.records import make_cell, make_result
from tests.unit.test_aggregate import cells, plan_of, warned


def test_secrets_that_were_taken_out_are_warned_of() -> None:
    rows = [make_result(make_cell("oracle", number), redactions=count) for number, count in ((1, 0), (2, 3))]
    report = aggregate(plan_of(*cells(2)), rows)
    (warning,) = warned(report, "Secrets")
    assert "what 1 of 2 trials left, at 3 places" in warning
    assert warned(aggregate(plan_of(*cells(2)), rows[:1]), "Secrets") == []


def test_blocked_calls_are_warned_of_by_arm() -> None:
    planned = [*cells(10), *cells(10, "nop")]
    counts = [(2, 0), (1, 3), *[(0, 0)] * 18]
    rows = [make_result(cell, blocked_calls=blocked, unread_calls=unread)
            for cell, (blocked, unread) in zip(planned, counts, strict=True)]  # fmt: skip
    assert list(aggregate(plan_of(*planned), rows).warnings) == [
        "oracle: the safety net blocked 3 calls, in 2 of 10 trials.",
        "oracle: the safety net allowed 3 calls that it could not read completely.",
    ]


def test_what_the_safety_net_could_see_is_told_unless_a_hook_saw_all() -> None:
    planned = [*cells(2), *cells(2, "nop")]
    seen = [("gateway", 0), ("gateway", 2), ("none", None), ("hook", 0)]
    rows = [
        make_result(cell, safety_net=kind, unseen_calls=unseen)
        for cell, (kind, unseen) in zip(planned, seen, strict=True)
    ]
    told = warned(aggregate(plan_of(*planned), rows), "safety net")
    assert told == [
        "oracle: the safety net is the gateway, which sees the calls in answers of the model.",
        "nop: the safety net is a hook of the CLI, which sees each call.",
        "nop: there is no safety net for this CLI: destructive commands were neither blocked nor counted.",
        (
            "oracle: the safety net could not see the commands of 2 calls in 1 of 2 trials; how many of these it "
            "would have blocked is unknown."
        ),
    ]
    hooks = [make_result(cell, safety_net="hook", unseen_calls=0) for cell in planned]
    assert warned(aggregate(plan_of(*planned), hooks), "safety net") == []


def test_tools_by_name_only_and_loaded_definitions_are_stated_by_arm() -> None:
    planned = [*cells(10), *cells(10, "nop")]
    forms: list[tuple[int | None, int | None]] = [(11, 2), (12, 0), (0, 0), (None, None), *[(0, 0)] * 16]
    rows = [make_result(cell, deferred_tools=deferred, loaded_tools=loaded)
            for cell, (deferred, loaded) in zip(planned, forms, strict=True)]  # fmt: skip
    assert list(aggregate(plan_of(*planned), rows).warnings) == [
        (
            "oracle: up to 12 tools stood in the first request by name only, in 2 of 10 trials: the CLI loads their "
            "definitions when the agent searches for them, as it did in 1."
        )
    ]


def test_hosts_that_were_sought_in_vain_are_told_per_arm_where_a_proxy_saw_it() -> None:
    planned = [*cells(10), *cells(10, "nop")]
    rows = [make_result(cell, network_refused=refused)
            for cell, refused in zip(planned, [2, 1, 0, None, *[0] * 6, *[None] * 10], strict=True)]  # fmt: skip
    assert list(aggregate(plan_of(*planned), rows).warnings) == [
        "oracle: refused 3 attempts to reach hosts that its tasks may not reach, in 2 of 10 trials."
    ]


@pytest.mark.parametrize(
    ("delivered", "expected"),
    [([None, None], None), ([True, None], (1, 1)), ([True, True], (2, 2)), ([True, False], (1, 2)),
     ([False, None], (0, 1)), ([], None)],
)  # fmt: skip
def test_proofs_of_delivery_are_counted_of_those_that_had_something_to_prove(
    delivered: list[bool | None], expected: tuple[int, int] | None
) -> None:
    planned = cells(2)
    rows = [make_result(cell, delivered=each) for cell, each in zip(planned, delivered, strict=False)]
    assert aggregate(plan_of(*planned), rows).delivery == expected


def test_what_could_not_be_verified_is_warned_of_once_for_each_arm_and_reason() -> None:
    planned = [*cells(3), *cells(2, "nop")]
    open_ = ["no inventory", "no inventory", None, "no inventory", "no request"]
    rows = [make_result(cell, delivery_unverified=each) for cell, each in zip(planned, open_, strict=True)]
    assert warned(aggregate(plan_of(*planned), rows), "verified") == [
        "nop: parts of its treatment could not be verified: no inventory.",
        "nop: parts of its treatment could not be verified: no request.",
        "oracle: parts of its treatment could not be verified: no inventory.",
    ]
