"""Terminal view of one cell: why its trial passed or failed."""

from collections.abc import Iterator
from dataclasses import dataclass

from scylla_gha.counting import counted
from scylla_gha.gateway.log import TrafficSummary, traffic_summary
from scylla_gha.model.sandbox import HostContact
from scylla_gha.model.trial import Attempt, Trial
from scylla_gha.model.variant import Delivery
from scylla_gha.report.numbers import number, percent, seconds, tokens, usd
from scylla_gha.report.terminal import STEP, TextBlock, field, heading, line
from scylla_gha.report.trial_parts import AttemptRecord, CellRecord, change, trajectory, verdict_text


@dataclass(frozen=True, slots=True)
class TrialViewOptions:
    """Options of the view: uncut text, the patch, and the number of the attempt (None: the last)."""

    full: bool = False
    diff: bool = False
    attempt: int | None = None


def trial_text(dossier: CellRecord, view: TrialViewOptions) -> Iterator[TextBlock]:
    """Yield all parts in order, each for `Console.print`.

    Raises:
        KeyError: the attempt does not exist.
    """
    yield line(f"{dossier.id} of {dossier.experiment}", 0, "bold")
    yield from _head(dossier)
    work = _seen(dossier, view.attempt)
    if work is not None:
        yield from trajectory(work, full=view.full)
        yield from change(work, full=view.full, diff=view.diff)
    if dossier.judgment is not None:
        yield from verdict_text(dossier.judgment, full=view.full)
    if work is not None:
        yield from _traffic(work)


def _seen(dossier: CellRecord, number_of: int | None) -> AttemptRecord | None:
    if number_of is None:
        return dossier.works[-1] if dossier.works else None
    return {work.number: work for work in dossier.works}[number_of]


def _head(dossier: CellRecord) -> Iterator[TextBlock]:
    trial = dossier.trial
    if trial is None:
        yield field("trial", "none yet; the cell is planned, "
                    f"and `scylla-gha evaluate {dossier.experiment}` works on it", "yellow")  # fmt: skip
    else:
        yield _verdict(dossier, trial)
        yield field(
            "outcome", f"{trial.outcome}: {trial.last.reason}", "" if trial.outcome == "completed" else "yellow"
        )
        yield field("agent", _agent(dossier, trial))
        if (delivery := trial.last.delivery) is not None:
            yield field("delivery", _delivery(delivery), "" if delivery.proved else "yellow")
        judges = dossier.judgment.usage.usd if dossier.judgment else 0.0
        yield field("cost", f"agent {usd(trial.usage.usd)}, judges {usd(judges)}")
        yield field("tokens", _tokens(trial))
        yield field("time", _time(trial.last))
    if dossier.works:
        yield field("attempts", str(len(dossier.works)))
        for work in dossier.works:
            yield _attempt(work)


def _delivery(delivery: Delivery) -> str:
    """Describe whether the agent had what its variant declares, and what was observed."""
    said = "proved" if delivery.proved else delivery.reason or "not proved"
    seen = [(delivery.tools, "tools"), (delivery.system_prompt_bytes, "bytes of system prompt")]
    facts = [f"{count} {what}" for count, what in seen if count is not None]
    return "; ".join([said, *facts, *(f"unverified: {fact}" for fact in delivery.unverified)])


def _verdict(dossier: CellRecord, trial: Trial) -> TextBlock:
    judgment = dossier.judgment
    if not trial.outcome.measures_agent:
        return field("verdict", f"none: {trial.outcome} does not measure the agent; excluded from rates, and counted",
                     "yellow")  # fmt: skip
    if judgment is None:
        return field("verdict", f"none yet; `scylla-gha judge {dossier.experiment}` judges it", "yellow")
    if judgment.trial_key != trial.key:
        return field("verdict", f"none: the stored judgment is of another trial; `scylla-gha judge "
                     f"{dossier.experiment}` judges this one", "yellow")  # fmt: skip
    if judgment.result is None:
        return field("verdict", f"none: it could not be judged: {judgment.error or judgment.unjudged}", "yellow")
    result = judgment.result
    word, style = ("passed", "bold green") if result.passed else ("failed", "bold red")
    broken = f"; broken guards: {', '.join(result.broken)}" if result.broken else ""
    progress = f", progress {percent(result.progress)}" if result.progress is not None else ""
    worth = f"score {number(result.score)}, grade {result.grade or '-'}{progress}"
    return field("verdict", f"{word}: {result.why} ({worth}{broken})", style)


