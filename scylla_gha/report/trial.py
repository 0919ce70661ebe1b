"""Show a trial as text: outcome, conversation, diff, checks, judges, costs, and traffic."""

import datetime
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from scylla_gha.counting import counted, dollars
from scylla_gha.gateway.log import TrafficSummary, traffic_summary
from scylla_gha.model.judgment import CheckResult, ItemScore, JudgeAnswer, JudgeScore, Judgment
from scylla_gha.model.result import (
    AttemptRecord,
    CellRecord,
    LoggedRequest,
    model_requests,
    step_requests,
    steps_after_task,
    task_text,
)
from scylla_gha.model.trial import Attempt, Delivery, Step, ToolCall, Trial, Uses
from scylla_gha.report.document import number, percent, seconds, tokens
from scylla_gha.report.terminal import STEP, TextBlock, field, heading, line, passage, patch

_MOST_EVIDENCE: Final = 1_000  # characters of a check's or a judge's evidence that are shown
_MOST_LINE: Final = 110  # characters of a check and its evidence in one line
_MOST_AGENT_FILES: Final = 10


def verdict_text(judgment: Judgment, *, full: bool) -> Iterator[TextBlock]:
    """Yield checks, rubric items and judges' answers."""
    room = None if full else _MOST_EVIDENCE
    conditions = [check for check in judgment.checks if check.role == "condition"]
    checks = [check for check in judgment.checks if check.role != "condition"]
    yield heading(f"Checks: {_holding(checks)}")
    for check in checks:
        yield from _check(check, room)
    if conditions:
        yield heading(f"Conditions: {_holding(conditions)}; they only decide which rubric items apply")
        for check in conditions:
            yield from _check(check, room)
    yield heading(f"Rubric: {counted(len(judgment.items), 'item')}")
    for category in dict.fromkeys(item.category for item in judgment.items):
        yield from _category(judgment, category)
    if judgment.answers:
        yield heading(f"Judges: {len(judgment.answers)}, {dollars(judgment.usage.usd)}")
        for answer in judgment.answers:
            yield from _answer(answer, room)


def _holding(checks: list[CheckResult]) -> str:
    return f"{sum(check.holds for check in checks)} of {len(checks)} hold"


def _check(check: CheckResult, room: int | None) -> Iterator[TextBlock]:
    part = f", {100 * check.value:.0f} % reached" if not check.holds and check.value else ""
    optional = ", not required" if check.role in {"scored", "progress"} else ""
    what = f": {check.what}" if check.what else ""
    fails = "does not hold" if check.role == "condition" else "fails"
    head = f"{'holds' if check.holds else fails} {check.id}{part}{optional} ({seconds(check.seconds)}){what}"
    evidence = check.evidence.strip()
    is_short = not what and "\n" not in evidence and len(head) + len(evidence) < _MOST_LINE
    style = "" if check.role == "condition" else "green" if check.holds else "red"
    yield line(f"{head}: {evidence}" if evidence and is_short else head, style=style)
    if evidence and not is_short:
        yield passage(evidence, 4 * STEP, room)


def _category(judgment: Judgment, name: str) -> Iterator[TextBlock]:
    scored = next((category for category in judgment.categories if category.id == name), None)
    points = "not scored"
    if scored:
        points = f"{number(scored.achieved)} of {number(scored.maximum)} points, weight {number(scored.weight)}"
    yield line(f"{name}: {points}", style="bold")
    for item in judgment.items:
        if item.category == name:
            yield from _item(item)


def _item(item: ItemScore) -> Iterator[TextBlock]:
    if item.value is None:
        worth, style = "N/A", "yellow"
    else:
        worth = f"{number(item.value * item.points)} of {number(item.points)}"
        style = "green" if item.value == 1 else "red" if item.value == 0 else ""
    flags = f" [{', '.join(item.flags)}]" if item.flags else ""
    why = f"by {item.by}: {item.reason}{flags}"
    if not item.text:
        yield line(f"{item.id}  {worth} {why}", 2 * STEP, style)
        return
    yield line(f"{item.id}  {worth}: {item.text}", 2 * STEP, style)
    yield line(why, 4 * STEP)


