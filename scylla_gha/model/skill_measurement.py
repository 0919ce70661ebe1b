"""Stored answer of `scylla-gha skill` on several skills, from which the comment on a pull request is made."""

from typing import Final

from pydantic import Field

from scylla_gha.model import Record

RUN: Final = "skills"  # name of the run's folder
REPORT_FILE: Final = "skills.json"


class SkillRow(Record):
    """A skill with what was found and measured.

    Attributes:
        is_changed: it differs from its last version; False: that is not known, or it is equal.
        is_new: there is no last version.
        errors: number of errors that checks found.
        warnings: the same of warnings.
        is_worse: it does worse than what it is compared with.
        sentences: the answer in words; empty: nothing was measured.
        notes: what was done otherwise than the pull request asks.
        digest: of the skill's files without its evals; empty: unknown.
        figures: the answer in a few words, as for a badge; empty: nothing was measured.
    """

    name: str
    is_changed: bool = False
    is_new: bool = False
    errors: int = Field(default=0, ge=0)
    warnings: int = Field(default=0, ge=0)
    is_worse: bool = False
    sentences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    digest: str = ""
    figures: str = ""


class SkillMeasurement(Record):
    """Rows of all skills that were checked; `failure` says why the measurement ended early, empty if it did not."""

    schema_version: int = 1
    rows: tuple[SkillRow, ...]
    failure: str = ""