def _agent(dossier: CellRecord, trial: Trial) -> str:
    arm = dossier.arm
    parts = [f"{arm.agent if arm else 'unknown'} {trial.last.agent_version or (arm.version if arm else None) or '?'}"]
    parts += [f"model {arm.model}"] if arm and arm.model else []
    parts += [f"variant {arm.variant.id}"] if arm and arm.variant else []
    return ", ".join([*parts, f"sandbox {trial.sandbox}"])


def _tokens(trial: Trial) -> str:
    usage = trial.usage
    cache = f"{tokens(usage.cache_read_tokens)} read from the cache, {tokens(usage.cache_write_tokens)} written to it"
    return f"{tokens(usage.input_tokens)} in, {tokens(usage.output_tokens)} out, {cache}"


def _time(last: Attempt) -> str:
    parts = [f"{seconds(last.seconds)} from {last.started_at:%Y-%m-%d %H:%M:%S} UTC"]
    if last.first_byte_seconds is not None:
        parts += [f"{seconds(last.first_byte_seconds)} to an answer's first byte",
                  f"{seconds(last.generation_seconds)} of answers"]  # fmt: skip
    parts += [counted(last.turns, "turn")] if last.turns is not None else []
    if last.tool_calls:
        named = ", ".join(f"{name} {count}" for name, count in last.tool_calls.items())
        parts.append(
            f"{counted(sum(last.tool_calls.values()), 'tool call')} ({named}; {last.failed_tool_calls} failed)"
        )
    return ", ".join(parts)


def _attempt(work: AttemptRecord) -> TextBlock:
    one = work.attempt
    if one is None:
        words = "no record: it goes on, or the harness was killed in the middle of it; its cost is unknown"
        return line(f"{work.number}  {words}", 2 * STEP, "yellow")
    again = ", may be repeated" if one.retryable else ""
    words = f"{one.outcome}: {one.reason} ({usd(one.usage.usd)}, {seconds(one.seconds)}{again})"
    return line(f"{work.number}  {words}", 2 * STEP)


def _traffic(work: AttemptRecord) -> Iterator[TextBlock]:
    yield heading(f"Traffic of attempt {work.number}")
    if not work.traffic and not work.judge_traffic:
        yield line("none: no model was asked")
    if work.traffic:
        yield from _account("agent", traffic_summary(work.traffic))
    if work.judge_traffic:
        yield from _account("judges", traffic_summary(work.judge_traffic))
    if work.attempt and work.attempt.network:
        yield from _network(work.attempt.network)


def _network(network: HostContact) -> Iterator[TextBlock]:
    parts = (("reached", network.allowed, ""), ("refused", network.refused, "yellow"))
    for what, hosts, style in parts:
        if hosts:
            yield field("network", f"{what}: " + ", ".join(f"{host} {count}" for host, count in hosts.items()), style)


def _account(who: str, account: TrafficSummary) -> Iterator[TextBlock]:
    errors = ", ".join(f"{name} {count}" for name, count in account.errors.items())
    parts = [counted(account.requests, "request"), f"{account.retries} repeated", f"errors: {errors or 'none'}"]
    parts += [f"{account.unanswered} without an answer"] if account.unanswered else []
    parts += [f"{account.refused} refused by the gateway"] if account.refused else []
    parts += [f"waited {seconds(account.waited_seconds)} for rate limits"] if account.retries else []
    least = f", at least {usd(account.known_usd)}" if account.usage.usd is None else ""
    yield field(who, "; ".join([*parts, f"{usd(account.usage.usd)}{least}"]))
    total = sum(account.characters.values())
    if total:
        shares = sorted(account.characters.items(), key=lambda pair: -pair[1])
        yield field("", "of what was sent: " + ", ".join(f"{part} {percent(count / total)}" for part, count in shares))