def _answer(answer: JudgeAnswer, room: int | None) -> Iterator[TextBlock]:
    again = f", asked again: {answer.retries}" if answer.retries else ""
    again += ", shown the diff alone" if answer.diff_alone else ""
    flags = f" [{', '.join(answer.flags)}]" if answer.flags else ""
    yield line(f"{answer.judge}{again}{flags}", style="bold")
    if answer.error:
        yield line(f"not answered in full: {answer.error}", 2 * STEP, "red")
    for score in answer.items:
        yield from _score(score, room)
    if answer.excess:
        yield line("beyond the requirements:", 2 * STEP)
        yield passage(answer.excess, 4 * STEP, room)
    if answer.steps:
        yield line(f"steps achieved: {', '.join(answer.steps)}", 2 * STEP)
    if answer.unknown:
        yield line(f"items that the rubric lacks: {', '.join(answer.unknown)}", 2 * STEP, "yellow")


def _score(score: JudgeScore, room: int | None) -> Iterator[TextBlock]:
    worth = number(score.value) if score.value is not None else "N/A" if score.state == "na" else "missing"
    reason = f": {score.reason}" if score.reason else ""
    flags = f" [{', '.join(score.flags)}]" if score.flags else ""
    yield line(f"{score.id}  {worth}{reason}{flags}", 2 * STEP, "" if score.state == "scored" else "yellow")
    if score.evidence.strip():
        yield passage(score.evidence, 4 * STEP, room)
    for deduction in score.deductions:
        yield line(f"-{number(deduction.points)} {deduction.severity}: {deduction.why}", 4 * STEP)


MOST_TEXT: Final = 3_000  # characters of a text that are shown
_MOST_ARGUMENT: Final = 1_500  # characters of an argument or a result that are shown
_MOST_CHANGED: Final = 30  # files


def trajectory(work: AttemptRecord, *, full: bool) -> Iterator[TextBlock]:
    """Yield the conversation, step by step."""
    if work.trajectory is None:
        yield heading(f"Trajectory of attempt {work.number}")
        yield line("none is stored: built-in agents, and agents that never answered, have none")
        return
    steps, requests = steps_after_task(work), step_requests(work)
    start = min((request.asked.at for request in model_requests(work)), default=None)
    yield heading(f"Trajectory of attempt {work.number}: {counted(len(steps), 'step')}")
    for position, (step, request) in enumerate(zip(steps, requests, strict=True), 1):
        yield line(f"{position} {step.source}{_step_cost(request, start)}", style="bold")
        yield from _step(step, full=full)
    final = work.trajectory.final_message
    if final and (not steps or final.strip() != steps[-1].text.strip()):
        yield line("final message", style="bold")
        yield passage(final, 2 * STEP, None if full else MOST_TEXT)


def _step_cost(request: LoggedRequest | None, start: datetime.datetime | None) -> str:
    """Return a step's start relative to the first request, the time of its answer, its tokens and its cost."""
    if request is None or start is None or request.answer is None or request.answer.tokens is None:
        return ""
    counts = request.answer.tokens
    cost = "cost unknown" if request.usd is None else dollars(request.usd)
    cached = f" ({tokens(counts.cache_read)} cached)" if counts.cache_read else ""
    return (
        f", at {seconds((request.asked.at - start).total_seconds())}, took {seconds(request.seconds)}, "
        f"{counted(counts.prompt, 'token')} in{cached}, {tokens(counts.output)} out, {cost}"
    )


def _step(step: Step, *, full: bool) -> Iterator[TextBlock]:
    if step.text.strip():
        yield passage(step.text, 2 * STEP, None if full else MOST_TEXT)
    for call in step.tool_calls:
        yield from _call(call, None if full else _MOST_ARGUMENT)


