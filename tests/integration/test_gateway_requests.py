"""Refusals of the gateway beyond a trial's requests and turns."""

from pathlib import Path

from tests.support.gateway import ask, question, shared
from tests.support.provider import Say

MAIN = {"role": "user", "content": "Do it."}
ANSWER = {"role": "assistant", "content": "Done."}


def test_beyond_its_requests_or_turns_a_trial_is_refused_whoever_of_it_asks(tmp_path: Path) -> None:
    with shared(tmp_path, lambda _: Say("Hi.")) as (provider, host):
        session = host.open(turns=2, requests=4)
        bodies = [
            question(messages=[MAIN]),
            question(messages=[MAIN], stream=False),  # the same turn, asked again
            question("a sub-agent"),
            question(messages=[MAIN, ANSWER, MAIN]),
        ]
        fine = [ask(session, body).status for body in bodies]
        counted = ask(session, question("another"), "/v1/messages/count_tokens").status
        third, fifth = ask(session, question(messages=[MAIN, ANSWER])), ask(session, question("a nested process"))
        other = ask(host.open(cell="other", turns=1, requests=1), question()).status
        made = host.gateway.close(session)
        assert len(provider.requests) == 5
    assert (fine, counted, other) == ([200] * 4, 200, 200)
    assert [third.status, fifth.status] == [403, 403]
    assert "has had the 2 turns that this key allows" in third.error["message"]
    assert "has made the 4 requests that it allows" in fifth.error["message"]
    assert (made.turns, made.requests, made.refused) == (2, 6, 2)
    assert made.errors == {"budget_exceeded:trial_turns": 1, "budget_exceeded:trial_requests": 1}
