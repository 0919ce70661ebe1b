"""The panel: every judge gets the same prompt, and is asked again at most twice for items that cannot be read.

A judge that was reached but gave no verdict may be asked once more with the diff alone (`ask_judge`). Judges are asked
for JSON in plain text: newer models reject a forced tool, and not every model accepts a schema. A value that is missing
after the last request stays missing; no score is invented.

```
blind = blind_input(prompt, scenario, rubric, evidence)
with panel_transport(gateway_url, token) as send:
    answers = ask_panel(Panel((Judge("claude-opus-5"), ...), read_prompt_texts(library.roots), send), blind)
agreed = consensus(blind.items, answers)
```
"""

import dataclasses
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from scylla_gha.config.judge_prompts import PromptTexts
from scylla_gha.judge.blind import BlindInput, JudgePrompt, render_prompt
from scylla_gha.judge.reply import ParsedReply, missing_score, parse_reply, unreadable_items
from scylla_gha.model.judgment import Flag, Judge, JudgeAnswer, JudgeScore, Lost
from scylla_gha.model.scenario import Item

RETRIES: Final = 2  # requests for what could not be read, after the first
_ERROR_CHARS: Final = 500


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """A judge's reply: a bounded text, and why it ended if not by the judge's own end.

    `cut` is true if the provider broke it off, not the judge or a limit of this module.
    """

    text: str
    fault: str | None = None
    refused: bool = False
    cut: bool = False


class JudgeFault(Exception):  # noqa: N818 it is what happened, and never leaves the panel
    """A judge could not be asked: provider, gateway or network failed, or the request was `rejected`."""

    def __init__(self, message: str, *, rejected: bool = False) -> None:
        """Store the message and whether the request itself was rejected."""
        super().__init__(message)
        self.rejected = rejected


Send = Callable[[Judge, JudgePrompt], JudgeReply]  # raises JudgeFault


@dataclass(frozen=True, slots=True)
class Panel:
    """The judges, their prompt texts, and the function that sends a prompt."""

    judges: tuple[Judge, ...]
    wording: PromptTexts
    send: Send


def ask_panel(panel: Panel, blind: BlindInput) -> tuple[JudgeAnswer, ...]:
    """Ask all judges in parallel; return one answer for each, in their order, also after errors."""
    with ThreadPoolExecutor(max_workers=max(1, len(panel.judges))) as pool:
        return tuple(pool.map(lambda judge: ask(panel, judge, blind), panel.judges))


def ask_diff_alone(panel: Panel, blind: BlindInput, answers: Sequence[JudgeAnswer]) -> tuple[JudgeAnswer, ...]:
    """Ask judges again that were reached and left items out; show them the diff alone.

    An agent may have written text that makes a model refuse into any other part of the evidence.
    """
    with ThreadPoolExecutor(max_workers=max(1, len(panel.judges))) as pool:
        pairs = zip(panel.judges, answers, strict=True)
        return tuple(pool.map(lambda pair: _ask_alone(panel, pair[0], blind, pair[1]), pairs))


def _ask_alone(panel: Panel, judge: Judge, blind: BlindInput, answer: JudgeAnswer) -> JudgeAnswer:
    if answer.lost in {None, "unreached"}:
        return answer
    left = tuple(item for item in blind.items if answer.score(item.id) is None)
    second = ask(panel, judge, dataclasses.replace(blind, items=left, diff_alone=True))
    stands = tuple(score for score in answer.items if score.state != "missing")
    by_id = {score.id: score for score in (*stands, *second.items)}
    return second.model_copy(
        update={
            "items": tuple(by_id[item.id] for item in blind.items),
            "excess": answer.excess or second.excess,
            "steps": tuple(dict.fromkeys((*answer.steps, *second.steps))),
            "retries": answer.retries + second.retries + 1,
            "unknown": tuple(dict.fromkeys((*answer.unknown, *second.unknown))),
            "flags": tuple(sorted({*answer.flags, *second.flags})),
            "prompt_digest": answer.prompt_digest,
            "diff_alone": True,
        }
    )


def ask(panel: Panel, judge: Judge, blind: BlindInput) -> JudgeAnswer:
    """Ask one judge for all items, and again for those that could not be read.

    An item without a readable answer is `missing` in the result, with the reason.
    """
    first = render_prompt(blind, panel.wording)
    talk = _Conversation({item.id: missing_score(item.id, "not asked") for item in blind.items})
    for attempt in range(1 + RETRIES):
        open_items = tuple(item for item in blind.items if talk.scores[item.id].state == "missing")
        if attempt and not open_items:
            break
        talk.retries = attempt
        asked = dataclasses.replace(blind, items=open_items)
        prompt = render_prompt(asked, panel.wording, talk.faults(open_items)) if attempt else first
        try:
            reply = panel.send(judge, prompt)
        except JudgeFault as fault:
            talk.fail(open_items, str(fault)[:_ERROR_CHARS], "rejected" if fault.rejected else "unreached")
            break
        known = frozenset(talk.scores)
        talk.lost = "refused" if reply.refused else "unreached" if reply.cut else "unreadable"
        talk.take(
            unreadable_items(reply.fault, open_items)
            if reply.fault
            else parse_reply(reply.text, open_items, known, blind.steps)
        )
        if reply.refused:
            break  # it would refuse the same again
    return talk.answer(judge, first, blind)


@dataclass(slots=True)
class _Conversation:
    """The answers read from one judge so far."""

    scores: dict[str, JudgeScore]
    retries: int = 0
    heard: ParsedReply | None = None  # the first reply that was an object at all: its excess and steps stand
    flags: frozenset[Flag] = frozenset()
    unknown: tuple[str, ...] = ()
    error: str | None = None
    lost: Lost = "unreadable"  # why items are missing, if any is

    def faults(self, open_items: tuple[Item, ...]) -> tuple[str, ...]:
        """Return why each item is asked again; nothing the first time."""
        return tuple(f"{item.id}: {self.scores[item.id].reason}" for item in open_items) if self.retries else ()

    def take(self, read: ParsedReply) -> None:
        """Store a reply's scores; an item is only asked for while it is missing."""
        self.scores.update({score.id: score for score in read.items})
        self.flags |= {flag for score in read.items if score.state == "missing" for flag in score.flags}
        self.flags |= set(read.flags)
        self.unknown = tuple(dict.fromkeys((*self.unknown, *read.unknown)))
        if self.heard is None and read.fault is None:
            self.heard = read

    def fail(self, open_items: tuple[Item, ...], error: str, lost: Lost) -> None:
        """Record that the judge could not be asked; earlier answers stay."""
        self.error, self.lost = error, lost
        self.scores.update({item.id: missing_score(item.id, error) for item in open_items})

    def answer(self, judge: Judge, prompt: JudgePrompt, blind: BlindInput) -> JudgeAnswer:
        """Return the conversation as a record."""
        items = tuple(self.scores[item.id] for item in blind.items)
        lost = [score for score in items if score.state == "missing"]
        cut: set[Flag] = {"evidence_cut"} if prompt.cut else set()
        return JudgeAnswer(
            judge=judge.model,
            prompt_digest=prompt.digest,
            items=items,
            excess=self.heard.excess if self.heard else None,
            steps=self.heard.steps if self.heard else (),
            retries=self.retries,
            unknown=self.unknown,
            flags=tuple(sorted(self.flags | cut)),
            error=self.error or (f"{lost[0].id}: {lost[0].reason}" if lost else None),
            lost=self.lost if lost else None,
        )
