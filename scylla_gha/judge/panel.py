"""The judge panel and the controls of its judges: what each judge is asked, and what its answers show about it.

All judges get the same prompt, and are asked again at most twice for items that cannot be read. A judge that was
reached but gave no verdict is asked once more with the diff alone. If its provider rejects that too, the same request
is sent without the agent's work: if it is accepted, the agent's text was the cause, and the judge counts as having
refused.

Judges may be models of any provider, each asked by its own API (`judge_client.py`). A value that is missing after the
last request stays missing. The judges of each trial have their own gateway session, with a budget and a request log.

Controls test a judge: the same question again, items in reverse order, and known answers of a scenario. Each judge is
controlled separately, so that another panel with the same judge reuses the result. Results never change a score.
"""

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from scylla_gha.config.materials import PromptTexts, read_prompt_texts
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.counting import counted
from scylla_gha.gateway.client import GatewayProcess
from scylla_gha.gateway.log import TrafficSummary, read_traffic, summarise_traffic, traffic_summary
from scylla_gha.gateway.settings import Session
from scylla_gha.judge.judge_client import (
    JudgeFault,
    ParsedReply,
    Send,
    missing_score,
    open_judge_client,
    parse_reply,
    unreadable_items,
)
from scylla_gha.judge.prompt import BlindInput, JudgeEvidence, JudgePrompt, render_prompt
from scylla_gha.judge.score import Consensus, consensus
from scylla_gha.model.judgment import (
    ControlResult,
    Flag,
    Judge,
    JudgeAnswer,
    JudgeScore,
    Lost,
    PanelDifference,
)
from scylla_gha.model.scenario import Item

_RETRIES: Final = 2  # further requests for unreadable items
_ERROR_CHARS: Final = 500
Ask = Callable[[Judge, BlindInput], JudgeAnswer]
_LEAST_GOOD: Final = 0.8  # score of a known-good answer: grade A
_LEAST_GAP: Final = 0.2  # minimum difference of a known-bad answer's score: one grade
_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class PanelResult:
    """The judges' answers on one trial, their consensus, and the traffic."""

    answers: tuple[JudgeAnswer, ...]
    agreed: Consensus
    account: TrafficSummary
    subscription: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """Judges, their prompt texts, and the function that sends a prompt."""

    judges: tuple[Judge, ...]
    wording: PromptTexts
    send: Send


@dataclass(frozen=True, slots=True)
class GatewayPanel:
    """The judges of an experiment, their prompt texts, and the gateway through which they are asked."""

    gateway: GatewayProcess
    judges: tuple[Judge, ...]
    wording: PromptTexts

    def ask(self, cell: str, log: Path, blind: BlindInput) -> PanelResult:
        """Ask all judges about one trial; the answer of an unreachable judge contains the reason.

        The account covers only this call, although the log may have earlier requests of the same trial.

        Args:
            cell: id of the trial's cell.
            log: log of the judges' requests.
            blind: the judges' input.

        Raises:
            ToolError: the gateway does not start.
        """
        before = summarise_traffic(log).last_number
        with self.open_session(Session(cell=cell, role="judge", journal=log)) as panel:
            answers = _ask_diff_alone(panel, blind, ask_panel(panel, blind))
        new = traffic_summary(line for line in read_traffic(log) if line.number > before)
        subscription = self.gateway.is_subscription(judge.model for judge in self.judges)
        return PanelResult(answers, consensus(blind.items, answers), new, subscription)

    @contextmanager
    def open_session(self, session: Session) -> Iterator[Panel]:
        """Open a gateway session for the panel in the block.

        Raises:
            ToolError: the gateway does not start, or rejects the session.
        """
        handle = self.gateway.open(session.model_copy(update={"models": tuple(judge.model for judge in self.judges)}))
        try:
            with open_judge_client(handle.url, handle.token, self.gateway.style_of) as send:
                yield Panel(self.judges, self.wording, send)
        finally:
            self.gateway.close(handle)


def open_panel(
    gateway: GatewayProcess, models: Iterable[str], roots: Iterable[Path], wording: PromptTexts | None = None
) -> GatewayPanel:
    """Create a panel of models; without `wording`, use the prompt texts of the first root that has some."""
    return GatewayPanel(gateway, tuple(Judge(model) for model in models), wording or read_prompt_texts(roots))


def ask_panel(panel: Panel, blind: BlindInput) -> tuple[JudgeAnswer, ...]:
    """Ask all judges in parallel; return one answer for each in their order, even for a judge that failed."""
    with ThreadPoolExecutor(max_workers=max(1, len(panel.judges))) as pool:
        return tuple(pool.map(lambda judge: ask(panel, judge, blind), panel.judges))


