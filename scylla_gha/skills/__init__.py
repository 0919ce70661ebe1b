"""Agent Skills for their authors: find skills and their evals, read them, and check them without a model.

Words of the ecosystem: a skill is a folder with SKILL.md, an eval is a prompt with assertions about the result, a query
is a prompt with a label that says which skill should trigger.
"""

from dataclasses import dataclass
from typing import Literal

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class SkillFinding:
    """A fault or a remark about a line of a file.

    Attributes:
        rule: name of the check, as in docs/skills.md.
        level: `error`: correct the file; `warning`: an agent or a reader of the skill will notice it; `note`:
            information.
        path: path of the file, relative to the checked folder.
        line: number of the line, from 1.
        message: the fault and its correction.
    """

    rule: str
    level: Level
    path: str
    line: int
    message: str