def _call(call: ToolCall, room: int | None) -> Iterator[TextBlock]:
    took = f" ({seconds(call.seconds)})" if call.seconds is not None else ""
    yield line(f"> {call.name}{took}", 2 * STEP, "cyan")
    arguments = call.arguments.items() if isinstance(call.arguments, dict) else [("arguments", call.arguments)]
    for name, value in arguments:
        text = value_text(value)
        if "\n" in text or (room is not None and len(text) > room):
            yield line(f"{name}:", 3 * STEP)
            yield passage(text, 4 * STEP, room)
        else:
            yield passage(f"{name}: {text}", 3 * STEP, None)
    if call.result is None:
        yield line("no result came", 3 * STEP, "yellow")
        return
    yield line("failed:" if call.failed else "result:", 3 * STEP, "red" if call.failed else "")
    yield passage(call.result, 4 * STEP, room)


def value_text(value: JsonValue) -> str:
    """Return a tool's argument as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def change(work: AttemptRecord, *, full: bool, diff: bool) -> Iterator[TextBlock]:
    """Yield the size and files of the diff, and the patch if `diff` is set."""
    stat = work.attempt.diff if work.attempt else None
    if stat is None:
        yield heading("Diff")
        yield line("none is stored: the attempt ended before its diff was made")
        return
    yield heading(
        f"Diff: {counted(len(stat.files), 'file')}, {counted(stat.added, 'line')} added, {stat.deleted} deleted"
    )
    shown = stat.files if full else stat.files[:_MOST_CHANGED]
    yield from map(line, shown)
    if len(stat.files) > len(shown):
        yield line(f"and {len(stat.files) - len(shown)} more; --full shows them")
    yield from (field("left out", f"{name}: not a file, link or folder", "yellow") for name in stat.skipped)
    if diff and work.patch:
        yield patch(work.patch)


@dataclass(frozen=True, slots=True)
class TrialViewOptions:
    """Options of the view: show uncut text, show the patch, and the attempt's number (None: the last)."""

    full: bool = False
    diff: bool = False
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class TrialFact:
    """A named fact of a trial, with its style in a terminal."""

    name: str
    words: str
    style: str = ""


def trial_text(record: CellRecord, options: TrialViewOptions) -> Iterator[TextBlock]:
    """Yield all parts of a cell's record in order, for `Console.print`.

    Raises:
        KeyError: the attempt of `options` does not exist.
    """
    yield line(f"{record.id} of {record.experiment}", 0, "bold")
    yield from _head(record)
    if task := task_text(record):
        yield heading("Task")
        yield passage(task, STEP, None if options.full else MOST_TEXT)
    attempt = record.works[-1] if record.works else None
    if options.attempt is not None:
        attempt = {work.number: work for work in record.works}[options.attempt]
    if attempt is not None:
        yield from trajectory(attempt, full=options.full)
        yield from change(attempt, full=options.full, diff=options.diff)
    if record.judgment is not None:
        yield from verdict_text(record.judgment, full=options.full)
    if attempt is not None:
        yield from _traffic(attempt)


def _head(record: CellRecord) -> Iterator[TextBlock]:
    for fact in trial_facts(record):
        yield field(fact.name, fact.words, fact.style)
    if record.works:
        yield field("attempts", str(len(record.works)))
        yield from map(_attempt, record.works)


def trial_facts(record: CellRecord) -> Iterator[TrialFact]:
    """Yield a cell's main facts: verdict, outcome, agent, delivery, uses, cost, tokens and time."""
    trial = record.trial
    if trial is None:
        yield TrialFact(
            "trial", f"none yet; the cell is planned: run `scylla-gha evaluate {record.experiment}`", "yellow"
        )
        return
    last, usage = trial.last, trial.usage
    yield _verdict(record, trial)
    yield TrialFact("outcome", f"{trial.outcome}: {last.reason}", "" if trial.outcome == "completed" else "yellow")
    yield TrialFact("agent", _agent(record, trial))
    if last.delivery is not None:
        yield TrialFact("delivery", _delivery(last.delivery), "" if last.delivery.proved else "yellow")
    if last.uses is not None and last.uses.counts:
        yield TrialFact("used", _uses(last.uses), "" if any(last.uses.counts.values()) else "yellow")
    if files := last.agent_files:
        more = f" and {len(files) - _MOST_AGENT_FILES} more" if len(files) > _MOST_AGENT_FILES else ""
        yield TrialFact("start", "files for agents: " + ", ".join(files[:_MOST_AGENT_FILES]) + more)
    judges = record.judgment.usage.usd if record.judgment else 0.0
    yield TrialFact("cost", f"agent {dollars(usage.usd)}, judges {dollars(judges)}")
    yield TrialFact(
        "tokens",
        f"{tokens(usage.input_tokens)} in, {tokens(usage.output_tokens)} out, "
        f"{tokens(usage.cache_read_tokens)} read from the cache, "
        f"{tokens(usage.cache_write_tokens)} written to it",
    )
    yield TrialFact("time", _time(last))


