"""Client that sends a prompt to a judge through the gateway, by the API of the judge's provider, and reads the reply.

The anthropic SDK sends the requests of all APIs: it tries again after some failures. Answers are streamed. A stream is
read up to a limit and then closed, so an endless answer cannot fill the memory. The environment's proxies are not used,
since the gateway is local.

The reply has to be one JSON object, alone or in a code fence. An item is missing, with a reason, if it cannot be read,
has two answers, or has a number that is out of range or not finite. The value of a subjective item is 1 minus the
points of its deductions, whatever total the judge states.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, ConfigDict, JsonValue, StringConstraints, ValidationError

from scylla_gha.counting import counted
from scylla_gha.judge.prompt import JudgePrompt
from scylla_gha.lenient_json import InvalidJsonError, parse_json, repair_text
from scylla_gha.model.judgment import TIERS, Deduction, Flag, Judge, JudgeScore, Severity
from scylla_gha.model.scenario import Item
from scylla_gha.providers.base import ApiStyle, Body, ModelQuestion

if TYPE_CHECKING:
    from anthropic import Anthropic
    from httpx2 import Response

_REFUSED: Final = ("refusal", "content_filter")  # the second: a filter of OpenAI's or of a provider of OpenRouter
_STREAMED: Final = {"X-Stainless-Raw-Response": "stream"}  # the SDK then returns before the body has come
_REJECTED: Final = (400, 413, 422)  # status codes that reject the request itself, such as for its content or length
_CUT: Final = "the stream ended before the end of the answer"
_ERROR_CHARS: Final = 300
_SILENCE_SECONDS: Final = 600.0  # time without a byte after which a request is abandoned
REPLY_CHARS: Final = 100_000  # a longer reply is cut and unreadable
_EVIDENCE_CHARS: Final = 2_000
_CITED_CHARS: Final = 1_000
_UNKNOWN: Final = 20  # maximum number of unknown items whose names are kept
_DIGITS: Final = 9
_SLACK: Final = 0.1  # allowed difference between a judge's own number and the number from its deductions
_GRAVE: Final[frozenset[Severity]] = frozenset({"major", "severe", "critical"})
_DONE: Final = r"(?:satisfied|met|fulfilled|achieved)\b"
_MET: Final = re.compile(r"\b(?:is|are|fully|clearly|completely|all)\s+" + _DONE, re.IGNORECASE)
_NOT_MET: Final = re.compile(r"\b(?:not|never|isn't|aren't)\s+(?:\w+\s+)?" + _DONE, re.IGNORECASE)
_NEGATION: Final = re.compile(
    r"\b(?:not|no|never|none|nothing|cannot|\w+n't|fails?|missing|without|neither|nor)\b", re.IGNORECASE
)
# Servers of open weights without a reasoning parser pass the model's thinking on as a part of the text.
_THINKING: Final = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCED: Final = re.compile(r"```(?:json)?[ \t]*\n(.*)\n```", re.DOTALL)
_EMPTY: Final = {"", "none", "n/a", "na", "null", "no", "nothing"}  # words that models write for an empty field

_NonEmpty = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """A judge's reply of limited length; `fault` is the reason of its end, unless the judge ended it.

    `cut` is True if the provider broke it off.
    """

    text: str
    fault: str | None = None
    refused: bool = False
    cut: bool = False


class JudgeFault(Exception):  # noqa: N818 it never leaves the panel, which records it
    """A judge could not be asked: provider, gateway or network failed, or the request itself was `rejected`."""

    def __init__(self, message: str, *, rejected: bool = False) -> None:
        super().__init__(message)
        self.rejected = rejected


Send = Callable[[Judge, JudgePrompt], JudgeReply]  # raises JudgeFault


@contextmanager
def open_judge_client(
    address: str, token: str, style_of: Callable[[str], ApiStyle], *, retries: int = 2
) -> Iterator[Send]:
    """Provide a function for the block that asks judges through the gateway; any thread may call it.

    Args:
        address: base URL of the gateway.
        token: the gateway's key for this trial's judges, never a provider's key.
        style_of: returns the API style in which a model is asked.
        retries: number of the SDK's retries after 408, 409, 429, 5xx, and connections lost before an answer began.
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
        yield lambda judge, prompt: _send(client, style_of(judge.model), judge, prompt)