def _ask_diff_alone(panel: Panel, blind: BlindInput, answers: Sequence[JudgeAnswer]) -> tuple[JudgeAnswer, ...]:
    """Ask again, with only the diff, the judges that were reached but omitted items.

    Any other part of the evidence may contain a text of the agent that makes a model refuse.
    """

    def complete(judge: Judge, answer: JudgeAnswer) -> JudgeAnswer:
        if answer.lost in {None, "unreached"}:
            return answer
        open_items = tuple(item for item in blind.items if answer.score(item.id) is None)
        diff_alone = dataclasses.replace(blind, items=open_items, diff_alone=True)
        second = _joined(answer, ask(panel, judge, diff_alone))
        if second.lost != "rejected" or not _accepts_without_work(panel, judge, diff_alone):
            return second
        error = f"{second.error}; the same request without the agent's work was accepted"
        return second.model_copy(
            update={"lost": "refused", "error": error[:_ERROR_CHARS], "retries": second.retries + 1}
        )

    with ThreadPoolExecutor(max_workers=max(1, len(panel.judges))) as pool:
        return tuple(pool.map(complete, panel.judges, answers))


def _accepts_without_work(panel: Panel, judge: Judge, blind: BlindInput) -> bool:
    """Return True if the judge's provider accepts the same request without any text of the agent."""
    nothing = JudgeEvidence(b"", (), (), None)
    try:
        panel.send(judge, render_prompt(dataclasses.replace(blind, evidence=nothing), panel.wording))
    except JudgeFault:
        return False
    return True


def _joined(first: JudgeAnswer, second: JudgeAnswer) -> JudgeAnswer:
    """Return the second answer, with the first answer's values for items that only the first has."""
    by_id = {score.id: score for score in (*second.items, *(item for item in first.items if item.state != "missing"))}
    return second.model_copy(
        update={
            "items": tuple(by_id[item.id] for item in first.items),
            "excess": first.excess or second.excess,
            "steps": tuple(dict.fromkeys((*first.steps, *second.steps))),
            "retries": first.retries + second.retries + 1,
            "unknown": tuple(dict.fromkeys((*first.unknown, *second.unknown))),
            "flags": tuple(sorted({*first.flags, *second.flags})),
            "prompt_digest": first.prompt_digest,
            "diff_alone": True,
        }
    )


def ask(panel: Panel, judge: Judge, blind: BlindInput) -> JudgeAnswer:
    """Ask one judge for all items, and again for unreadable ones.

    An item without a readable answer is `missing` in the result, with the reason.
    """
    first = render_prompt(blind, panel.wording)
    conversation = _Conversation({item.id: missing_score(item.id, "not asked") for item in blind.items})
    for attempt in range(1 + _RETRIES):
        open_items = tuple(item for item in blind.items if conversation.scores[item.id].state == "missing")
        if attempt and not open_items:
            break
        conversation.retries = attempt
        prompt = first
        if attempt:
            faults = tuple(f"{item.id}: {conversation.scores[item.id].reason}" for item in open_items)
            prompt = render_prompt(dataclasses.replace(blind, items=open_items), panel.wording, faults)
        try:
            reply = panel.send(judge, prompt)
        except JudgeFault as fault:
            conversation.fail(open_items, str(fault)[:_ERROR_CHARS], "rejected" if fault.rejected else "unreached")
            break
        conversation.lost = "refused" if reply.refused else "unreached" if reply.cut else "unreadable"
        conversation.add(
            unreadable_items(reply.fault, open_items)
            if reply.fault
            else parse_reply(reply.text, open_items, frozenset(conversation.scores), blind.steps)
        )
        if reply.refused:
            break  # the judge would refuse again
    return conversation.answer(judge, first)


@dataclass(slots=True)
class _Conversation:
    """The answers read from one judge so far."""

    scores: dict[str, JudgeScore]  # scores by item, in the order of the items
    retries: int = 0
    first_reply: ParsedReply | None = None  # the first readable reply, the source of excess and steps
    flags: frozenset[Flag] = frozenset()
    unknown: tuple[str, ...] = ()
    error: str | None = None
    lost: Lost = "unreadable"  # reason why items are missing, if there are any

    def add(self, reply: ParsedReply) -> None:
        """Store a reply's scores; only missing items were requested."""
        self.scores.update({score.id: score for score in reply.items})
        self.flags |= {flag for score in reply.items if score.state == "missing" for flag in score.flags}
        self.flags |= set(reply.flags)
        self.unknown = tuple(dict.fromkeys((*self.unknown, *reply.unknown)))
        if self.first_reply is None and reply.fault is None:
            self.first_reply = reply

    def fail(self, open_items: tuple[Item, ...], error: str, lost: Lost) -> None:
        """Record that the judge could not be asked; keep earlier answers."""
        self.error, self.lost = error, lost
        self.scores.update({item.id: missing_score(item.id, error) for item in open_items})

    def answer(self, judge: Judge, prompt: JudgePrompt) -> JudgeAnswer:
        """Return the conversation as a record."""
        items = tuple(self.scores.values())
        missing = [score for score in items if score.state == "missing"]
        cut: set[Flag] = {"evidence_cut"} if prompt.cut else set()
        return JudgeAnswer(
            judge=judge.model,
            prompt_digest=prompt.digest,
            items=items,
            excess=self.first_reply.excess if self.first_reply else None,
            steps=self.first_reply.steps if self.first_reply else (),
            retries=self.retries,
            unknown=self.unknown,
            flags=tuple(sorted(self.flags | cut)),
            error=self.error or (f"{missing[0].id}: {missing[0].reason}" if missing else None),
            lost=self.lost if missing else None,
        )


