"""Panel sessions: each trial's judges have a gateway session of their own, with a budget and a request log.

Requests use the anthropic SDK, streaming, at the address of the gateway. A stream is read up to a bound and then
closed, so an endless answer cannot fill the memory. Proxies of the environment are not used: the gateway is local.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scylla_gha.config.judge_prompts import PromptTexts, read_prompt_texts
from scylla_gha.gateway.client import GatewayProcess
from scylla_gha.gateway.log import TrafficSummary, read_traffic, summarise_traffic, traffic_summary
from scylla_gha.gateway.settings import Session
from scylla_gha.judge.blind import BlindInput, JudgePrompt
from scylla_gha.judge.consensus import Consensus, consensus
from scylla_gha.judge.panel import JudgeFault, JudgeReply, Panel, Send, ask_diff_alone, ask_panel
from scylla_gha.judge.reply import REPLY_CHARS
from scylla_gha.model.judgment import Judge, JudgeAnswer

if TYPE_CHECKING:
    from anthropic import Anthropic
    from anthropic.types import RawMessageStreamEvent


_ENDS: Final = ("end_turn", "stop_sequence")
_REFUSED: Final = "refusal"
_REJECTED: Final = (400, 413)  # of the request itself: for its content or its length, among others
_CUT: Final = "the stream ended in the middle of the answer"
_ERROR_CHARS: Final = 300


@contextmanager
def panel_transport(address: str, token: str, *, seconds: float = 600.0, retries: int = 2) -> Iterator[Send]:
    """Provide a function that asks judges through the gateway at `address`, from any thread, until the block ends.

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


def _send(client: "Anthropic", judge: Judge, prompt: JudgePrompt) -> JudgeReply:
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
                return JudgeReply("".join(parts)[:REPLY_CHARS], f"the answer is longer than {REPLY_CHARS} characters")
        elif event.type == "message_delta":
            stop = event.delta.stop_reason
    return JudgeReply("".join(parts), _fault(stop), refused=stop == _REFUSED, cut=stop is None)


def _fault(stop: str | None) -> str | None:
    if stop is None:
        return _CUT
    return None if stop in _ENDS else f"the answer ended by {stop}"


@dataclass(frozen=True, slots=True)
class PanelResult:
    """The judges' answers on one trial, their consensus, and the traffic."""

    answers: tuple[JudgeAnswer, ...]
    agreed: Consensus
    account: TrafficSummary
    subscription: bool = False

    @property
    def was_reached(self) -> bool:
        """Return whether all judges answered. A rejected request may succeed later, e.g. after credit is added."""
        return bool(self.answers) and not any(answer.lost in {"unreached", "rejected"} for answer in self.answers)


@dataclass(frozen=True, slots=True)
class PanelSession:
    """The judges of an experiment, with their gateway."""

    gateway: GatewayProcess
    judges: tuple[Judge, ...]
    wording: PromptTexts

    def ask(self, cell: str, log: Path, blind: BlindInput, *, decided: bool = False) -> PanelResult:
        """Ask all judges about one trial; a judge that cannot be asked is missing, with its reason.

        The account covers this call alone: the log may hold earlier requests of the same trial.

        Args:
            cell: the trial's cell.
            log: log of the judges' requests.
            blind: what the judges are shown.
            decided: the verdict does not depend on the judges, so they are not asked again with the diff alone.

        Raises:
            ToolError: the gateway does not start.
        """
        before = summarise_traffic(log).last_number
        with self.open_session(Session(cell=cell, role="judge", journal=log)) as panel:
            answers = ask_panel(panel, blind)
            if not decided and consensus(blind.items, answers).error:
                answers = ask_diff_alone(panel, blind, answers)
        new = traffic_summary(line for line in read_traffic(log) if line.number > before)
        return PanelResult(answers, consensus(blind.items, answers), new, self.gateway.is_subscription)

    @contextmanager
    def open_session(self, session: Session) -> Iterator[Panel]:
        """Open a gateway session for the panel, until the block ends.

        Raises:
            ToolError: the gateway does not start, or rejects the session.
        """
        handle = self.gateway.open(session.model_copy(update={"models": tuple(judge.model for judge in self.judges)}))
        try:
            with panel_transport(handle.url, handle.token) as send:
                yield Panel(self.judges, self.wording, send)
        finally:
            self.gateway.close(handle)


def open_panel(
    gateway: GatewayProcess, models: Iterable[str], roots: Iterable[Path], wording: PromptTexts | None = None
) -> PanelSession:
    """Create the panel of these model ids, with these prompt texts or those of the first root that has any."""
    return PanelSession(gateway, tuple(Judge(model) for model in models), wording or read_prompt_texts(roots))