def _uses(uses: Uses) -> str:
    """Return in one line how often each declared resource was used, read or refused."""
    counts = [f"{name} {count}" for name, count in uses.counts.items() if count]
    parts = [f"{', '.join(counts)} (first in turn {uses.first_turn})"] if counts else []
    unused = [name for name, count in uses.counts.items() if not count and name not in uses.read]
    parts += [f"only read: {', '.join(uses.read)}"] if uses.read else []
    parts += [f"never: {', '.join(unused)}"] if unused else []
    parts += (
        [f"refused: {', '.join(f'{name} {count}' for name, count in uses.refused.items())}"] if uses.refused else []
    )
    return "; ".join(parts)


def _delivery(delivery: Delivery) -> str:
    """Return whether the agent had what its variant declares, and what was observed."""
    parts = ["proved" if delivery.proved else delivery.shortfall, *_tool_forms(delivery)]
    if delivery.system_prompt_bytes is not None:
        parts.append(f"{counted(delivery.system_prompt_bytes, 'byte')} of system prompt")
    unverified = [fact for fact in delivery.unverified if fact not in parts[0]]
    return "; ".join([*parts, *(f"unverified: {fact}" for fact in unverified)])


def _tool_forms(delivery: Delivery) -> Iterator[str]:
    """Yield how many tools the model got in full and by name only; nothing if that is unknown."""
    if delivery.tools is None:
        return
    loaded = f" ({', '.join(delivery.loaded_tools)} loaded later)" if delivery.loaded_tools else ""
    forms = f" in full, and {len(delivery.deferred_tools)} by name only{loaded}"
    yield counted(delivery.tools, "tool") + (forms if delivery.deferred_tools or loaded else "")


def _verdict(record: CellRecord, trial: Trial) -> TrialFact:
    judgment = record.judgment
    judge = f"`scylla-gha judge {record.experiment}` judges"
    missing = ""
    if not trial.outcome.measures_agent:
        missing = f"none: {trial.outcome} does not measure the agent; excluded from rates, and counted"
    elif judgment is None:
        missing = f"none yet; {judge} it"
    elif judgment.trial_key != trial.key:
        missing = f"none: the stored judgment belongs to another trial; {judge} this one"
    elif judgment.result is None:
        missing = f"none: it could not be judged: {judgment.error or judgment.unjudged}"
    if missing or judgment is None or judgment.result is None:
        return TrialFact("verdict", missing, "yellow")
    result = judgment.result
    word, style = ("passed", "bold green") if result.passed else ("failed", "bold red")
    broken = f"; broken guards: {', '.join(result.broken)}" if result.broken else ""
    progress = f", progress {percent(result.progress)}" if result.progress is not None else ""
    score = f"score {number(result.score)}, grade {result.grade or '-'}{progress}"
    return TrialFact("verdict", f"{word}: {result.why} ({_meaning(judgment)}{score}{broken})", style)


def _meaning(judgment: Judgment) -> str:
    """Return the description of the check or item whose id begins the result's reason; empty if there is none."""
    texts = {**{check.id: check.what for check in judgment.checks}, **{item.id: item.text for item in judgment.items}}
    text = texts.get(judgment.result.why.partition(" ")[0]) if judgment.result else None
    return f'"{text}"; ' if text else ""


