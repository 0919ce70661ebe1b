"""Controls of the judges, through the same gateway, in the same words and as blind as the trials that they judge.

Each judge is asked about a scenario's reference solution and about one of its wrong ones, whose items it also gets in
reverse; and on request about the same trial again. A control is a record under a key: what is there is not asked again.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.cli.journey import Journey, finish
from scylla_gha.errors import FixtureError, ToolError
from scylla_gha.gateway.journal import account
from scylla_gha.gateway.settings import Lane
from scylla_gha.judge import Answer, answer_of, exhibit
from scylla_gha.judges.blind import BlindInput, Wording, read_wording, render
from scylla_gha.judges.controls import Ask, canary, order_swap, repeat
from scylla_gha.judges.panel import Judge, ask
from scylla_gha.judges.probes import again_key, has_known_answers, judges_of, known_key
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.panel import Control, JudgeAnswer
from scylla_gha.model.plan import Cell
from scylla_gha.model.probe import Probe
from scylla_gha.model.record import slug
from scylla_gha.model.trial import Trial
from scylla_gha.seals import seal_of
from scylla_gha.seeding.ground import Ground
from scylla_gha.seeding.workspace import Workspace, materialise, scratch, snapshot
from scylla_gha.store import read_record, traffic_of, write_record

_MEGA: Final = 1_000_000
_SAID: Final = "Done."  # of both known answers, since an agent that says nothing would be told by that
_KILLED: Final = "the harness was killed in the middle of it"

Tried = tuple[Cell, Trial, Judgment | None]  # a trial with the judgment that it has
Examine = Callable[[Ask, Judge], tuple[Control, ...]]


@dataclass(frozen=True, slots=True)
class Subject:
    """What judges are controlled on: a probe for each of them, and how the questions are made when one is due."""

    probes: tuple[Probe, ...]
    questions: Callable[[], Examine]


def subjects(journey: Journey, judged: Sequence[Tried], times: int | None, *, known: bool) -> list[Subject]:
    """What the journey's judges are to be controlled on.

    Args:
        journey: whose judges.
        judged: the trials with their judgments.
        times: how often they are asked about each trial; None: not again.
        known: whether they are asked about the known answers of the trials' scenarios.
    """
    if not journey.judges:
        return []
    wording = journey.docket.wording or read_wording(journey.library.roots)
    scenarios = dict.fromkeys(cell.scenario for cell, _, _ in judged) if known else {}
    found = [_known(journey, name, wording) for name in scenarios if has_known_answers(journey.scenario(name))]
    asked = [each for each in judged if each[2] and each[2].answers]
    return found + [_again(journey, each, times, wording) for each in asked if times]


def due(journey: Journey, found: Iterable[Subject], replay: Path | None) -> list[Subject]:
    """Those with only the probes that are not stored, or could not be decided; of a replay, only what is recorded."""
    left = [
        Subject(tuple(p for p in each.probes if not _settled(journey, p) and _recorded(p, replay)), each.questions)
        for each in found
    ]
    return [each for each in left if each.probes]


def control(journey: Journey, wanted: Sequence[Subject], jobs: int) -> None:
    """Ask what is due, and store what is found. A fault of the provider leaves a control undecided.

    Raises:
        KeyboardInterrupt: the user interrupted; what was done is kept.
    """
    with ThreadPoolExecutor(jobs, thread_name_prefix="control") as pool:
        finish([pool.submit(_examine, journey, subject) for subject in wanted], journey.cancel)


def stored(journey: Journey, found: Iterable[Subject]) -> tuple[Probe, ...]:
    """What was found, now or earlier."""
    paths = (_place(journey, probe) for subject in found for probe in subject.probes)
    return tuple(probe for path in paths if (probe := read_record(path, Probe)))


def _known(journey: Journey, scenario: str, wording: Wording) -> Subject:
    folder = journey.scenario(scenario)
    probes = tuple(
        Probe(key=known_key(judge, wording, folder), judge=judge.model, scenario=scenario)
        for judge in judges_of(journey.judges)
    )
    return Subject(probes, lambda: _about_known(journey, scenario))


def _about_known(journey: Journey, scenario: str) -> Examine:
    ground = journey.ground(scenario)
    patches = (ground.folder.solution, ground.folder.wrong[0])
    limit = journey.plan.experiment.limits.diff_mb * _MEGA
    bench = journey.bench(scenario)
    good, bad = (exhibit(_answer(ground, patch, limit), ground, bench) for patch in patches)

    def examine(asked: Ask, judge: Judge) -> tuple[Control, ...]:
        once = functools.cache(asked)  # the reversed order is compared with what the canary asked
        found = [canary(once, judge, good, bad)] if good.items else []
        found += [order_swap(once, judge, bad)] if len(bad.items) > 1 else []
        return tuple(found)

    return examine


def _answer(ground: Ground, patch: Path, limit: int) -> Answer:
    """A known answer in the very form of an agent's."""
    with scratch() as root:
        workspace = Workspace(root)
        materialise(ground.start, patch.read_bytes(), workspace.repo)
        return Answer(*snapshot(ground.start, workspace, limit), _SAID)


