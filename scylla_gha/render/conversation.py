"""What an agent said and did in one attempt, and what it changed."""

import json
from collections.abc import Iterator
from typing import Final

from pydantic import JsonValue

from scylla_gha.model.trial import Step, ToolCall
from scylla_gha.render.dossier import Work
from scylla_gha.render.passage import STEP, Passage, field, heading, line, passage, patch
from scylla_gha.render.text import seconds

_SAID: Final = 3_000  # characters of a text that are shown
_GIVEN: Final = 1_500  # of an argument, and of a result
_FILES: Final = 30


def trajectory(work: Work, *, full: bool) -> Iterator[Passage]:
    """The conversation, step by step."""
    if work.trajectory is None:
        yield heading(f"Trajectory of attempt {work.number}")
        yield line("none is stored: a built-in agent has none, and one that never came to speak left none")
        return
    steps = work.trajectory.steps
    yield heading(f"Trajectory of attempt {work.number}: {len(steps)} steps")
    for number, step in enumerate(steps, 1):
        yield from _step(number, step, full=full)
    final = work.trajectory.final_message
    if final and (not steps or final.strip() != steps[-1].text.strip()):
        yield line("final message", style="bold")
        yield passage(final, 2 * STEP, None if full else _SAID)


def _step(number: int, step: Step, *, full: bool) -> Iterator[Passage]:
    yield line(f"{number} {step.source}", style="bold")
    if step.text.strip():
        yield passage(step.text, 2 * STEP, None if full else _SAID)
    for call in step.tool_calls:
        yield from _call(call, None if full else _GIVEN)


def _call(call: ToolCall, room: int | None) -> Iterator[Passage]:
    took = f" ({seconds(call.seconds)})" if call.seconds is not None else ""
    yield line(f"> {call.name}{took}", 2 * STEP, "cyan")
    arguments = call.arguments.items() if isinstance(call.arguments, dict) else [("arguments", call.arguments)]
    for name, value in arguments:
        text = _shown(value)
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


def _shown(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def change(work: Work, *, full: bool, diff: bool) -> Iterator[Passage]:
    """The diff's size and files, and the patch where it is asked for."""
    stat = work.attempt.diff if work.attempt else None
    if stat is None:
        yield heading("Diff")
        yield line("none is stored: the attempt ended before its work could be looked at")
        return
    yield heading(f"Diff: {len(stat.files)} files, {stat.added} lines added, {stat.deleted} deleted")
    shown = stat.files if full else stat.files[:_FILES]
    for name in shown:
        yield line(name)
    if len(stat.files) > len(shown):
        yield line(f"and {len(stat.files) - len(shown)} more; --full shows them")
    for name in stat.skipped:
        yield field("left out", f"{name}: no file, link or folder", "yellow")
    if diff and work.patch:
        yield patch(work.patch)
