"""The order in which the gateway handles requests that come at the same time."""

import asyncio

from scylla_gha.gateway.sessions import RequestTurns


async def _request(turns: RequestTurns, name: str, steps: list[str]) -> None:
    """Do what a request does: it is parsed, and its task and its writer take a step of the event loop each."""
    await turns.wait()
    steps.append(f"{name} parsed")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    steps.append(f"{name} sent")


def _in_groups(*groups: str) -> list[str]:
    return [f"{name} {step}" for names in groups for step in ("parsed", "sent") for name in names]


def test_four_requests_are_sent_before_the_next_ones_are_parsed() -> None:
    steps: list[str] = []

    async def run() -> None:
        turns = RequestTurns()
        for names in ("abcdefghij", "k"):  # the second time, no turn is taken
            await asyncio.gather(*(_request(turns, name, steps) for name in names))

    asyncio.run(run())
    assert steps == _in_groups("abcd", "efgh", "ij", "k")


def test_requests_whose_client_leaves_while_they_wait_hold_up_no_other() -> None:
    steps: list[str] = []

    async def run() -> None:
        turns = RequestTurns()
        tasks = [asyncio.create_task(_request(turns, name, steps)) for name in "abcdefghijk"]
        await asyncio.sleep(0)
        for number in (4, 6, 10):
            tasks[number].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.wait_for(_request(turns, "l", steps), 60)

    asyncio.run(run())
    assert steps == _in_groups("abcd", "fhij", "l")
