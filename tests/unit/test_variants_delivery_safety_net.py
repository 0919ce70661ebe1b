"""The safety net is a part of what is declared, and is proved, missing, not declared, or unverified."""

import pytest

from scylla_gha.model.variant import Declared, Observed
from scylla_gha.variants.delivery import prove_delivery

MANY = tuple(f"Bash {number}" for number in range(9))


def hooks(guarded: int, *unguarded: str) -> Observed:
    return Observed(source="hook events", guarded=guarded, unguarded=unguarded)


@pytest.mark.parametrize(
    ("declared", "seen", "claimed"),
    [
        pytest.param(True, [hooks(2)], (), id="asked about each call"),
        pytest.param(True, [hooks(1, "Bash 7")], ("safety net (hook events): it was not asked about Bash 7",),
                     id="not asked about one"),
        pytest.param(True, [hooks(0, *MANY)],
                     ("safety net (hook events): it was not asked about Bash 0, Bash 1, Bash 2, Bash 3, Bash 4",),
                     id="many are cut"),
        pytest.param(False, [hooks(0, "Bash 7")], (), id="none was wanted"),
        pytest.param(False, [hooks(1)], ("a safety net that was not declared",), id="nobody declared it"),
    ],
)  # fmt: skip
def test_it_is_proved_call_by_call(declared: bool, seen: list[Observed], claimed: tuple[str, ...]) -> None:
    others = [Observed(source="start event"), Observed(source="first request")]
    delivery = prove_delivery(
        Declared(model=None, system_prompt=None, tools=None, safety_net=declared), [*others, *seen], None
    )
    assert (delivery.missing, delivery.undeclared, delivery.claimed) == ((), (), claimed)
    assert delivery.proved is not bool(claimed)


@pytest.mark.parametrize(("declared", "unverified"), [(True, True), (False, False)])
def test_without_a_call_it_is_unverified(declared: bool, unverified: bool) -> None:
    delivery = prove_delivery(Declared(model=None, system_prompt=None, tools=None, safety_net=declared), [], None)
    assert ("the safety net: no call that it watches was made" in delivery.unverified) is unverified


def test_where_the_agent_could_change_it_nothing_is_proved() -> None:
    seen = [Observed(source="start event"), Observed(source="first request"), hooks(2)]
    for wanted, managed, proved in ((True, True, True), (True, False, False), (False, False, True)):
        declared = Declared(model=None, system_prompt=None, tools=None, safety_net=wanted, net_is_managed=managed)
        made = prove_delivery(declared, seen if wanted else seen[:2], None)
        assert made.proved == proved
        assert ("the safety net: on the host the agent could change it" in made.unverified) != proved
