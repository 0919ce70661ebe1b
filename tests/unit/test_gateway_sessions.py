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


def test_each_request_is_sent_before_the_next_one_is_parsed() -> None:
    steps: list[str] = []

    async def run() -> None:
        turns = RequestTurns()
        for names in ("abc", "d"):  # the second time, no turn is taken
            await asyncio.gather(*(_request(turns, name, steps) for name in names))

    asyncio.run(run())
    assert steps == [f"{name} {step}" for name in "abcd" for step in ("parsed", "sent")]


def test_requests_whose_client_leaves_while_they_wait_hold_up_no_other() -> None:
    steps: list[str] = []

    async def run() -> None:
        turns = RequestTurns()
        tasks = [asyncio.create_task(_request(turns, name, steps)) for name in "abcd"]
        await asyncio.sleep(0)
        tasks[1].cancel()
        tasks[3].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.wait_for(_request(turns, "e", steps), 60)

    asyncio.run(run())
    assert steps == [f"{name} {step}" for name in "ace" for step in ("parsed", "sent")]
