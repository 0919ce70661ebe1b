"""What a trial is worth and why: checks, rubric items, and what each judge said."""

from collections.abc import Iterator
from typing import Final

from scylla_gha.model.judgment import CheckResult, ItemScore, Judgment
from scylla_gha.model.panel import JudgeAnswer, JudgeScore
from scylla_gha.render.passage import STEP, Passage, heading, line, passage
from scylla_gha.render.text import number, seconds, usd

_EVIDENCE: Final = 1_000  # characters of a check's or a judge's evidence that are shown
_LINE: Final = 110


def judged(judgment: Judgment, *, full: bool) -> Iterator[Passage]:
    """Checks, items and judges, in the order in which they decide."""
    room = None if full else _EVIDENCE
    holding = sum(1 for check in judgment.checks if check.holds)
    yield heading(f"Checks: {holding} of {len(judgment.checks)} hold")
    for check in judgment.checks:
        yield from _check(check, room)
    yield heading(f"Rubric: {len(judgment.items)} items")
    for category in dict.fromkeys(item.category for item in judgment.items):
        yield from _category(judgment, category)
    if judgment.answers:
        yield heading(f"Judges: {len(judgment.answers)}, {usd(judgment.usage.usd)}")
        for answer in judgment.answers:
            yield from _answer(answer, room)


def _check(check: CheckResult, room: int | None) -> Iterator[Passage]:
    part = f", {100 * check.value:.0f} % of it" if not check.holds and check.value else ""
    head = f"{'holds' if check.holds else 'fails'} {check.id}{part} ({seconds(check.seconds)})"
    seen = check.evidence.strip()
    is_short = "\n" not in seen and len(head) + len(seen) < _LINE
    yield line(f"{head}: {seen}" if seen and is_short else head, style="green" if check.holds else "red")
    if not is_short:
        yield passage(seen, 4 * STEP, room)


def _category(judgment: Judgment, name: str) -> Iterator[Passage]:
    scored = next((each for each in judgment.categories if each.id == name), None)
    of = "not scored"
    if scored:
        of = f"{number(scored.achieved)} of {number(scored.maximum)} points, weight {number(scored.weight)}"
    yield line(f"{name}: {of}", style="bold")
    for item in judgment.items:
        if item.category == name:
            yield from _item(item)


def _item(item: ItemScore) -> Iterator[Passage]:
    if item.value is None:
        worth, style = "N/A", "yellow"
    else:
        worth = f"{number(item.value * item.points)} of {number(item.points)}"
        style = "green" if item.value == 1 else "red" if item.value == 0 else ""
    flags = f" [{', '.join(item.flags)}]" if item.flags else ""
    yield line(f"{item.id}  {worth} by {item.by}: {item.reason}{flags}", 2 * STEP, style)


def _answer(answer: JudgeAnswer, room: int | None) -> Iterator[Passage]:
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


def _score(score: JudgeScore, room: int | None) -> Iterator[Passage]:
    worth = number(score.value) if score.value is not None else "N/A" if score.state == "na" else "missing"
    reason = f": {score.reason}" if score.reason else ""
    flags = f" [{', '.join(score.flags)}]" if score.flags else ""
    yield line(f"{score.id}  {worth}{reason}{flags}", 2 * STEP, "" if score.state == "scored" else "yellow")
    if score.evidence.strip():
        yield passage(score.evidence, 4 * STEP, room)
    for deduction in score.deductions:
        yield line(f"-{number(deduction.points)} {deduction.severity}: {deduction.why}", 4 * STEP)
