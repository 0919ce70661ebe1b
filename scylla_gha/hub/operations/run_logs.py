"""Logs of jobs: written as one text with GitHub's marks, read step by step, and packed as GitHub's zip of a run.

The layout of the zip is what `gh run view --log` reads: `<n>_<job>.txt` and `<job>/<n>_<step>.txt`.
"""

import datetime
import io
import re
import zipfile
from collections.abc import Iterable, Sequence
from typing import Final

from scylla_gha.hub.actions_records import JobRecord, StepRecord
from scylla_gha.hub.cell import Blobs

_STEP_BEGINS: Final = re.compile(r"^(?:\S+ )?(?:##\[group\]Run |Post job cleanup\.|Cleaning up orphan processes)")
_UNSAFE: Final = re.compile(r'[/\\:*?"<>|\x00-\x1f]')
_LONGEST_NAME: Final = 90  # UTF-16 units, as gh expects
_ZIP_TIME: Final = (2026, 1, 1, 0, 0, 0)


def job_log(sections: Iterable[tuple[str, str]], time: datetime.datetime) -> bytes:
    """Return a job's log from its steps' names and outputs, with a time before each line.

    A step but "Set up job" and "Complete job" begins with the mark `##[group]Run`, by which `step_logs` finds it. More
    lines of its name are shown in the group.
    """
    lines: list[str] = []
    for name, output in sections:
        if name == "Complete job":
            lines.append("Cleaning up orphan processes")
        elif name != "Set up job" or lines:
            lines += [*f"##[group]Run {name.removeprefix('Run ')}".splitlines(), "##[endgroup]"]
        else:
            lines.append("Current runner version: '2.330.0'")
        lines += output.splitlines()
    stamp = f"{time:%Y-%m-%dT%H:%M:%S}.0000000Z"
    return "".join(f"{stamp} {line}\n" for line in lines).encode()


def step_logs(steps: Sequence[StepRecord], log: str) -> list[tuple[StepRecord, str]]:
    """Return the part of a job's log that belongs to each of its steps that ran.

    GitHub tells steps apart by time; here one begins with the line that its start prints.
    """
    ran = [step for step in steps if step.conclusion != "skipped"]
    parts: list[list[str]] = [[] for _ in ran]
    at = -1
    for line in log.splitlines(keepends=True):
        if (at < 0 or _STEP_BEGINS.match(line)) and at < len(ran) - 1:
            at += 1
        if ran:
            parts[at].append(line)
    return [(step, "".join(lines)) for step, lines in zip(ran, parts, strict=True) if lines]


def run_archive(jobs: Sequence[JobRecord], blobs: Blobs) -> bytes:
    """Return the zip with the logs of jobs; one that ran without a log has an empty one, which gh expects."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, job in enumerate(job for job in jobs if job.log or job.started_at):
            content = blobs.read(job.log) if job.log else b""
            folder = _job_name(job.name)
            archive.writestr(zipfile.ZipInfo(f"{number}_{folder}.txt", _ZIP_TIME), content)
            for step, text in step_logs(job.steps, content.decode(errors="replace")):
                name = f"{folder}/{step.number}_{_UNSAFE.sub('_', step.name)[:_LONGEST_NAME]}.txt"
                archive.writestr(zipfile.ZipInfo(name, _ZIP_TIME), text)
    return buffer.getvalue()


def _job_name(name: str) -> str:
    """Return the name of a job in the zip, by gh's rule; one that a path must not have gets an underscore."""
    clean = re.sub(r"[/:\x00-\x1f]", "", name)
    short = clean.encode("utf-16-le")[: 2 * _LONGEST_NAME].decode("utf-16-le", "ignore")
    return short if short.strip(". ") else f"_{short}"
