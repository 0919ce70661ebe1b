"""The panel's way to a provider: the anthropic SDK, streaming, against the address of the gateway.

The stream is read up to a bound and then closed, so an answer without end does not fill the memory. A
proxy of the environment is not used: the gateway is on this machine.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from scylla_gha.judges.blind import Prompt
from scylla_gha.judges.panel import Judge, JudgeFault, Reply, Send
from scylla_gha.judges.reply import REPLY_CHARS

if TYPE_CHECKING:
    from anthropic import Anthropic
    from anthropic.types import RawMessageStreamEvent

_ENDS: Final = ("end_turn", "stop_sequence")
_REFUSED: Final = "refusal"
_REJECTED: Final = (400, 413)  # of the request itself: for its content or its length, among others
_CUT: Final = "the stream ended in the middle of the answer"
_ERROR_CHARS: Final = 300


@contextmanager
def sender(address: str, token: str, *, seconds: float = 600.0, retries: int = 2) -> Iterator[Send]:
    """What asks a judge through the gateway at `address`, from any thread, until the block ends.

    Args:
        address: the gateway's base URL.
        token: the key that the gateway knows this trial's judges by; never a provider's.
        seconds: without a byte until a request is given up.
        retries: of the SDK, on 408, 409, 429, 5xx and lost connections before an answer began.
    """
    import anthropic
    import httpx2

    with anthropic.Anthropic(
        base_url=address,
        api_key=token,
        timeout=seconds,
        max_retries=retries,
        http_client=httpx2.Client(trust_env=False),  # the SDK's own default takes proxies in any case
    ) as client:
        yield lambda judge, prompt: _send(client, judge, prompt)


def _send(client: "Anthropic", judge: Judge, prompt: Prompt) -> Reply:
    import anthropic
    import httpx2  # the SDK's own transport: it does not wrap what breaks in the middle of a stream

    # Not an argument of the SDK's, whose newest models refuse it; the caller knows what a model accepts.
    extra = {} if judge.temperature is None else {"temperature": judge.temperature}
    try:
        stream = client.messages.create(
            model=judge.model,
            max_tokens=judge.max_tokens,
            system=prompt.system,
            messages=[{"role": "user", "content": prompt.user}],
            stream=True,
            extra_body=extra,
        )
    except anthropic.APIStatusError as error:
        message = f"{judge.model}: the provider answered {error.status_code}: {error.message}"
        raise JudgeFault(message, rejected=error.status_code in _REJECTED) from error
    except (anthropic.AnthropicError, httpx2.HTTPError) as error:
        raise JudgeFault(f"{judge.model}: {error}") from error
    # From here on an answer has begun: what breaks is a fault of this answer, and the judge may be asked again.
    try:
        with stream as events:
            return _read(events)
    except httpx2.HTTPError:
        return Reply("", _CUT)
    except anthropic.APIError as error:
        return Reply("", f"the answer ended by an error: {error.message}"[:_ERROR_CHARS])
    except json.JSONDecodeError as error:
        return Reply("", f"the provider sent a malformed event: {error}")


def _read(events: "Iterable[RawMessageStreamEvent]") -> Reply:
    parts: list[str] = []
    size = 0
    stop: str | None = None
    for event in events:
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            parts.append(event.delta.text)
            size += len(event.delta.text)
            if size > REPLY_CHARS:
                return Reply("".join(parts)[:REPLY_CHARS], f"the answer is longer than {REPLY_CHARS} characters")
        elif event.type == "message_delta":
            stop = event.delta.stop_reason
    return Reply("".join(parts), _fault(stop), refused=stop == _REFUSED)


def _fault(stop: str | None) -> str | None:
    if stop is None:
        return _CUT
    return None if stop in _ENDS else f"the answer ended by {stop}"
