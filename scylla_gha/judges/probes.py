"""Under which key a judge is controlled, and whether that control is of what a report is by.

A judge is asked apart from the others, so what its controls find does not hang on the panel it sits in: the key
covers the judge, its words, and what it is asked about, and another panel with the same judge pays nothing.
"""

import dataclasses
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from scylla_gha.config.library import ScenarioFolder
from scylla_gha.judges.blind import Wording
from scylla_gha.judges.panel import Judge
from scylla_gha.model.judgment import judgment_key
from scylla_gha.model.panel import Control
from scylla_gha.model.probe import Probe
from scylla_gha.model.record import digest
from scylla_gha.model.trial import Trial

_VERSION: Final = 1  # raise it when the controls ask something else
_FAILED: Final = {
    "canary": "failed the canary",
    "order_swap": "failed the order swap",
}


def judges_of(models: Iterable[str]) -> tuple[Judge, ...]:
    """The judges to be controlled, each once."""
    return tuple(Judge(model) for model in dict.fromkeys(models))


def has_known_answers(folder: ScenarioFolder) -> bool:
    """Whether a judge can be controlled on the scenario: it has items for judges, a solution and a wrong one."""
    return any(not item.checks for item in folder.rubric.items) and folder.solution.is_file() and bool(folder.wrong)


def known_key(judge: Judge, wording: Wording, folder: ScenarioFolder) -> str:
    """The key of a judge's controls on the known answers of a scenario."""
    known = [_sha(path) for path in (folder.solution, folder.wrong[0])]
    asked = [folder.task_digest, folder.judging_digest, known]
    return digest(["known", _VERSION, dataclasses.asdict(judge), wording.digest, asked])


def again_key(judge: Judge, wording: Wording, folder: ScenarioFolder, trial: Trial, times: int) -> str:
    """The key of asking a judge so many times about the same trial."""
    judged = judgment_key(trial, folder.judging_digest, "")
    return digest(["again", _VERSION, dataclasses.asdict(judge), wording.digest, folder.task_digest, judged, times])


def _sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def control_warnings(probes: Iterable[Probe]) -> Iterator[str]:
    """What a reader must know of the judges that a report is by; other judges' controls say nothing about it."""
    repeated: dict[str, list[Control]] = defaultdict(list)
    for probe in (each for each in probes if each.stands):
        for control in probe.controls:
            if control.kind == "repeat":
                repeated[probe.judge].append(control)
            elif control.holds is False:
                yield f"judge {probe.judge} {_FAILED[control.kind]} of {probe.subject}: {control.why}."
        if probe.error:
            yield f"judge {probe.judge}: not all controls of {probe.subject} could be decided: {probe.error}."
    for judge, controls in sorted(repeated.items()):
        compared, differ = sum(each.compared for each in controls), sum(len(each.differences) for each in controls)
        if differ:
            yield f"judge {judge}, asked the same again, says otherwise of {differ} of {compared} items."
