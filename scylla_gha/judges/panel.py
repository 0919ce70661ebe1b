"""The panel: every judge gets the same prompt, and what cannot be read is asked again, item by item, twice at most.

Who then still gives no verdict, though it was reached, may be asked once more with the diff alone (`ask_alone`).

Judges are asked for JSON in plain text: newer models refuse a forced tool, and not every model takes a schema. A value
that is missing after the last request stays missing; nothing here makes up a score.

```
blind = blind_input(prompt, scenario, rubric, evidence)
with sender(gateway_url, token) as send:
    answers = ask_panel(Panel((Judge("claude-opus-5"), ...), read_wording(library.roots), send), blind)
agreed = consensus(blind.items, answers)
```
"""

import dataclasses
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from scylla_gha.judges.blind import BlindInput, Prompt, Wording, render
from scylla_gha.judges.reply import Read, read_reply, unread
from scylla_gha.judges.valued import missing
from scylla_gha.model.panel import Flag, JudgeAnswer, JudgeScore, Lost
from scylla_gha.model.record import digest
from scylla_gha.model.rubric import Item

RETRIES: Final = 2  # requests for what could not be read, after the first
_ERROR_CHARS: Final = 500


@dataclass(frozen=True, slots=True)
class Judge:
    """A model that judges; `temperature` None leaves it to the model, which some models demand."""

    model: str
    temperature: float | None = None
    max_tokens: int = 16_000


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: a bounded text, and why it ended there if that was not the judge's own end."""

    text: str
    fault: str | None = None
    refused: bool = False


class JudgeFault(Exception):  # noqa: N818 it is what happened, and never leaves the panel
    """A judge could not be asked: the provider, the gateway or the network failed; or what was sent is `rejected`."""

    def __init__(self, message: str, *, rejected: bool = False) -> None:
        """Tell what happened."""
        super().__init__(message)
        self.rejected = rejected


Send = Callable[[Judge, Prompt], Reply]  # raises JudgeFault


@dataclass(frozen=True, slots=True)
class Panel:
    """Who judges, in which words, and through what."""

    judges: tuple[Judge, ...]
    wording: Wording
    send: Send


def panel_digest(judges: tuple[Judge, ...], wording: Wording) -> str:
    """Covers what a judgment depends on besides the trial: judges, their settings, and the words."""
    return digest([[dataclasses.asdict(judge) for judge in judges], wording.digest])


def ask_panel(panel: Panel, blind: BlindInput) -> tuple[JudgeAnswer, ...]:
    """Ask all judges at once; one answer each, in their order, whatever went wrong with it."""
    with ThreadPoolExecutor(max_workers=max(1, len(panel.judges))) as pool:
        return tuple(pool.map(lambda judge: ask(panel, judge, blind), panel.judges))


def ask_alone(panel: Panel, blind: BlindInput, answers: Sequence[JudgeAnswer]) -> tuple[JudgeAnswer, ...]:
    """Ask those judges again who were reached and left items out, and show them the diff alone.

    Somebody may have written what a model will not read into any other part of the evidence.
    """
    with ThreadPoolExecutor(max_workers=max(1, len(panel.judges))) as pool:
        pairs = zip(panel.judges, answers, strict=True)
        return tuple(pool.map(lambda pair: _again(panel, pair[0], blind, pair[1]), pairs))


def _again(panel: Panel, judge: Judge, blind: BlindInput, answer: JudgeAnswer) -> JudgeAnswer:
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

    An item that it never answered readably is in the answer as `missing`, with the reason.
    """
    first = render(blind, panel.wording)
    talk = _Talk({item.id: missing(item.id, "not asked") for item in blind.items})
    for attempt in range(1 + RETRIES):
        wanted = tuple(item for item in blind.items if talk.scores[item.id].state == "missing")
        if attempt and not wanted:
            break
        talk.retries = attempt
        asked = dataclasses.replace(blind, items=wanted)
        prompt = render(asked, panel.wording, talk.faults(wanted)) if attempt else first
        try:
            reply = panel.send(judge, prompt)
        except JudgeFault as fault:
            talk.fail(wanted, str(fault)[:_ERROR_CHARS], "rejected" if fault.rejected else "unreached")
            break
        known = frozenset(talk.scores)
        talk.lost = "refused" if reply.refused else "unreadable"
        talk.take(unread(reply.fault, wanted) if reply.fault else read_reply(reply.text, wanted, known, blind.steps))
        if reply.refused:
            break  # it would refuse the same again
    return talk.answer(judge, first, blind)


@dataclass(slots=True)
class _Talk:
    """What has been read from a judge so far."""

    scores: dict[str, JudgeScore]
    retries: int = 0
    heard: Read | None = None  # the first reply that was an object at all: its excess and steps stand
    flags: frozenset[Flag] = frozenset()
    unknown: tuple[str, ...] = ()
    error: str | None = None
    lost: Lost = "unreadable"  # why items are missing, if any is

    def faults(self, wanted: tuple[Item, ...]) -> tuple[str, ...]:
        """Why each item is asked again; the first time nothing."""
        return tuple(f"{item.id}: {self.scores[item.id].reason}" for item in wanted) if self.retries else ()

    def take(self, read: Read) -> None:
        """Keep what a reply has; an item is only ever asked for while it is missing."""
        self.scores.update({score.id: score for score in read.items})
        self.flags |= {flag for score in read.items if score.state == "missing" for flag in score.flags}
        self.flags |= set(read.flags)
        self.unknown = tuple(dict.fromkeys((*self.unknown, *read.unknown)))
        if self.heard is None and read.fault is None:
            self.heard = read

    def fail(self, wanted: tuple[Item, ...], error: str, lost: Lost) -> None:
        """The judge could not be asked; what it said before stands."""
        self.error, self.lost = error, lost
        self.scores.update({item.id: missing(item.id, error) for item in wanted})

    def answer(self, judge: Judge, prompt: Prompt, blind: BlindInput) -> JudgeAnswer:
        """All of it as a record."""
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
