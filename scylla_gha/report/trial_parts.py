"""Parts of the terminal view of a cell's records: verdict, conversation and diff."""

import datetime
import json
from collections.abc import Iterator
from typing import Final

from pydantic import JsonValue

from scylla_gha.counting import counted, dollars
from scylla_gha.model.cell_records import AttemptRecord, LoggedRequest, model_requests, step_requests, steps_after_task
from scylla_gha.model.judgment import CheckResult, ItemScore, JudgeAnswer, JudgeScore, Judgment
from scylla_gha.model.trial import Step, ToolCall
from scylla_gha.report.numbers import number, seconds, tokens
from scylla_gha.report.terminal import STEP, TextBlock, field, heading, line, passage, patch

_MOST_EVIDENCE: Final = 1_000  # characters of a check's or a judge's evidence that are shown
_MOST_LINE: Final = 110


def verdict_text(judgment: Judgment, *, full: bool) -> Iterator[TextBlock]:
    """Yield checks, rubric items and judges, in the order in which they decide."""
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
    part = f", {100 * check.value:.0f} % of it" if not check.holds and check.value else ""
    optional = ", not required" if check.role in {"scored", "progress"} else ""
    what = f": {check.what}" if check.what else ""
    fails = "does not hold" if check.role == "condition" else "fails"
    head = f"{'holds' if check.holds else fails} {check.id}{part}{optional} ({seconds(check.seconds)}){what}"
    seen = check.evidence.strip()
    is_short = not what and "\n" not in seen and len(head) + len(seen) < _MOST_LINE
    style = "" if check.role == "condition" else "green" if check.holds else "red"
    yield line(f"{head}: {seen}" if seen and is_short else head, style=style)
    if seen and not is_short:
        yield passage(seen, 4 * STEP, room)


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
        yield line(f"items that it made up: {', '.join(answer.unknown)}", 2 * STEP, "yellow")


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
_MOST_ARGUMENT: Final = 1_500  # of an argument, and of a result
_MOST_FILES: Final = 30


def trajectory(work: AttemptRecord, *, full: bool) -> Iterator[TextBlock]:
    """Yield the conversation, step by step."""
    if work.trajectory is None:
        yield heading(f"Trajectory of attempt {work.number}")
        yield line("none is stored: a built-in agent has none, nor has an agent that never answered")
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
    """Return when a step began after the first one, how long its answer took, its tokens and its cost."""
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
        yield line("no answer came", 3 * STEP, "yellow")
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
        yield line("none is stored: the attempt ended before its changes were read")
        return
    yield heading(
        f"Diff: {counted(len(stat.files), 'file')}, {counted(stat.added, 'line')} added, {stat.deleted} deleted"
    )
    shown = stat.files if full else stat.files[:_MOST_FILES]
    yield from map(line, shown)
    if len(stat.files) > len(shown):
        yield line(f"and {len(stat.files) - len(shown)} more; --full shows them")
    yield from (field("left out", f"{name}: not a file, link or folder", "yellow") for name in stat.skipped)
    if diff and work.patch:
        yield patch(work.patch)