def repeat_control(
    ask: Ask, judge: Judge, blind: BlindInput, times: int = 2, first: JudgeAnswer | None = None
) -> ControlResult:
    """Ask the same question several times; each difference from the first answer is the judge's noise.

    Args:
        ask: asks the judge.
        judge: the judge to control.
        blind: the judge's input.
        times: number of answers, `first` included.
        first: an earlier answer to the same prompt; None if there is none.
    """
    answers = [first or ask(judge, blind), *(ask(judge, blind) for _ in range(times - 1))]
    return _compared("repeat", judge, answers)


def order_swap_control(ask: Ask, judge: Judge, blind: BlindInput) -> ControlResult:
    """Ask with the items in order and in reverse; each difference is noise or a position bias."""
    swapped = dataclasses.replace(blind, items=tuple(reversed(blind.items)))
    return _compared("order_swap", judge, [ask(judge, blind), ask(judge, swapped)])


def canary_control(ask: Ask, judge: Judge, good: BlindInput, bad: BlindInput) -> ControlResult:
    """Ask about the reference solution and a wrong solution of one scenario, and compare the judge's scores.

    The wrong solution is a plausible mistake with good parts, so its score must be lower, but not necessarily low.
    """
    high, low = (_mean(blind, ask(judge, blind)) for blind in (good, bad))
    holds: bool | None = None
    if high is None or low is None:
        why = f"no item of the {'known-good' if high is None else 'known-bad'} answer has a value"
    else:
        why = f"known-good {high:.2f} (at least {_LEAST_GOOD}), known-bad {low:.2f} (lower by at least {_LEAST_GAP})"
        holds = high >= _LEAST_GOOD and round(high - low, _DIGITS) >= _LEAST_GAP
    return ControlResult(kind="canary", judge=judge.model, holds=holds, why=why)


def _mean(blind: BlindInput, answer: JudgeAnswer) -> float | None:
    """Return the items' mean value weighted by points; None if an item is missing or no item has a value."""
    scores = [(answer.score(item.id), item.points) for item in blind.items]
    pairs = [(score.value, points) for score, points in scores if score and score.value is not None]
    if not pairs or any(score is None for score, _ in scores):
        return None
    return statistics.fmean([value for value, _ in pairs], weights=[points for _, points in pairs])


def _compared(kind: Literal["repeat", "order_swap"], judge: Judge, answers: Sequence[JudgeAnswer]) -> ControlResult:
    """Compare later answers with the first answer; skip items that one of the two answers lacks."""
    first = answers[0]
    pairs = [
        (score, second)
        for later in answers[1:]
        for score in first.items
        if score.state != "missing" and (second := later.score(score.id))
    ]
    differences = tuple(
        PanelDifference(id=score.id, first=score.value, second=second.value)
        for score, second in pairs
        if score.value != second.value
    )
    differ = f"{len(differences)} of {counted(len(pairs), 'item')} differ"
    return ControlResult(
        kind=kind,
        judge=judge.model,
        holds=not differences if pairs else None,
        why=differ if pairs else "no item has an answer on both sides",
        compared=len(pairs),
        differences=differences,
    )


def unique_judges(models: Iterable[str]) -> tuple[Judge, ...]:
    """Return the judges to control, without duplicates."""
    return tuple(Judge(model) for model in dict.fromkeys(models))


def has_known_answers(folder: ScenarioFolder) -> bool:
    """Return True if a judge can be controlled on a scenario: it has judged items, a solution and a wrong solution.

    Scenarios with GitHub are excluded: their solutions are scripts, whose evidence would need a trial.
    """
    return (
        folder.github is None
        and any(not item.checks for item in folder.rubric.items)
        and folder.solution.is_file()
        and bool(folder.wrong)
    )