def _send(client: "Anthropic", style: ApiStyle, judge: Judge, prompt: JudgePrompt) -> JudgeReply:
    """Ask a judge. A server that rejects the mode for JSON is asked again without it: the prompt asks for JSON too.

    LM Studio rejects it with 400 (github.com/lmstudio-ai/lmstudio-bug-tracker/issues/189), and so do some models of
    OpenRouter and OpenAI.
    """
    import httpx2  # the SDK's own transport, whose errors in the middle of a stream it does not wrap

    question = ModelQuestion(judge.model, prompt.system, prompt.user, judge.max_tokens, judge.temperature)
    request, plain = style.ask(question), style.ask(replace(question, is_json=False))
    try:
        response = _open(client, judge.model, *request)
    except JudgeFault as fault:
        if not fault.rejected or plain == request:
            raise
        response = _open(client, judge.model, *plain)
    # An answer has begun, so an error is a fault of this answer, and the judge may be asked again.
    try:
        with closing(response):
            return _read(style, response.iter_bytes())
    except httpx2.HTTPError:
        return JudgeReply("", _CUT, cut=True)


def _open(client: "Anthropic", model: str, path: str, body: Body) -> "Response":
    """Send a request; return the response when its head has come."""
    import anthropic
    import httpx2

    try:
        return client.post(path, cast_to=httpx2.Response, body=body, options={"headers": _STREAMED})
    except anthropic.APIStatusError as error:
        message = f"{model}: the provider answered {error.status_code}: {error.message}"
        raise JudgeFault(message, rejected=error.status_code in _REJECTED) from error
    except (anthropic.AnthropicError, httpx2.HTTPError) as error:
        raise JudgeFault(f"{model}: {error}") from error


def _read(style: ApiStyle, chunks: Iterable[bytes]) -> JudgeReply:
    """Read an answer up to the maximum length of a reply."""
    reader = style.usage_reader(streamed=True, reads=lambda _: False, keeps_texts=True)
    size = pieces = 0
    for chunk in chunks:
        reader.feed(chunk)
        size += sum(map(len, reader.texts[pieces:]))
        pieces = len(reader.texts)
        if reader.malformed:
            return JudgeReply("", "the provider sent a malformed event", cut=True)
        if size > REPLY_CHARS:
            text = repair_text("".join(reader.texts))[:REPLY_CHARS]
            return JudgeReply(text, f"the answer is longer than {REPLY_CHARS} characters")
    reader.end()
    stop = reader.stop_reason
    if reader.error is not None:
        return JudgeReply("", f"the answer ended by an error: {reader.error}"[:_ERROR_CHARS], cut=True)
    fault = _CUT if stop is None else None if stop in style.ends else f"the answer ended by {stop}"
    text = _THINKING.sub("", repair_text("".join(reader.texts)))
    return JudgeReply(text, fault, refused=stop in _REFUSED, cut=stop is None)


class _RawDeduction(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)

    severity: Severity
    points: float
    why: _NonEmpty


class _RawItem(BaseModel):
    """An item in the judge's answer."""

    model_config = ConfigDict(strict=True, extra="ignore")

    id: str
    evidence: _NonEmpty
    deductions: list[_RawDeduction] = []
    score: float | None = None
    na: str | None = None


