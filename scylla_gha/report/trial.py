"""Terminal view of one cell: why its trial passed or failed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from scylla_gha.counting import counted, dollars
from scylla_gha.gateway.log import TrafficSummary, traffic_summary
from scylla_gha.model.cell_records import AttemptRecord, CellRecord, task_text
from scylla_gha.model.delivery import Delivery
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.trial import Attempt, Trial
from scylla_gha.report.numbers import number, percent, seconds, tokens
from scylla_gha.report.terminal import STEP, TextBlock, field, heading, line, passage
from scylla_gha.report.trial_parts import MOST_TEXT, change, trajectory, verdict_text

_MOST_FILES: Final = 10


@dataclass(frozen=True, slots=True)
class TrialViewOptions:
    """Options of the view: uncut text, the patch, and the number of the attempt (None: the last)."""

    full: bool = False
    diff: bool = False
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class TrialFact:
    """A named fact of a trial, with the style that it has in a terminal."""

    name: str
    words: str
    style: str = ""


def trial_text(record: CellRecord, options: TrialViewOptions) -> Iterator[TextBlock]:
    """Yield all parts in order, each for `Console.print`.

    Raises:
        KeyError: the attempt does not exist.
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
    """Yield the facts at the head of a cell: verdict, outcome, agent, delivery, cost, tokens and time."""
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
    if files := last.agent_files:
        more = f" and {len(files) - _MOST_FILES} more" if len(files) > _MOST_FILES else ""
        yield TrialFact("start", "files for agents: " + ", ".join(files[:_MOST_FILES]) + more)
    judges = record.judgment.usage.usd if record.judgment else 0.0
    yield TrialFact("cost", f"agent {dollars(usage.usd)}, judges {dollars(judges)}")
    yield TrialFact(
        "tokens",
        f"{tokens(usage.input_tokens)} in, {tokens(usage.output_tokens)} out, "
        f"{tokens(usage.cache_read_tokens)} read from the cache, "
        f"{tokens(usage.cache_write_tokens)} written to it",
    )
    yield TrialFact("time", _time(last))


def _delivery(delivery: Delivery) -> str:
    """Describe whether the agent had what its variant declares, and what was observed."""
    parts = ["proved" if delivery.proved else delivery.shortfall, *_tool_forms(delivery)]
    if delivery.system_prompt_bytes is not None:
        parts.append(f"{counted(delivery.system_prompt_bytes, 'byte')} of system prompt")
    unverified = [fact for fact in delivery.unverified if fact not in parts[0]]
    return "; ".join([*parts, *(f"unverified: {fact}" for fact in unverified)])


def _tool_forms(delivery: Delivery) -> Iterator[str]:
    """Yield how many tools the model was given, by form."""
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
        missing = f"none: the stored judgment is of another trial; {judge} this one"
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
    """Return the sentence of the check or item with whose id the reason begins; empty: there is none."""
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
    again = ", may be repeated" if attempt.retryable else ""
    return f"{attempt.outcome}: {attempt.reason} ({dollars(attempt.usage.usd)}, {seconds(attempt.seconds)}{again})"


def _traffic(work: AttemptRecord) -> Iterator[TextBlock]:
    yield heading(f"Traffic of attempt {work.number}")
    if not work.traffic and not work.judge_traffic:
        yield line("none: no model was asked")
    for role, traffic in (("agent", work.traffic), ("judges", work.judge_traffic)):
        if traffic:
            yield from _requests(role, traffic_summary(traffic))
    if work.attempt and (network := work.attempt.network):
        for access, hosts, style in (("reached", network.allowed, ""), ("refused", network.refused, "yellow")):
            if hosts:
                counts = ", ".join(f"{host} {count}" for host, count in hosts.items())
                yield field("network", f"{access}: {counts}", style)
    if work.attempt and (github := work.attempt.github):
        gaps = f"; {counted(github.gaps, 'gap')} of the hub" if github.gaps else ""
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
        yield field("", "of what was sent: " + ", ".join(f"{part} {percent(count / total)}" for part, count in shares))