def _agent(record: CellRecord, trial: Trial) -> str:
    arm = record.arm
    parts = [f"{arm.agent if arm else 'unknown'} {trial.last.agent_version or (arm.version if arm else None) or '?'}"]
    parts += [f"model {arm.model}"] if arm and arm.model else []
    parts += [f"variant {arm.variant.id}"] if arm and arm.variant else []
    return ", ".join([*parts, f"sandbox {trial.sandbox}"])


def _time(last: Attempt) -> str:
    parts = [f"{seconds(last.seconds)} from {last.started_at:%Y-%m-%d %H:%M:%S} UTC"]
    if last.first_byte_seconds is not None:
        parts += [
            f"{seconds(last.first_byte_seconds)} to an answer's first byte",
            f"{seconds(last.generation_seconds)} of answers",
        ]
    parts += [counted(last.turns, "turn")] if last.turns is not None else []
    if last.tool_calls:
        calls = counted(sum(last.tool_calls.values()), "tool call")
        names = ", ".join(f"{name} {count}" for name, count in last.tool_calls.items())
        parts.append(f"{calls} ({names}; {last.failed_tool_calls} failed)")
    return ", ".join(parts)


def _attempt(work: AttemptRecord) -> TextBlock:
    return line(f"{work.number}  {attempt_words(work)}", 2 * STEP, "" if work.attempt else "yellow")


def attempt_words(work: AttemptRecord) -> str:
    """Return how an attempt ended, its cost and its time."""
    attempt = work.attempt
    if attempt is None:
        return "no record: it is running, or the harness was killed during it; its cost is unknown"
    again = ", can be retried" if attempt.retryable else ""
    return f"{attempt.outcome}: {attempt.reason} ({dollars(attempt.usage.usd)}, {seconds(attempt.seconds)}{again})"


def _traffic(work: AttemptRecord) -> Iterator[TextBlock]:
    yield heading(f"Traffic of attempt {work.number}")
    if not work.traffic and not work.judge_traffic:
        yield line("none: no request was sent to a model")
    for role, traffic in (("agent", work.traffic), ("judges", work.judge_traffic)):
        if traffic:
            yield from _requests(role, traffic_summary(traffic))
    if work.attempt and (network := work.attempt.network):
        for access, hosts, style in (("reached", network.allowed, ""), ("refused", network.refused, "yellow")):
            if hosts:
                counts = ", ".join(f"{host} {count}" for host, count in hosts.items())
                yield field("network", f"{access}: {counts}", style)
    if work.attempt and (github := work.attempt.github):
        gaps = f"; {counted(github.gaps, 'request')} for features that the hub lacks" if github.gaps else ""
        clients = ", ".join(f"{name} {count}" for name, count in github.clients.items())
        by = f" ({clients})" if clients else ""
        counts = f"{counted(github.requests, 'request')}{by}, {counted(github.writes, 'change')} made{gaps}"
        yield field("GitHub", counts, "yellow" if github.gaps else "")


def _requests(role: str, summary: TrafficSummary) -> Iterator[TextBlock]:
    errors = ", ".join(f"{name} {count}" for name, count in summary.errors.items())
    parts = [counted(summary.requests, "request"), f"{summary.retries} repeated", f"errors: {errors or 'none'}"]
    parts += [f"{summary.unanswered} without an answer"] if summary.unanswered else []
    parts += [f"{summary.refused} refused by the gateway"] if summary.refused else []
    parts += [f"waited {seconds(summary.waited_seconds)} for rate limits"] if summary.retries else []
    least = f", at least {dollars(summary.known_usd)}" if summary.usage.usd is None else ""
    yield field(role, "; ".join([*parts, f"{dollars(summary.usage.usd)}{least}"]))
    total = sum(summary.characters.values())
    if total:
        shares = sorted(summary.characters.items(), key=lambda share: -share[1])
        yield field("", "sent characters: " + ", ".join(f"{part} {percent(count / total)}" for part, count in shares))
