"""Client that sends a prompt to a judge, through the gateway, by the anthropic SDK.

Answers are streamed. A stream is read up to a bound and then closed, so an endless answer cannot fill the memory.
Proxies of the environment are not used: the gateway is local.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scylla_gha.judge.prompt import JudgePrompt
from scylla_gha.judge.reply import REPLY_CHARS
from scylla_gha.lenient_json import repair_text
from scylla_gha.model.judgment import Judge

if TYPE_CHECKING:
    from anthropic import Anthropic
    from anthropic.types import RawMessageStreamEvent


API_STYLE: Final = "anthropic-messages"  # the style of model API in which judges are asked
_ENDS: Final = ("end_turn", "stop_sequence")
_REFUSED: Final = "refusal"
_REJECTED: Final = (400, 413)  # about the request itself: its content or its length, among others
_CUT: Final = "the stream ended in the middle of the answer"
_ERROR_CHARS: Final = 300
_SILENCE_SECONDS: Final = 600.0  # without a byte until a request is given up


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """A judge's reply: a bounded text, and why it ended if not by the judge's own end.

    `cut` is true if the provider broke it off, not the judge or a limit of this module.
    """

    text: str
    fault: str | None = None
    refused: bool = False
    cut: bool = False


class JudgeFault(Exception):  # noqa: N818 it never leaves the panel, which records it
    """A judge could not be asked: provider, gateway or network failed, or the request was `rejected`."""

    def __init__(self, message: str, *, rejected: bool = False) -> None:
        """Store the message and whether the request itself was rejected."""
        super().__init__(message)
        self.rejected = rejected


Send = Callable[[Judge, JudgePrompt], JudgeReply]  # raises JudgeFault


@contextmanager
def open_judge_client(address: str, token: str, *, retries: int = 2) -> Iterator[Send]:
    """Provide a function that asks judges through the gateway at `address`, from any thread, until the block ends.

    Args:
        address: the gateway's base URL.
        token: the gateway's key for this trial's judges, never a provider's.
        retries: retries of the SDK, on 408, 409, 429, 5xx and lost connections before an answer began.
    """
    import anthropic
    import httpx2

    with anthropic.Anthropic(
        base_url=address,
        api_key=token,
        timeout=_SILENCE_SECONDS,
        max_retries=retries,
        http_client=httpx2.Client(trust_env=False),  # the SDK's own client always uses proxies
    ) as client:
        yield lambda judge, prompt: _send(client, judge, prompt)


def _send(client: "Anthropic", judge: Judge, prompt: JudgePrompt) -> JudgeReply:
    import anthropic
    import httpx2  # the SDK's own transport, whose errors in the middle of a stream it does not wrap

    # Not an argument of the SDK, since its newest models refuse it; the caller knows what a model accepts.
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
    # An answer has begun: an error is a fault of this answer, and the judge may be asked again.
    try:
        with stream as events:
            return _read(events)
    except httpx2.HTTPError:
        return JudgeReply("", _CUT, cut=True)
    except anthropic.APIError as error:
        return JudgeReply("", f"the answer ended by an error: {error.message}"[:_ERROR_CHARS], cut=True)
    except json.JSONDecodeError as error:
        return JudgeReply("", f"the provider sent a malformed event: {error}", cut=True)


def _read(events: "Iterable[RawMessageStreamEvent]") -> JudgeReply:
    parts: list[str] = []
    size = 0
    stop: str | None = None
    for event in events:
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            parts.append(event.delta.text)
            size += len(event.delta.text)
            if size > REPLY_CHARS:
                text = repair_text("".join(parts))[:REPLY_CHARS]
                return JudgeReply(text, f"the answer is longer than {REPLY_CHARS} characters")
        elif event.type == "message_delta":
            stop = event.delta.stop_reason
    fault = _CUT if stop is None else None if stop in _ENDS else f"the answer ended by {stop}"
    return JudgeReply(repair_text("".join(parts)), fault, refused=stop == _REFUSED, cut=stop is None)
