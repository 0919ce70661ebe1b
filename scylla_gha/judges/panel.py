"""The panel: every judge gets the same prompt, and what cannot be read is asked again, item by item, twice at most.

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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from scylla_gha.judges.blind import BlindInput, Prompt, Wording, render
from scylla_gha.judges.reply import Read, read_reply, unread
from scylla_gha.judges.valued import missing
from scylla_gha.model.panel import Flag, JudgeAnswer, JudgeScore
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


class JudgeFault(Exception):  # noqa: N818 it is what happened, and never leaves the panel
    """A judge could not be asked: the provider, the gateway or the network failed."""


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
            talk.fail(wanted, str(fault)[:_ERROR_CHARS])
            break
        known = frozenset(talk.scores)
        talk.take(unread(reply.fault, wanted) if reply.fault else read_reply(reply.text, wanted, known, blind.steps))
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

    def fail(self, wanted: tuple[Item, ...], error: str) -> None:
        """The judge could not be asked; what it said before stands."""
        self.error = error
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
        )