def _again(journey: Journey, judged: Tried, times: int, wording: Wording) -> Subject:
    cell, trial, _ = judged
    folder = journey.scenario(cell.scenario)
    probes = tuple(
        Probe(
            key=again_key(judge, wording, folder, trial, times),
            judge=judge.model,
            scenario=cell.scenario,
            cell=cell.id,
            times=times,
        )
        for judge in judges_of(journey.judges)
    )
    return Subject(probes, lambda: _about_trial(journey, judged, times))


def _about_trial(journey: Journey, judged: Tried, times: int) -> Examine:
    cell, trial, made = judged
    answer = answer_of(trial, journey.folder.cell(cell.id))
    if answer is None or made is None or journey.court is None:
        return lambda _, __: ()
    blind = exhibit(answer, journey.ground(cell.scenario), journey.bench(cell.scenario), made.checks)
    shown = render(blind, journey.court.wording).digest
    first = {
        one.judge: one
        for one in made.answers
        if one.prompt_digest == shown and one.error is None and not one.diff_alone
    }
    return lambda asked, judge: (repeat(asked, judge, blind, times, first.get(judge.model)),)


def _examine(journey: Journey, subject: Subject) -> None:
    """Ask all judges of a subject at once."""
    if journey.cancel.is_set:
        return
    try:
        examine = subject.questions()
    except (FixtureError, ToolError, OSError) as error:
        for probe in subject.probes:
            path = _place(journey, probe)
            known = read_record(path, Probe) or probe
            write_record(path, known.model_copy(update={"error": str(error)[:1000]}))
        return
    with ThreadPoolExecutor(len(subject.probes)) as pool:
        finish([pool.submit(_probe, journey, probe, examine) for probe in subject.probes], journey.cancel)


def _probe(journey: Journey, probe: Probe, examine: Examine) -> None:
    """Ask one judge; what was decided earlier stands where it cannot be decided now."""
    path = _place(journey, probe)
    earlier = read_record(path, Probe) or probe
    write_record(path, earlier.model_copy(update={"error": _KILLED}))
    faults: list[str] = []
    controls: tuple[Control, ...] = ()
    try:
        controls = _ask(journey, probe, examine, faults)
    except ToolError as error:
        faults.append(str(error)[:1000])
    decided = {each.kind: each for each in (*earlier.controls, *controls) if each.holds is not None}
    controls = tuple(decided.get(each.kind, each) for each in controls or earlier.controls)
    found = {"controls": controls, "error": faults[0] if faults else None, "usage": account(traffic_of(path)).usage,
             "traffic": seal_of(traffic_of(path)) if traffic_of(path).exists() else None}  # fmt: skip
    write_record(path, probe.model_copy(update=found))


def _ask(journey: Journey, probe: Probe, examine: Examine, faults: list[str]) -> tuple[Control, ...]:
    """Put the questions to the judge on a lane of its own; why one was not answered goes to `faults`."""
    assert journey.court is not None  # noqa: S101 there are judges, and the gateway runs
    journal = traffic_of(_place(journey, probe))
    with journey.court.sitting(Lane(cell=probe.subject, role="judge", journal=journal, cassette=_tape(probe))) as panel:

        def asked(judge: Judge, blind: BlindInput) -> JudgeAnswer:
            if journey.cancel.is_set:
                raise KeyboardInterrupt
            answer = ask(panel, judge, blind)
            faults.extend([answer.error] if answer.error else [])
            return answer

        return examine(asked, Judge(probe.judge))


def _place(journey: Journey, probe: Probe) -> Path:
    return journey.folder.probe(probe.subject, probe.judge, probe.key)


def _settled(journey: Journey, probe: Probe) -> bool:
    found = read_record(_place(journey, probe), Probe)
    return found is not None and found.key == probe.key and found.error is None


def _tape(probe: Probe) -> str:
    return f"{probe.subject}--{slug(probe.judge)}--controls"


def _recorded(probe: Probe, replay: Path | None) -> bool:
    return replay is None or (replay / f"{_tape(probe)}.jsonl").is_file()