class _Answer(BaseModel):
    """The object that the system prompt asks for; other fields, such as a total, are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore")

    items: list[JsonValue]
    steps: list[str] = []
    excess: str | None = None
    instructions_found: str | None = None


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """Content of a reply: a score, possibly missing, for every requested item; `fault` if it is not an answer."""

    items: tuple[JudgeScore, ...]
    excess: str | None = None
    steps: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    flags: frozenset[Flag] = frozenset()
    fault: str | None = None


def missing_score(item: str, reason: str, *flags: Flag) -> JudgeScore:
    """Return the score of an item without a value, with the reason."""
    return JudgeScore(id=item, evidence="", state="missing", reason=reason, flags=flags)


def unreadable_items(fault: str, requested: Sequence[Item]) -> ParsedReply:
    """Return the content of a reply that is not an answer: all requested items are missing."""
    return ParsedReply(items=tuple(missing_score(item.id, fault) for item in requested), fault=fault)


def parse_reply(text: str, requested: Sequence[Item], item_ids: frozenset[str], steps: Sequence[str]) -> ParsedReply:
    """Parse a reply.

    Args:
        text: text of the judge.
        requested: items of the latest request.
        item_ids: ids of the items of all requests; any other id is unknown.
        steps: progress steps, in the order of their numbers.
    """
    try:
        answer = _Answer.model_validate(_json_value(text))
    except ValidationError as error:
        return unreadable_items(f"not the object that was asked for: {_first_error(error)}", requested)
    except ValueError as error:
        return unreadable_items(str(error)[:200], requested)
    names_given = (raw.get("id") if isinstance(raw, dict) else None for raw in answer.items)
    ids = [name if isinstance(name, str) else "" for name in names_given]
    counts = Counter(ids)
    by_id = dict(zip(ids, answer.items, strict=True))
    unknown = tuple(name[:40] for name in counts if name and name not in item_ids)
    names = {f"step-{number}": step for number, step in enumerate(steps, 1)}
    flags: set[Flag] = {"unknown_item"} if unknown or set(answer.steps) - set(names) else set()
    if _cited(answer.instructions_found):
        flags.add("instruction_in_data")
    return ParsedReply(
        items=tuple(_score(item, by_id.get(item.id), counts[item.id]) for item in requested),
        excess=_cited(answer.excess),
        steps=tuple(step for name, step in names.items() if name in answer.steps),
        unknown=unknown[:_UNKNOWN],
        flags=frozenset(flags),
    )


def _json_value(text: str) -> object:
    """Parse a reply that is exactly one JSON value; otherwise raise ValueError."""
    bare = text.strip()
    match = _FENCED.fullmatch(bare)
    try:
        return parse_json(match[1] if match else bare, keep_non_finite=True, unique_keys=True)
    except InvalidJsonError as error:
        raise ValueError(f"the reply is not a single JSON object: {error}") from None


def _first_error(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc']) or 'the answer'}: {first['msg']}"


def _cited(text: str | None) -> str | None:
    bare = (text or "").strip()
    return None if bare.lower().rstrip(".") in _EMPTY else bare[:_CITED_CHARS]


def _score(item: Item, raw: JsonValue, times: int) -> JudgeScore:
    if times != 1:
        return missing_score(item.id, f"answered {counted(times, 'time')}" if times else "not answered")
    try:
        return _item_score(item, _RawItem.model_validate(raw))
    except ValidationError as error:
        return missing_score(item.id, _first_error(error))


def _item_score(item: Item, raw: _RawItem) -> JudgeScore:
    """Return the judge's score of an item, with flags; the score is missing if the answer is not valid."""
    evidence = raw.evidence[:_EVIDENCE_CHARS]
    if raw.na is not None and raw.na.strip():
        if raw.score is not None or raw.deductions:
            return missing_score(item.id, "it is N/A, and yet has a score or deductions")
        return JudgeScore(id=item.id, evidence=evidence, state="na", reason=raw.na.strip()[:_EVIDENCE_CHARS])
    if range_fault := next(filter(None, map(_range_fault, raw.deductions)), None):
        return missing_score(item.id, range_fault, "points_out_of_range")
    value = _value(item, raw)
    if isinstance(value, str):
        return missing_score(item.id, value, *(("points_out_of_range",) if raw.score is not None else ()))
    return JudgeScore(
        id=item.id,
        evidence=evidence,
        deductions=tuple(
            Deduction(severity=fault.severity, points=fault.points, why=fault.why[:_EVIDENCE_CHARS])
            for fault in raw.deductions
        ),
        state="scored",
        value=value,
        flags=("evidence_contradicts_score",) if _contradicts(item, raw, value) else (),
    )


def _value(item: Item, raw: _RawItem) -> float | str:
    """Return the value in 0..1, or the reason why there is none."""
    if item.type == "subjective":
        return max(0.0, round(1.0 - sum(deduction.points for deduction in raw.deductions), _DIGITS))
    if raw.score is None:
        return "score: is null, and it is not N/A either"
    if item.type == "binary" and raw.score not in {0.0, 1.0}:
        return "score: of a binary item it is 0 or 1"
    return raw.score if 0 <= raw.score <= 1 else "score: is not in 0..1"


def _range_fault(deduction: _RawDeduction) -> str | None:
    """Return the reason why a deduction's points do not fit its severity, or None."""
    low, high = TIERS[deduction.severity]
    if low <= round(deduction.points, _DIGITS) <= high:
        return None
    bounds = f"{low:.2f} points or more" if high == float("inf") else f"{low:.2f} to {high:.2f} points"
    return f"deductions: {deduction.severity} is {bounds}, not {deduction.points:g}"


def _contradicts(item: Item, raw: _RawItem, value: float) -> bool:
    """Return True if the judge's text contradicts its value, which sets a flag but never changes the value."""
    grave = any(deduction.severity in _GRAVE for deduction in raw.deductions)
    if item.type == "subjective":
        return raw.score is not None and not abs(raw.score - value) <= _SLACK  # also True for NaN
    if value == 1:
        return grave or bool(_NOT_MET.search(raw.evidence))
    says_met = bool(_MET.search(raw.evidence)) and not _NEGATION.search(raw.evidence)
    return value == 0 and not raw.deductions and says_met
